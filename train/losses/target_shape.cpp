#include "target_shape.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include <fmt/format.h>

#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>

#include "accuracy.h"

namespace octet::train {
namespace {

/// Returns the sizes without trailing axes of size 1. The batch dimension
/// stays.
std::span<const int64_t> without_ones_at_end(const Shape& shape) {
  std::span<const int64_t> dims = shape.dims();
  while (dims.size() > 1 && dims.back() == 1) {
    dims = dims.first(dims.size() - 1);
  }
  return dims;
}

}  // namespace

bool pairs_with(const Shape& labels, const Shape& outputs) {
  const auto fits = [](std::span<const int64_t> a, std::span<const int64_t> b) {
    return std::ranges::equal(a, b, [](int64_t label, int64_t output) {
      return output == Shape::kAnySize || label == output;
    });
  };
  return fits(labels.dims(), outputs.dims()) ||
         fits(without_ones_at_end(labels), without_ones_at_end(outputs));
}

Tensor targets_for(std::string_view subject, const Shape& outputs,
                   const Tensor& labels) {
  if (outputs.rank() < 1 || outputs.size() < 1 ||
      !pairs_with(labels.shape(), outputs)) {
    throw ShapeError(
        "shape_mismatch", subject,
        fmt::format("labels must have the outputs' shape {}, got {}{}",
                    outputs.to_string(), labels.shape().to_string(),
                    label_shape_hint(labels.shape(), outputs)));
  }
  return as_numbers(labels).reshaped(outputs);
}

}  // namespace octet::train
