// Einsum of two inputs: a Dense layer, a matrix product, or a Multiply if
// nothing is summed. Source: ONNX Einsum-12.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/dense.h>
#include <octet/layers/multiply.h>
#include <octet/runtime/printable.h>

#include "attention.h"
#include "constant_values.h"
#include "converters.h"
#include "join.h"

namespace octet::io::importing {
namespace {

bool has(std::string_view letters, char letter) {
  return letters.find(letter) != letters.npos;
}

/// A letter for each axis of the inputs and of the output.
struct Equation {
  std::string a, b, y;
};

[[noreturn]] void refuse(const Conversion& c, const char* expected) {
  c.refuse(fmt::format("equation must have {}, got \"{}\"", expected,
                       printable(c.text("equation", ""))));
}

bool are_letters(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) {
    return std::isalpha(static_cast<unsigned char>(letter)) != 0;
  });
}

/// Digits for the axes of "...", counted from the last axis.
std::string digits(int64_t count) {
  constexpr std::string_view kDigits = "76543210";
  static_assert(kDigits.size() == Shape::kMaxRank);
  return std::string(
      kDigits.substr(kDigits.size() - static_cast<size_t>(count)));
}

/// Returns the number of axes of "...". Throws: UnsupportedError for a term
/// that does not fit the rank.
int64_t check_term(const Conversion& c, const std::string& term, int rank) {
  const size_t dots = term.find("...");
  const std::string rest =
      dots == term.npos ? term : term.substr(0, dots) + term.substr(dots + 3);
  const int64_t more = rank - std::ssize(rest);
  if (!are_letters(rest) || more < 0 || (dots == term.npos && more != 0)) {
    refuse(c, "a letter for each axis of each input");
  }
  return more;
}

void replace_dots(std::string& term, int64_t count) {
  const size_t dots = term.find("...");
  if (dots != term.npos) term.replace(dots, 3, digits(count));
}

/// Output of an equation without "->": the letters that occur once.
std::string implied_output(const std::string& terms, bool dots) {
  std::string y;
  for (const char letter : terms) {
    if (are_letters({&letter, 1}) && std::ranges::count(terms, letter) == 1) {
      y += letter;
    }
  }
  std::ranges::sort(y);
  return (dots ? "..." : "") + y;
}

int rank_of(const Conversion& c, int input) {
  return c.is_constant(input) ? c.constant(input).shape().rank()
                              : c.view(input).rank();
}

Equation equation_of(const Conversion& c) {
  std::string text = c.text("equation", "");
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string terms = text.substr(0, arrow);
  const size_t comma = terms.find(',');
  if (comma == terms.npos || c.inputs() != 2) {
    refuse(c, "two inputs, as \"bij,bjk->bik\"");
  }
  Equation e{terms.substr(0, comma), terms.substr(comma + 1),
             arrow == text.npos ? implied_output(terms, has(terms, '.'))
                                : text.substr(arrow + 2)};
  const int64_t a = check_term(c, e.a, rank_of(c, 0));
  const int64_t b = check_term(c, e.b, rank_of(c, 1));
  replace_dots(e.a, a);
  replace_dots(e.b, b);
  replace_dots(e.y, std::max(a, b));
  for (std::string sorted : {e.a, e.b, e.y}) {
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) {
      refuse(c, "each letter once");
    }
  }
  const auto is_known = [&](char l) { return has(e.a, l) || has(e.b, l); };
  if (!std::ranges::all_of(e.y, is_known)) {
    refuse(c, "an output of letters of the inputs");
  }
  return e;
}

/// Roles of the letters in a matrix product.
struct Kinds {
  std::string batch;    ///< in both inputs and the output
  std::string rows;     ///< in the first input and the output
  std::string columns;  ///< in the second input and the output
  std::string depth;    ///< in both inputs only, summed
};

Kinds kinds_of(const Conversion& c, const Equation& e) {
  Kinds kinds;
  for (const char letter : e.a) {
    std::string& kind = has(e.b, letter)
                            ? has(e.y, letter) ? kinds.batch : kinds.depth
                            : kinds.rows;
    kind += letter;
  }
  for (const char letter : e.b) {
    if (!has(e.a, letter)) kinds.columns += letter;
  }
  for (const char letter : kinds.rows + kinds.columns) {
    if (!has(e.y, letter)) refuse(c, "sums over letters of both inputs");
  }
  return kinds;
}

/// Permutation from `from` to `to`. REQUIRES: the same letters.
Sizes order_of(std::string_view from, std::string_view to) {
  Sizes perm;
  for (const char letter : to) {
    perm.push_back(static_cast<int64_t>(from.find(letter)));
  }
  return perm;
}

