// Operators that change or return a shape without changing elements; Range.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "numbers.h"
#include "onnx/graph/tensors.h"
#include "operators.h"

namespace octet::io::run {
namespace {

constexpr int64_t kShapeAsInput = 5;  // of Reshape

// Flags the listed axes of `rank` dimensions.
std::vector<bool> listed_axes(const NodeContext& context, const Sizes& axes,
                              int64_t rank) {
  std::vector<bool> listed(static_cast<size_t>(rank));
  for (const int64_t axis : axes) {
    const auto at = static_cast<size_t>(context.axis(axis, rank));
    if (listed[at]) {
      context.refuse("axes must be unique, got " + dims_text(axes));
    }
    listed[at] = true;
  }
  return listed;
}

// Infers the dimension of -1.
void complete(const NodeContext& context, const Tensor& x, Sizes& dims) {
  const auto open = std::find(dims.begin(), dims.end(), -1);
  if (open == dims.end()) return;
  *open = 1;
  // The product of untrusted dimensions may overflow.
  int64_t others = 1;
  bool fits = true;
  for (const int64_t dim : dims) {
    fits = fits && dim >= 0 && !__builtin_mul_overflow(others, dim, &others);
  }
  if (!fits || others == 0 || x.size() % others != 0) {
    *open = -1;
    context.refuse(fmt::format("cannot reshape {} to {}", x.shape().to_string(),
                               dims_text(dims)));
  }
  *open = x.size() / others;
}

Values identity(const NodeContext& context) { return {context.input(0)}; }

Values reshape(const NodeContext& context) {
  const Tensor& x = context.input(0);
  Sizes dims = context.integers_since(kShapeAsInput, 1, "shape");
  if (context.integer("allowzero", 0) == 0) {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] != 0) continue;
      if (d >= sizes_of(x).size()) {
        context.refuse(fmt::format("{} has no dimension for a 0 of {}",
                                   x.shape().to_string(), dims_text(dims)));
      }
      dims[d] = x.shape()[static_cast<int>(d)];
    }
  }
  complete(context, x, dims);
  return {context.reshaped(x, dims)};
}

Values squeeze(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Sizes axes = context.axes();
  const auto listed = listed_axes(context, axes, x.shape().rank());
  Sizes dims;
  for (size_t d = 0; d < listed.size(); ++d) {
    const int64_t dim = x.shape()[static_cast<int>(d)];
    if (listed[d] && dim != 1) {
      context.refuse(fmt::format("axes must have size 1, got {} of {}",
                                 dims_text(axes), x.shape().to_string()));
    }
    if (axes.empty() ? dim != 1 : !listed[d]) dims.push_back(dim);
  }
  return {context.reshaped(x, dims)};
}

Values unsqueeze(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Sizes axes = context.axes();
  const auto rank = x.shape().rank() + static_cast<int64_t>(axes.size());
  const auto listed = listed_axes(context, axes, rank);
  Sizes dims;
  int next = 0;
  for (const bool added : listed) {
    dims.push_back(added ? 1 : x.shape()[next++]);
  }
  return {context.reshaped(x, dims)};
}

Values shape(const NodeContext& context) {
  const Sizes dims = sizes_of(context.input(0));
  const auto rank = static_cast<int64_t>(dims.size());
  const auto bound = [&](const char* name, int64_t otherwise) {
    const int64_t at = context.integer(name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = bound("start", 0);
  const int64_t end = std::max(start, bound("end", rank));
  return {
      Tensor::of(Shape{end - start},
                 std::span(dims).subspan(static_cast<size_t>(start),
                                         static_cast<size_t>(end - start)))};
}

// Numbers from the first input to the second, exclusive, with the third as
// step.
Values range(const NodeContext& context) {
  const DType type = context.input(0).dtype();
  return {visit<float, int32_t, int64_t>(context, type, [&]<class T>(T) {
    const T start = scalar<T>(context, 0);
    const T limit = scalar<T>(context, 1);
    const T delta = scalar<T>(context, 2);
    const double count =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                  static_cast<double>(delta));
    // Ensures that the count is finite; make() checks its limit.
    if (delta == 0 || !std::isfinite(count)) {
      context.refuse(fmt::format(
          "bounds must be finite and the step not 0, got {}, {} and "
          "{}",
          start, limit, delta));
    }
    Tensor y = context.make({saturated<int64_t>(count < 0 ? 0 : count)}, type);
    for (int64_t i = 0; i < y.size(); ++i) {
      y.data<T>()[static_cast<size_t>(i)] =
          plus(start, times(static_cast<T>(i), delta));
    }
    return y;
  })};
}

}  // namespace

Operators shape_operators() {
  static constexpr NamedOperator kOperators[] = {
      {"Identity", identity}, {"Range", range},     {"Reshape", reshape},
      {"Shape", shape},       {"Squeeze", squeeze}, {"Unsqueeze", unsqueeze},
  };
  return kOperators;
}

}  // namespace octet::io::run
