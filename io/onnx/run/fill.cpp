// Operators that create tensors from a shape or bounds.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "../tensors.h"
#include "channels.h"
#include "constants.h"
#include "numbers.h"
#include "operators.h"

namespace octet::io::run {

Values constant_of_shape(const NodeContext& context) {
  const onnx::TensorProto* value = context.tensor("value");
  if (value != nullptr && !dtype_of(value->data_type())) {
    context.unsupported("element type is not supported: " +
                        io::type_name(value->data_type()));
  }
  const Tensor fill = value == nullptr ? Tensor::scalar(0) : constant(*value);
  if (fill.size() != 1) {
    context.refuse("value must have one element, got " +
                   fill.shape().to_string());
  }
  Tensor y = context.make(context.integers_of(0), fill.dtype());
  visit_any(context, fill.dtype(), [&]<class T>(T) {
    for (T& element : y.data<T>()) element = fill.data<T>()[0];
  });
  return {y};
}

// Ones on a diagonal of a matrix with the input's shape.
Values eye_like(const NodeContext& context) {
  const Tensor& x = context.input(0);
  if (x.shape().rank() != 2) {
    context.refuse("input must be a matrix, got " + x.shape().to_string());
  }
  DType type = x.dtype();
  if (context.has_attribute("dtype")) {
    const auto number = static_cast<int32_t>(context.integer("dtype", 0));
    if (!dtype_of(number)) {
      context.unsupported("element type is not supported: " +
                          io::type_name(number));
    }
    type = *dtype_of(number);
  }
  const int64_t k = context.integer("k", 0), columns = x.shape()[1];
  Tensor y = context.make(dims_of(x), type);
  visit_any(context, type, [&]<class T>(T) {
    T* to = y.data<T>().data();
    for (int64_t i = 0; i < y.size(); ++i) {
      to[i] = static_cast<T>(i % columns - i / columns == k);
    }
  });
  return {y};
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

}  // namespace octet::io::run
