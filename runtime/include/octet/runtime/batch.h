// Batch: samples that are read together.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet {

/// Samples that are read together: the inputs of a model, and what it is to
/// answer. Most models have one of each, which input() and label() give.
struct Batch {
  Batch() = default;
  Batch(Tensor input, Tensor label, Tensor sample_weights = {});
  Batch(std::vector<Tensor> all_inputs, std::vector<Tensor> all_labels,
        Tensor sample_weights = {});

  std::vector<Tensor> inputs;  ///< f32 [n, ...]
  /// Each classes i64 [n], or one a place, i64 [n, ...]; or targets
  /// f32 [n, ...].
  std::vector<Tensor> labels;
  Tensor weights;  ///< of the samples in the loss, f32 [n]; empty: all 1

  /// How many samples. Throws: ValueError without inputs.
  int64_t size() const;
  /// The only one. Throws: ValueError for none or several.
  Tensor& input() &;
  const Tensor& input() const&;
  Tensor input() &&;
  Tensor& label() &;
  const Tensor& label() const&;
  Tensor label() &&;
};

/// What one of a batch's tensors is like, without the batch.
struct TensorSpec {
  Shape shape;  ///< of one sample; [] for a class
  DType dtype = DType::f32;
  std::string name = {};  ///< of the model's input or output; "": by its place

  bool operator==(const TensorSpec&) const = default;
};

/// A tensor of a data set and the input or output of the model that it is for.
struct NamedTensor {
  NamedTensor(Tensor t) : tensor(std::move(t)) {}
  NamedTensor(std::string n, Tensor t)
      : name(std::move(n)), tensor(std::move(t)) {}

  std::string name;  ///< "": by its place
  Tensor tensor;
};

}  // namespace octet
