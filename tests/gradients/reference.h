// Every op once more, in doubles and in the plainest loops: what forward
// results are compared with, and what central differences are taken of.
#pragma once

#include <cstdint>
#include <vector>

#include <octet/runtime/ops.h>

namespace octet::reference {

struct Array {
  Shape shape;
  std::vector<double> values;

  explicit Array(const Shape& s)
      : shape(s), values(static_cast<size_t>(s.size()), 0.0) {}
  explicit Array(const Tensor& t)
      : shape(t.shape()), values(t.f32().begin(), t.f32().end()) {}
  double& operator[](int64_t i) { return values[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return values[static_cast<size_t>(i)]; }
  int64_t size() const { return static_cast<int64_t>(values.size()); }
};

Array conv2d(const Array& x, const Array& kernel, const WindowOptions& o);
Array dense(const Array& x, const Array& kernel);
Array bias_add(const Array& x, const Array& bias);
Array add(const Array& x, const Array& y);
Array relu(const Array& x, double max_value);
Array batch_norm(const Array& x, const Array& gamma, const Array& beta,
                 const Array& mean, const Array& variance, double epsilon);
Array batch_norm_training(const Array& x, const Array& gamma, const Array& beta,
                          double epsilon);
Array max_pool2d(const Array& x, Size2 window, const WindowOptions& o);
Array softmax(const Array& x);
Array softmax_cross_entropy(const Array& logits,
                            const std::vector<int64_t>& labels);

}  // namespace octet::reference
