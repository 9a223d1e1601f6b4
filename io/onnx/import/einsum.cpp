// Einsum of two inputs: a Dense layer, a matrix product, or a Multiply if
// nothing is summed. Source: ONNX Einsum-12.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/dense.h>
#include <octet/layers/einsum.h>
#include <octet/layers/multiply.h>
#include <octet/runtime/printable.h>

#include "attention.h"
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
                              : c.view(input).rank();
}

/// Permutation from `from` to `to`. REQUIRES: the same letters.
Sizes order_of(std::string_view from, std::string_view to) {
  Sizes perm;
  for (const char letter : to) {
    perm.push_back(static_cast<int64_t>(from.find(letter)));
  }
  return perm;
}

void check_sizes(const Conversion& c, const EinsumEquation& e, const Sizes& a,
                 const Sizes& b) {
  for (size_t i = 0; i < e.a.size(); ++i) {
    const size_t at = e.b.find(e.a[i]);
    if (at == e.b.npos || a[i] == b[at]) continue;
    c.refuse(fmt::format("equation: sizes of axis '{}' differ: {} and {}",
                         e.a[i], importing::text_of(a), importing::text_of(b)));
  }
}

/// Merges `count` axes from `first` on; no axes become an axis of size 1.
View grouped(View view, size_t first, size_t count) {
  if (count > 0) return merge_axes(view, first, count);
  view.axes.insert(view.axes.begin() + static_cast<std::ptrdiff_t>(first),
                   std::vector<size_t>());
  return view;
}

/// Returns the sizes of letters of a value or constant.
Sizes sizes_of(std::string_view letters, const std::string& axes,
               const Sizes& sizes) {
  Sizes selected;
  for (const char letter : letters)
    selected.push_back(sizes[axes.find(letter)]);
  return selected;
}

Sizes chain(Sizes a, const Sizes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Splits the merged rows and columns of a product and orders the axes as in
/// the equation.
View ungrouped(const View& y, const Sizes& sizes, const EinsumEquation& e) {
  return transposed(reshaped(y, sizes).value(),
                    order_of(e.batch + e.rows + e.columns, e.y));
}

/// Operand of a product without sums: has each axis of the output, of size 1 if
/// the input lacks it.
View aligned(const View& view, std::string_view letters,
             const EinsumEquation& e) {
  View result = view;
  result.axes.clear();
  for (const char letter : e.y) {
    const size_t at = letters.find(letter);
    result.axes.push_back(at == letters.npos ? std::vector<size_t>()
                                             : view.axes[at]);
  }
  return result;
}

void multiply_values(Conversion& c, const EinsumEquation& e, ImportedValue a,
                     ImportedValue b) {
  check_sizes(c, e, importing::sizes_of(a.view), importing::sizes_of(b.view));
  if (e.depth.empty()) {
    a.view = aligned(a.view, e.a, e);
    b.view = aligned(b.view, e.b, e);
    c.set_value(0, a);
    c.set_value(1, b);
    return join(c, Multiply(), {0, 1});
  }
  const size_t batch = e.batch.size();
  const auto matrices = [&](View& view, const std::string& letters,
                            const std::string& first,
                            const std::string& second) {
    view = transposed(view, order_of(letters, e.batch + first + second));
    view = grouped(view, batch + first.size(), second.size());
    view = grouped(view, batch, first.size());
  };
  const Sizes sizes =
      chain(sizes_of(e.batch + e.rows, e.a, importing::sizes_of(a.view)),
            sizes_of(e.columns, e.b, importing::sizes_of(b.view)));
  matrices(a.view, e.a, e.rows, e.depth);
  matrices(b.view, e.b, e.depth, e.columns);
  c.set_output(ungrouped(product_of(c, a, b), sizes, e));
}

/// REQUIRES: the constant is the second input of the equation.
void multiply_weight(Conversion& c, const EinsumEquation& e,
                     const ImportedValue& value, ImportedWeight kernel) {
  const Sizes dims(kernel.value.shape().dims().begin(),
                   kernel.value.shape().dims().end());
  const Sizes perm = order_of(e.b, e.depth + e.columns);
  const std::vector<int> axes(perm.begin(), perm.end());
  int64_t depth = 1;
  for (const int64_t size : sizes_of(e.depth, e.b, dims)) depth *= size;
  const int64_t units = kernel.value.size() / depth;
  if (kernel.qparams && kernel.qparams->per_channel) {
    const char axis = e.b[static_cast<size_t>(kernel.qparams->axis)];
    if (e.columns != std::string_view(&axis, 1)) {
      c.drop_codes(kernel, "scales are not those of the outputs");
    } else {
      kernel.qparams->axis = 1;
    }
  }
  kernel.value = kernel.value.transposed(axes).reshaped({depth, units});
  const size_t rows = e.rows.size();
  const View x =
      grouped(transposed(value.view, order_of(e.a, e.rows + e.depth)), rows,
              e.depth.size());
  if (x.batch() == rows)
    refuse_equation(c, "sums over features, not over samples");
  const RowLayout features(x, static_cast<int>(rows));
  const Operand operand{materialize(features.view, features.order, c.namer()),
                        value.qparams};
  const View y = features.back(
      c.add(Dense({.units = units, .use_bias = false}), {operand}, {kernel}));
  const Sizes sizes =
      chain(sizes_of(e.rows, e.a, importing::sizes_of(value.view)),
            sizes_of(e.columns, e.b, dims));
  c.set_output(ungrouped(y, sizes, e));
}

void multiply_constant(Conversion& c, const EinsumEquation& given, int k) {
  const EinsumEquation e =
      k == 0 ? einsum_of(given.b, given.a, given.y) : given;
  const ImportedValue value = c.value(1 - k);
  const Tensor constant = c.constant(k);
  Sizes dims(constant.shape().dims().begin(), constant.shape().dims().end());
  if (e.batch.empty() && !e.depth.empty()) {
    check_sizes(c, e, importing::sizes_of(value.view), dims);
    return multiply_weight(c, e, value, c.weight(k, "kernel"));
  }
  // A batch of matrices, or nothing to sum: the constant must be the same for
  // each sample.
  const char letter = e.a[value.view.batch()];
  const size_t own = e.b.find(letter);
  const auto axis = c.graph().constant(c.proto().input(k))->samples_axis;
  if ((own != e.b.npos && dims[own] != 1) ||
      (axis && std::cmp_not_equal(*axis, own))) {
    refuse_equation(c, "a constant that is the same for all samples");
  }
  Tensor sample = constant;
  std::string letters = e.b;
  if (own != e.b.npos) {
    letters.erase(own, 1);
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(own));
    sample = constant.reshaped(Shape(std::span<const int64_t>(dims)));
  }
  multiply_values(c, einsum_of(e.a, letter + letters, e.y), value,
                  {repeated(c, sample, "/constant")});
}

}  // namespace

void convert_einsum(Conversion& c) {
  const EinsumEquation e =
      parse_einsum(c.text("equation", ""), rank_of(c, 0), rank_of(c, 1));
  const int k = constant_input(c);
  if (k >= 0) return multiply_constant(c, e, k);
  multiply_values(c, e, c.value(0), c.value(1));
}

}  // namespace octet::io::importing
