// Arithmetic of two values, or of a value and constants.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/merging.h>
#include <octet/layers/ops.h>

#include "converters.h"
#include "join.h"
#include "rescale.h"

namespace octet::io::importing {
namespace {

void merge(Conversion& c, const LayerHandle& layer) {
  if (c.inputs() == 1) return c.set_output(c.value(0));
  join(c, layer, all_inputs(c));
}

Tensor one() { return Tensor::scalar(1); }
Tensor zero() { return Tensor::scalar(0); }

Tensor mapped(const Tensor& x, const std::function<float(float)>& f) {
  Tensor y = x.clone();
  for (float& v : y.f32()) v = f(v);
  return y;
}

}  // namespace

// A third input is a factor: the "affine" pattern.
void convert_add(Conversion& c) {
  if (c.inputs() == 3) return rescale(c, 0, {c.floats(2), c.floats(1)});
  const int k = constant_input(c);
  if (k < 0) return merge(c, Add());
  rescale(c, 1 - k, {one(), c.floats(k)});
}

void convert_sub(Conversion& c) {
  const int k = constant_input(c);
  if (k < 0) return merge(c, Subtract());
  if (k == 1) {
    return rescale(c, 0, {one(), mapped(c.floats(1), std::negate<>())});
  }
  rescale(c, 1, {Tensor::scalar(-1), c.floats(0)});
}

void convert_mul(Conversion& c) {
  const int k = constant_input(c);
  if (k < 0) return merge(c, Multiply());
  rescale(c, 1 - k, {c.floats(k), zero()});
}

void convert_div(Conversion& c) {
  const int k = constant_input(c);
  if (k < 0) return merge(c, Divide());
  if (k == 0 && (c.floats(0).size() != 1 || c.scalar(0) == 0)) {
    return merge(c, Divide());
  }
  if (k == 0) {
    return c.set_elementwise(1, [&](const SymbolicTensor& x) {
      const float number = c.scalar(0);
      return number == 1 ? reciprocal(x) : reciprocal(x) * number;
    });
  }
  const Tensor divisor = c.floats(1);
  const auto values = divisor.f32();
  if (std::ranges::any_of(values, [](float v) { return v == 0; })) {
    c.refuse("divisor must not contain 0");
  }
  rescale(c, 0, {mapped(divisor, [](float v) { return 1 / v; }), zero()});
}

void convert_sum(Conversion& c) { merge(c, Add()); }
void convert_mean(Conversion& c) { merge(c, Average()); }
void convert_max(Conversion& c) {
  if (!convert_bound(c)) merge(c, Maximum());
}
void convert_min(Conversion& c) {
  if (!convert_bound(c)) merge(c, Minimum());
}

void convert_pow(Conversion& c) {
  if (!c.is_constant(1) || c.constant(1).size() != 1) {
    c.refuse("exponent must be a single constant");
  }
  // The exponent's type may differ from the base's.
  const float exponent = c.constant(1).dtype() == DType::f32
                             ? c.scalar(1)
                             : static_cast<float>(c.integers(1).at(0));
  if (exponent == 1) return c.set_output(c.value(0));
  c.set_elementwise(
      0, [&](const SymbolicTensor& x) { return power(x, exponent); });
}

}  // namespace octet::io::importing
