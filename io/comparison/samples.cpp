#include "samples.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>

#include "arranged.h"

namespace octet::io {
namespace {

using Axes = std::vector<int>;  // as OnnxPort::axes

/// Whether the shapes match in all dimensions but the batch; kAnySize matches
/// any size.
bool fits(const Shape& given, const Shape& wanted) {
  if (given.rank() != wanted.rank()) return false;
  for (int d = 1; d < given.rank(); ++d) {
    if (wanted[d] != Shape::kAnySize && wanted[d] != given[d]) return false;
  }
  return true;
}

/// Returns the axis order of the input of `model`. If its file does not define
/// the order, uses the order of `other` if that is a file that defines it,
/// otherwise channels first.
OnnxLayout layout_of_input(const TracedModel& model, const TracedModel& other) {
  std::optional<bool> first = model.input_channels_first();
  if (!first && other.is_file()) first = other.input_channels_first();
  return first.value_or(true) ? OnnxLayout::channels_first
                              : OnnxLayout::channels_last;
}

}  // namespace

std::vector<int> axes_of(OnnxLayout layout, int rank) {
  return layout == OnnxLayout::channels_last ? channels_last_axes(rank)
                                             : channels_first_axes(rank);
}

Tensor to_channels_last(const Tensor& x) {
  const int rank = x.shape().rank();
  return in_axes(x, channels_first_axes(rank), channels_last_axes(rank));
}

Tensor to_channels_first(const Tensor& x) {
  const int rank = x.shape().rank();
  return in_axes(x, channels_last_axes(rank), channels_first_axes(rank));
}

SamplePair samples_for(const TracedModel& a, const TracedModel& b,
                       const Tensor& x, OnnxLayout layout) {
  if (x.empty() || x.shape().rank() < 1 || x.shape()[0] < 1) {
    throw ShapeError("missing_value", "compare", "needs at least one sample");
  }
  const Shape wanted_a = a.input_shape(), wanted_b = b.input_shape();
  if (has_channels(x.shape())) {
    const int rank = x.shape().rank();
    const OnnxLayout own_a = layout_of_input(a, b);
    const OnnxLayout own_b = layout_of_input(b, a);
    for (const OnnxLayout order :
         {layout == OnnxLayout::as_given ? own_a : layout, own_a, own_b,
          OnnxLayout::channels_first, OnnxLayout::channels_last}) {
      const Axes from = axes_of(order, rank);
      const SamplePair pair{in_axes(x, from, axes_of(own_a, rank)),
                            in_axes(x, from, axes_of(own_b, rank))};
      if (fits(pair.a.shape(), wanted_a) && fits(pair.b.shape(), wanted_b)) {
        return pair;
      }
    }
  }
  // Samples without channels are never transposed; samples that fit both inputs
  // unchanged need not be.
  if (fits(x.shape(), wanted_a) && fits(x.shape(), wanted_b)) return {x, x};
  throw ShapeError(
      "shape_mismatch", "compare",
      fmt::format("samples must have shape {} or {}, got {}{}",
                  wanted_a.to_string(), wanted_b.to_string(),
                  x.shape().to_string(), shape_hint(x.shape(), wanted_a)));
}

}  // namespace octet::io