void check_sizes(const Conversion& c, const Equation& e, const Sizes& a,
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
View ungrouped(const View& y, const Kinds& kinds, const Sizes& sizes,
               const Equation& e) {
  return transposed(reshaped(y, sizes).value(),
                    order_of(kinds.batch + kinds.rows + kinds.columns, e.y));
}

/// Operand of a product without sums: has each axis of the output, of size 1 if
/// the input lacks it.
View aligned(const View& view, std::string_view letters, const Equation& e) {
  View result = view;
  result.axes.clear();
  for (const char letter : e.y) {
    const size_t at = letters.find(letter);
    result.axes.push_back(at == letters.npos ? std::vector<size_t>()
                                             : view.axes[at]);
  }
  return result;
}

void multiply_values(Conversion& c, const Equation& e, ImportedValue a,
                     ImportedValue b) {
  check_sizes(c, e, importing::sizes_of(a.view), importing::sizes_of(b.view));
  const Kinds kinds = kinds_of(c, e);
  if (kinds.depth.empty()) {
    a.view = aligned(a.view, e.a, e);
    b.view = aligned(b.view, e.b, e);
    c.set_value(0, a);
    c.set_value(1, b);
    return join(c, Multiply(), {0, 1});
  }
  const size_t batch = kinds.batch.size();
  const auto matrices = [&](View& view, const std::string& letters,
                            const std::string& first,
                            const std::string& second) {
    view = transposed(view, order_of(letters, kinds.batch + first + second));
    view = grouped(view, batch + first.size(), second.size());
    view = grouped(view, batch, first.size());
  };
  const Sizes sizes = chain(
      sizes_of(kinds.batch + kinds.rows, e.a, importing::sizes_of(a.view)),
      sizes_of(kinds.columns, e.b, importing::sizes_of(b.view)));
  matrices(a.view, e.a, kinds.rows, kinds.depth);
  matrices(b.view, e.b, kinds.depth, kinds.columns);
  c.set_output(ungrouped(product_of(c, a, b), kinds, sizes, e));
}

/// REQUIRES: the constant is the second input of the equation.
void multiply_weight(Conversion& c, const Equation& e, const Kinds& kinds,
                     const ImportedValue& value, ImportedWeight kernel) {
  const Sizes dims(kernel.value.shape().dims().begin(),
                   kernel.value.shape().dims().end());
  const Sizes perm = order_of(e.b, kinds.depth + kinds.columns);
  const std::vector<int> axes(perm.begin(), perm.end());
  int64_t depth = 1;
  for (const int64_t size : sizes_of(kinds.depth, e.b, dims)) depth *= size;
  const int64_t units = kernel.value.size() / depth;
  if (kernel.qparams && kernel.qparams->per_channel) {
    const char axis = e.b[static_cast<size_t>(kernel.qparams->axis)];
    if (kinds.columns != std::string_view(&axis, 1)) {
      c.drop_codes(kernel, "scales are not those of the outputs");
    } else {
      kernel.qparams->axis = 1;
    }
  }
  kernel.value = kernel.value.transposed(axes).reshaped({depth, units});
  const size_t rows = kinds.rows.size();
  const View x =
      grouped(transposed(value.view, order_of(e.a, kinds.rows + kinds.depth)),
              rows, kinds.depth.size());
  if (x.batch() == rows) refuse(c, "sums over features, not over samples");
  const RowLayout features(x, static_cast<int>(rows));
  const Operand operand{materialize(features.view, features.order, c.namer()),
                        value.qparams};
  const View y = features.back(
      c.add(Dense({.units = units, .use_bias = false}), {operand}, {kernel}));
  const Sizes sizes =
      chain(sizes_of(kinds.rows, e.a, importing::sizes_of(value.view)),
            sizes_of(kinds.columns, e.b, dims));
  c.set_output(ungrouped(y, kinds, sizes, e));
}

void multiply_constant(Conversion& c, Equation e, int k) {
  if (k == 0) std::swap(e.a, e.b);
  const ImportedValue value = c.value(1 - k);
  const Tensor constant = c.constant(k);
  Sizes dims(constant.shape().dims().begin(), constant.shape().dims().end());
  const Kinds kinds = kinds_of(c, e);
  if (kinds.batch.empty() && !kinds.depth.empty()) {
    check_sizes(c, e, importing::sizes_of(value.view), dims);
    return multiply_weight(c, e, kinds, value, c.weight(k, "kernel"));
  }
  // A batch of matrices, or nothing to sum: the constant must be the same for
  // each sample.
  const char letter = e.a[value.view.batch()];
  const size_t own = e.b.find(letter);
  const auto axis = c.graph().constant(c.proto().input(k))->samples_axis;
  if ((own != e.b.npos && dims[own] != 1) ||
      (axis && std::cmp_not_equal(*axis, own))) {
    refuse(c, "a constant that is the same for all samples");
  }
  Tensor sample = constant;
  if (own != e.b.npos) {
    e.b.erase(own, 1);
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(own));
    sample = constant.reshaped(Shape(std::span<const int64_t>(dims)));
  }
  e.b.insert(e.b.begin(), letter);
  multiply_values(c, e, value, {repeated(c, sample, "/constant")});
}

}  // namespace

void convert_einsum(Conversion& c) {
  const Equation e = equation_of(c);
  const int k = constant_input(c);
  if (k >= 0) return multiply_constant(c, e, k);
  multiply_values(c, e, c.value(0), c.value(1));
}

}  // namespace octet::io::importing
