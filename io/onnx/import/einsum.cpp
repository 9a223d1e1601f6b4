// Einsum of two values that is a product of matrices. Source: ONNX Einsum-12.
#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <octet/runtime/printable.h>

#include "attention.h"
#include "converters.h"

namespace octet::io::importing {
namespace {

struct Equation {
  std::string a, b, y;  ///< a letter for each axis
};

bool has(std::string_view letters, char letter) {
  return letters.find(letter) != letters.npos;
}

Equation equation_of(const Conversion& c) {
  const std::string text = c.text("equation", "");
  std::string letters = text;
  std::erase(letters, ' ');
  const size_t comma = letters.find(',');
  const size_t arrow = letters.find("->");
  if (comma == letters.npos || arrow == letters.npos || comma > arrow) {
    c.refuse(fmt::format(
        "equation: expected one of two inputs, as \"bij,bjk->bik\", got \"{}\"",
        printable(text)));
  }
  Equation e{letters.substr(0, comma),
             letters.substr(comma + 1, arrow - comma - 1),
             letters.substr(arrow + 2)};
  for (std::string sorted : {e.a, e.b, e.y}) {
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) {
      c.refuse(fmt::format("equation: expected each letter once, got \"{}\"",
                           printable(text)));
    }
  }
  return e;
}

/// The axes `from` in the order of `to`. REQUIRES: the same letters.
Sizes order_of(std::string_view from, std::string_view to) {
  Sizes perm;
  for (const char letter : to) {
    perm.push_back(static_cast<int64_t>(from.find(letter)));
  }
  return perm;
}

}  // namespace

void convert_einsum(Conversion& c) {
  if (c.inputs() != 2) {
    c.refuse(fmt::format("expected two inputs, got {}", c.inputs()));
  }
  const Equation e = equation_of(c);
  std::string batch, rows, columns, depth;
  for (const char letter : e.a) {
    std::string& kind =
        has(e.b, letter) ? has(e.y, letter) ? batch : depth : rows;
    kind += letter;
  }
  for (const char letter : e.b) {
    if (!has(e.a, letter)) columns += letter;
  }
  Value a = c.value(0);
  Value b = c.value(1);
  const std::string made = batch + rows + columns;
  std::string sorted = e.y;
  std::string wanted = made;
  std::ranges::sort(sorted);
  std::ranges::sort(wanted);
  if (rows.size() != 1 || columns.size() != 1 || depth.size() != 1 ||
      sorted != wanted || std::ssize(e.a) != a.view.rank() ||
      std::ssize(e.b) != b.view.rank()) {
    c.refuse(
        fmt::format("equation: expected a product of matrices, as "
                    "\"bij,bjk->bik\", for {} and {}, got \"{}\"",
                    importing::text_of(a.view), importing::text_of(b.view),
                    printable(c.text("equation", ""))));
  }
  a.view = transposed(a.view, order_of(e.a, batch + rows + depth));
  b.view = transposed(b.view, order_of(e.b, batch + depth + columns));
  c.give(transposed(product_of(c, a, b), order_of(made, e.y)));
}

}  // namespace octet::io::importing
