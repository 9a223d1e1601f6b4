#include "samples.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/shape_hint.h>

namespace octet::io {
namespace {

enum class Order { first, last };

/// Whether the shapes match in all dimensions but the batch; kAnySize matches
/// any size.
bool fits(const Shape& given, const Shape& wanted) {
  if (given.rank() != wanted.rank()) return false;
  for (int d = 1; d < given.rank(); ++d) {
    if (wanted[d] != Shape::kAnySize && wanted[d] != given[d]) return false;
  }
  return true;
}

Tensor moved(const Tensor& x, Order from, Order to) {
  if (from == to) return x;
  return to == Order::last ? to_channels_last(x) : to_channels_first(x);
}

/// Returns the axis order of the input of `model`. If its file does not define
/// the order, uses the order of `other` if that is a file that defines it,
/// otherwise channels first.
Order order_of(const TracedModel& model, const TracedModel& other) {
  std::optional<bool> first = model.input_channels_first();
  if (!first && other.is_file()) first = other.input_channels_first();
  return first.value_or(true) ? Order::first : Order::last;
}

/// Returns the candidate axis orders of the samples, the requested one first;
/// `a` and `b` are the orders of the models' inputs.
std::vector<Order> orders_to_try(OnnxLayout layout, Order a, Order b) {
  std::vector<Order> orders;
  if (layout == OnnxLayout::channels_first) orders.push_back(Order::first);
  if (layout == OnnxLayout::channels_last) orders.push_back(Order::last);
  orders.insert(orders.end(), {a, b, Order::first, Order::last});
  return orders;
}

}  // namespace

Tensor to_channels_last(const Tensor& x) {
  return x.shape().rank() == 4 ? x.transposed({0, 2, 3, 1})
                               : x.transposed({0, 2, 1});
}

Tensor to_channels_first(const Tensor& x) {
  return x.shape().rank() == 4 ? x.transposed({0, 3, 1, 2})
                               : x.transposed({0, 2, 1});
}

SamplePair samples_for(const TracedModel& a, const TracedModel& b,
                       const Tensor& x, OnnxLayout layout) {
  if (x.empty() || x.shape().rank() < 1 || x.shape()[0] < 1) {
    throw ShapeError("missing_value", "compare", "needs at least one sample");
  }
  const Shape wanted_a = a.input_shape(), wanted_b = b.input_shape();
  if (has_channels(x.shape())) {
    const Order order_a = order_of(a, b), order_b = order_of(b, a);
    for (const Order order : orders_to_try(layout, order_a, order_b)) {
      const SamplePair pair{moved(x, order, order_a), moved(x, order, order_b)};
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
