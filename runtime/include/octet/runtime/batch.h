// Batch: samples that are processed together.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet {

/// The inputs and labels of n samples. Most models have a single input and
/// label, which input() and label() return.
struct Batch {
  Batch() = default;
  Batch(Tensor input, Tensor label, Tensor sample_weights = {});
  Batch(std::vector<Tensor> all_inputs, std::vector<Tensor> all_labels,
        Tensor sample_weights = {});

  std::vector<Tensor> inputs;  ///< f32 [n, ...]
  /// Class indices i64 [n] (or [n, ...], one per position), or targets f32 [n,
  /// ...].
  std::vector<Tensor> labels;
  Tensor weights;  ///< sample weights in the loss, f32 [n]; empty: all 1

  /// Number of samples. Throws: ValueError without inputs.
  int64_t size() const;
  /// The single input or label. Throws: ValueError for none or several.
  Tensor& input() &;
  const Tensor& input() const&;
  Tensor input() &&;
  Tensor& label() &;
  const Tensor& label() const&;
  Tensor label() &&;
};

/// Shape, type and name of a tensor of a batch.
struct TensorSpec {
  Shape shape;  ///< of a single sample; [] for a class index
  DType dtype = DType::f32;
  std::string name = {};  ///< model input or output; "": matched by position

  bool operator==(const TensorSpec&) const = default;
};

/// A tensor of a data set with the name of its model input or output.
struct NamedTensor {
  NamedTensor(Tensor t) : tensor(std::move(t)) {}
  NamedTensor(std::string n, Tensor t)
      : name(std::move(n)), tensor(std::move(t)) {}

  std::string name;  ///< "": matched by position
  Tensor tensor;
};

}  // namespace octet
