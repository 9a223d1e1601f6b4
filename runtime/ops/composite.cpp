// Elementwise functions, reductions and comparisons of composite.h.
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/ops/arithmetic.h>

namespace octet {
namespace {

// Numbers of affine(): one, or one for each entry of the last axis.
Tensor affine_numbers(const char* name, const Shape& x,
                      const std::vector<float>& numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  if (count == 1) return Tensor::scalar(numbers[0]);
  if (x.rank() == 0 || count != x[-1]) {
    throw ShapeError("count_mismatch", "affine",
                     fmt::format("{} must have 1 number or one for each entry "
                                 "of the last axis of {}, got {}",
                                 name, x.to_string(), count));
  }
  return Tensor::of<float>({count}, numbers);
}

using Extremum = Variable (*)(const Variable& x, const std::vector<int>& axes,
                              Keepdims keepdims);

// A composition of recorded ops, whose gradient is zero: extrema have negative
// offsets from the last index, other entries 0.
Variable index_of(Extremum extremum, const Variable& x, int axis,
                  Keepdims keepdims) {
  const int64_t last = x.shape()[axis] - 1;
  const size_t place =
      static_cast<size_t>(axis < 0 ? axis + x.shape().rank() : axis);
  std::vector<int64_t> dims(static_cast<size_t>(x.shape().rank()), 1);
  dims[place] = last + 1;
  Tensor offsets{Shape(std::span<const int64_t>(dims))};
  for (int64_t i = 0; i <= last; ++i) {
    offsets.f32()[static_cast<size_t>(i)] = static_cast<float>(i - last);
  }
  const Variable found =
      compare(Comparison::equal, x, extremum(x, {axis}, Keepdims::yes));
  return min(found * Variable(offsets), {axis}, keepdims) +
         static_cast<float>(last);
}

Variable compare_number(Comparison comparison, const Variable& x, float y) {
  return compare(comparison, x, Tensor::scalar(y));
}

}  // namespace

Variable reciprocal(const Variable& x) { return 1 / x; }
Variable rsqrt(const Variable& x) { return reciprocal(sqrt(x)); }

Variable clip(const Variable& x, std::optional<float> min,
              std::optional<float> max) {
  if ((min && std::isnan(*min)) || (max && std::isnan(*max)) ||
      (min && max && *min > *max)) {
    throw ValueError(
        "out_of_range", "clip",
        fmt::format("min must be at most max, got {} and {}",
                    min.value_or(-HUGE_VALF), max.value_or(HUGE_VALF)));
  }
  Variable y = x;
  if (min) y = maximum(y, Tensor::scalar(*min));
  if (max) y = minimum(y, Tensor::scalar(*max));
  return y;
}

Variable affine(const Variable& x, const std::vector<float>& scale,
                const std::vector<float>& offset) {
  const Tensor a = affine_numbers("scale", x.shape(), scale);
  const Tensor b = affine_numbers("offset", x.shape(), offset);
  if (a.size() == 1 && b.size() == 1) {
    return scale_shift(x, scale[0], offset[0]);
  }
  return add(multiply(x, a), b);
}

Variable log_sigmoid(const Variable& x) { return -softplus(-x); }

Variable mish(const Variable& x) { return x * tanh(softplus(x)); }

// x - max - log(sum(exp(x - max))).
Variable log_softmax(const Variable& x, int axis) {
  const std::vector<int> axes{axis};
  const Variable below = x - max(x, axes, Keepdims::yes).detach();
  return below - log(sum(exponential(below), axes, Keepdims::yes));
}

Variable normalize(const Variable& x, const std::vector<int>& axes,
                   float epsilon) {
  const Variable squares = sum(square(x), axes, Keepdims::yes);
  return x / sqrt(maximum(squares, Tensor::scalar(epsilon * epsilon)));
}

Variable argmax(const Variable& x, int axis, Keepdims keepdims) {
  return index_of(max, x, axis, keepdims);
}
Variable argmin(const Variable& x, int axis, Keepdims keepdims) {
  return index_of(min, x, axis, keepdims);
}

Variable logsumexp(const Variable& x, const std::vector<int>& axes,
                   Keepdims keepdims) {
  const Variable most = max(x, axes, Keepdims::yes);
  const Variable y =
      log(sum(exponential(x - most), axes, Keepdims::yes)) + most;
  return keepdims == Keepdims::yes ? y : squeeze(y, axes);
}

Variable equal(const Variable& x, const Variable& y) {
  return compare(Comparison::equal, x, y);
}
Variable equal(const Variable& x, float y) {
  return compare_number(Comparison::equal, x, y);
}
Variable not_equal(const Variable& x, const Variable& y) {
  return compare(Comparison::not_equal, x, y);
}
Variable not_equal(const Variable& x, float y) {
  return compare_number(Comparison::not_equal, x, y);
}
Variable greater(const Variable& x, const Variable& y) {
  return compare(Comparison::greater, x, y);
}
Variable greater(const Variable& x, float y) {
  return compare_number(Comparison::greater, x, y);
}
Variable greater_equal(const Variable& x, const Variable& y) {
  return compare(Comparison::greater_equal, x, y);
}
Variable greater_equal(const Variable& x, float y) {
  return compare_number(Comparison::greater_equal, x, y);
}
Variable less(const Variable& x, const Variable& y) {
  return compare(Comparison::less, x, y);
}
Variable less(const Variable& x, float y) {
  return compare_number(Comparison::less, x, y);
}
Variable less_equal(const Variable& x, const Variable& y) {
  return compare(Comparison::less_equal, x, y);
}
Variable less_equal(const Variable& x, float y) {
  return compare_number(Comparison::less_equal, x, y);
}

Variable logical_and(const Variable& x, const Variable& y) {
  return multiply(x, y);
}
Variable logical_or(const Variable& x, const Variable& y) {
  return maximum(x, y);
}
Variable logical_xor(const Variable& x, const Variable& y) {
  return not_equal(x, y);
}
Variable logical_not(const Variable& x) { return 1 - x; }

}  // namespace octet
