// Double-precision reference implementations of all ops, as plain loops:
// compared with forward results and differentiated by central differences.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
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

// Convolutions.
Array conv2d(const Array& x, const Array& kernel, const WindowOptions& o,
             int64_t groups = 1);
Array conv2d_transpose(const Array& x, const Array& kernel, Size2 output,
                       const WindowOptions& o, int64_t groups = 1);
Array depthwise_conv2d(const Array& x, const Array& kernel,
                       const WindowOptions& o);

// Pointwise: reference_pointwise.cpp.
/// f of broadcast operands, as in NumPy.
Array combine(const Array& x, const Array& y,
              const std::function<double(double, double)>& f);
Array map(const Array& x, const std::function<double(double)>& f);

// Transformers: reference_attention.cpp.
Array matmul(const Array& a, const Array& b, const MatmulOptions& o);
Array softmax_along(const Array& x, int axis);
Array layer_norm(const Array& x, const Array& gamma, const Array& beta,
                 double epsilon);

// Recurrent cells: reference_recurrent.cpp. bias: null for none.
/// As RecurrentInputs; null or empty for none.
struct SequenceInputs {
  std::vector<float> mask = {};
  const Array* state = nullptr;
  const Array* cell = nullptr;
};
Array lstm(const Array& x, const Array& kernel, const RecurrentOptions& o,
           const SequenceInputs& more = {});
Array gru(const Array& x, const Array& kernel, const Array* bias,
          const RecurrentOptions& o, const SequenceInputs& more = {});
Array simple_rnn(const Array& x, const Array& kernel, const RecurrentOptions& o,
                 const SequenceInputs& more = {});

// Layout, pooling and reductions.
/// out[index of y] = x[index_of(index of y)]; the form of most layout ops.
Array gather(
    const Array& x, const Shape& y,
    const std::function<std::vector<int64_t>(const std::vector<int64_t>&)>&
        index_of);
Array concatenate(const std::vector<Array>& inputs, int axis);
Array pad2d(const Array& x, const Pads& pads, double value);
Array resize2d_bilinear(const Array& x, Size2 size);
Array avg_pool2d(const Array& x, Size2 window, const WindowOptions& o);
/// `fold(values)` of all elements along `axes`, which are kept with size 1.
Array reduce(const Array& x, const std::vector<int>& axes,
             const std::function<double(const std::vector<double>&)>& fold);

// Losses: per sample, [n], from targets [n,...].
/// Mean over the positions of a sample [n,...,classes], except `without`.
Array cross_entropies(const Array& logits, const Array& targets,
                      double smoothing, double temperature = 1,
                      const std::set<int64_t>& without = {});
Array binary_cross_entropies(const Array& logits, const Array& targets,
                             double smoothing);
Array mean_errors(const Array& outputs, const Array& targets,
                  const std::function<double(double)>& of_error);
Array distillation_losses(const Array& logits, const Array& teacher,
                          const Array& targets, double temperature,
                          double alpha);
/// sum(weights * losses) / n; without weights: all 1.
Array mean_loss(const Array& losses, const std::vector<double>& weights);
/// One-hot rows.
Array one_hot(const std::vector<int64_t>& labels, int64_t classes);

}  // namespace octet::reference
