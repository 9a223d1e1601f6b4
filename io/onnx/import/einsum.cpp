// Einsum of two inputs: a Dense layer, a matrix product, or a Multiply if
// nothing is summed. Source: ONNX Einsum-12.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/dense.h>
#include <octet/layers/detail/einsum.h>
#include <octet/layers/merging.h>
#include <octet/runtime/detail/printable.h>

#include "constant_values.h"
#include "converters.h"
#include "join.h"

namespace octet::io::importing {
namespace {

[[noreturn]] void refuse_equation(const Conversion& c, const char* expected) {
  c.refuse(fmt::format("equation must have {}, got \"{}\"", expected,
                       printable(c.text("equation", ""))));
}

int rank_of(const Conversion& c, int input) {
  return c.is_constant(input) ? c.constant(input).shape().rank()
                              : c.value(input).rank();
}

/// Returns the index in `from` of each letter of `to` that it contains.
std::vector<int> order_of(std::string_view from, std::string_view to) {
  std::vector<int> order;
  for (const char letter : to) {
    const size_t at = from.find(letter);
    if (at != from.npos) order.push_back(static_cast<int>(at));
  }
  return order;
}

/// Returns the sizes of letters of a value or constant.
Dims sizes_of(std::string_view letters, const std::string& axes,
              const Dims& dims) {
  Dims selected;
  for (const char letter : letters) selected.push_back(dims[axes.find(letter)]);
  return selected;
}

void check_sizes(const Conversion& c, const EinsumEquation& e, const Dims& a,
                 const Dims& b) {
  for (size_t i = 0; i < e.a.size(); ++i) {
    const size_t at = e.b.find(e.a[i]);
    if (at == e.b.npos || a[i] == b[at]) continue;
    c.refuse(fmt::format("equation: sizes of axis '{}' differ: {} and {}",
                         e.a[i], text_of(a), text_of(b)));
  }
}

/// Returns the axes of `kept`, then an axis for each of the `merged` letters.
ImportedValue grouped(const Conversion& c, const ImportedValue& x,
                      const std::string& letters, const std::string& kept,
                      const std::vector<std::string>& merged) {
  std::string all = kept;
  Dims dims = sizes_of(kept, letters, x.dims());
  for (const std::string& group : merged) {
    all += group;
    const auto size = product(sizes_of(group, letters, x.dims()));
    if (!size) refuse_equation(c, "sums over features, not over samples");
    dims.push_back(*size);
  }
  return x.with(
      x.layout.transposed(order_of(letters, all)).reshaped(dims).value());
}

Dims chain(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Splits the merged rows and columns of a product and orders the axes as in
/// the equation.
ImportedValue ungrouped(const ImportedValue& y, const Dims& dims,
                        const EinsumEquation& e) {
  return y.with(y.layout.reshaped(dims).value().transposed(
      order_of(e.batch + e.rows + e.columns, e.y)));
}

/// Operand of a product without sums: has each axis of the output, of size 1 if
/// the input lacks it.
ImportedValue with_all_axes(const ImportedValue& x, const std::string& letters,
                            const EinsumEquation& e) {
  Sizes missing;
  for (size_t i = 0; i < e.y.size(); ++i) {
    if (letters.find(e.y[i]) == letters.npos) {
      missing.push_back(static_cast<int64_t>(i));
    }
  }
  return x.with(
      with_axes(x.layout.transposed(order_of(letters, e.y)), missing));
}

void multiply_values(Conversion& c, const EinsumEquation& e,
                     const ImportedValue& a, const ImportedValue& b) {
  check_sizes(c, e, a.dims(), b.dims());
  if (e.depth.empty()) {
    c.set_value(0, with_all_axes(a, e.a, e));
    c.set_value(1, with_all_axes(b, e.b, e));
    return join(c, Multiply(), {0, 1});
  }
  const Dims dims = chain(sizes_of(e.batch + e.rows, e.a, a.dims()),
                          sizes_of(e.columns, e.b, b.dims()));
  c.set_output(
      ungrouped(product_of(c, grouped(c, a, e.a, e.batch, {e.rows, e.depth}),
                           grouped(c, b, e.b, e.batch, {e.depth, e.columns})),
                dims, e));
}

/// REQUIRES: the constant is the second input of the equation.
void multiply_weight(Conversion& c, const EinsumEquation& e,
                     const ImportedValue& value, ImportedWeight kernel) {
  const Dims dims = fixed_dims(kernel.value.shape().dims());
  const int64_t depth = product(sizes_of(e.depth, e.b, dims))->factor;
  const int64_t units = kernel.value.size() / depth;
  if (kernel.qparams && kernel.qparams->per_channel) {
    const char axis = e.b[static_cast<size_t>(kernel.qparams->axis)];
    if (e.columns != std::string_view(&axis, 1)) {
      c.keep_as_floats(kernel, "scales are not those of the outputs");
    } else {
      kernel.qparams->axis = 1;
    }
  }
  kernel.value = kernel.value.transposed(order_of(e.b, e.depth + e.columns))
                     .reshaped({depth, units});
  const ImportedValue x = grouped(c, value, e.a, e.rows, {e.depth});
  const auto last = static_cast<int>(e.rows.size());
  if (x.has_batch(last)) {
    refuse_equation(c, "sums over features, not over samples");
  }
  const LayerAxes features(x, last);
  const ImportedValue y =
      features.back(c.add(Dense({.units = units, .use_bias = false}),
                          {c.operand(features)}, {kernel}));
  c.set_output(ungrouped(y,
                         chain(sizes_of(e.rows, e.a, value.dims()),
                               sizes_of(e.columns, e.b, dims)),
                         e));
}

void multiply_constant(Conversion& c, const EinsumEquation& given, int k) {
  const EinsumEquation e =
      k == 0 ? einsum_of(given.b, given.a, given.y) : given;
  const ImportedValue value = c.value(1 - k);
  const Tensor constant = c.constant(k);
  if (e.batch.empty() && !e.depth.empty()) {
    check_sizes(c, e, value.dims(), fixed_dims(constant.shape().dims()));
    return multiply_weight(c, e, value, c.weight(k, "kernel"));
  }
  // A batch of matrices, or nothing to sum: the constant must be the same for
  // each sample.
  const auto batch = value.layout.batch_axis();
  if (!batch) refuse_equation(c, "a value with a batch axis");
  const char letter = e.a[*batch];
  const size_t own = e.b.find(letter);
  const auto axis = c.graph().constant(c.proto().input(k))->samples_axis;
  const Shape& shape = constant.shape();
  if ((own != e.b.npos && shape[static_cast<int>(own)] != 1) ||
      (axis && std::cmp_not_equal(*axis, own))) {
    refuse_equation(c, "a constant that is the same for all samples");
  }
  Tensor sample = constant;
  std::string letters = e.b;
  if (own != e.b.npos) {
    letters.erase(own, 1);
    Sizes sizes(shape.dims().begin(), shape.dims().end());
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(own));
    sample = constant.reshaped(Shape(std::span<const int64_t>(sizes)));
  }
  multiply_values(c, einsum_of(e.a, letter + letters, e.y), value,
                  repeated(c, sample, "/constant"));
}

}  // namespace

void convert_einsum(Conversion& c) {
  if (c.inputs() != 2) {
    c.refuse(fmt::format("must have two inputs, got {}", c.inputs()));
  }
  const EinsumEquation e =
      parse_einsum(c.text("equation", ""), rank_of(c, 0), rank_of(c, 1));
  const int k = constant_input(c);
  if (k >= 0) return multiply_constant(c, e, k);
  multiply_values(c, e, c.value(0), c.value(1));
}

}  // namespace octet::io::importing
