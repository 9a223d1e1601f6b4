#include <string_view>

#include <fmt/format.h>

#include <octet/runtime/dataset.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

std::vector<Tensor> list_of(Tensor tensor) {
  if (tensor.empty()) return {};
  return {std::move(tensor)};
}

/// Returns the single element of `tensors`.
template <class Tensors>
auto& only(std::string_view which, std::string_view all, Tensors& tensors) {
  if (tensors.size() != 1) {
    throw ValueError(
        "count_mismatch", "batch",
        fmt::format(
            "needs exactly 1 {}, has {}{}", which, tensors.size(),
            tensors.empty() ? "" : fmt::format(". Hint: use batch.{}", all)));
  }
  return tensors[0];
}

}  // namespace

Batch::Batch(Tensor input, Tensor label, Tensor sample_weights)
    : inputs(list_of(std::move(input))),
      labels(list_of(std::move(label))),
      weights(std::move(sample_weights)) {}

Batch::Batch(std::vector<Tensor> all_inputs, std::vector<Tensor> all_labels,
             Tensor sample_weights)
    : inputs(std::move(all_inputs)),
      labels(std::move(all_labels)),
      weights(std::move(sample_weights)) {}

int64_t Batch::size() const {
  if (inputs.empty() || inputs[0].shape().rank() < 1) {
    throw ValueError("missing_value", "batch", "has no inputs [n,...]");
  }
  return inputs[0].shape()[0];
}

Tensor& Batch::input() & { return only("input", "inputs", inputs); }
const Tensor& Batch::input() const& { return only("input", "inputs", inputs); }
Tensor Batch::input() && { return std::move(input()); }
Tensor& Batch::label() & { return only("label", "labels", labels); }
const Tensor& Batch::label() const& { return only("label", "labels", labels); }
Tensor Batch::label() && { return std::move(label()); }

}  // namespace octet
