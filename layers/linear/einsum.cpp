#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/dense.h>
#include <octet/layers/detail/einsum.h>
#include <octet/layers/ops.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

bool has(std::string_view letters, char letter) {
  return letters.find(letter) != letters.npos;
}

[[noreturn]] void reject_equation(std::string_view equation,
                                  const char* expected) {
  throw ValueError("invalid_value", "einsum",
                   fmt::format("equation must have {}, got \"{}\"", expected,
                               printable(equation)));
}

bool are_letters(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) {
    return std::isalpha(static_cast<unsigned char>(letter)) != 0;
  });
}

// Digits for the axes of "...", counted from the last axis.
std::string digits(int64_t count) {
  constexpr std::string_view kDigits = "76543210";
  static_assert(kDigits.size() == Shape::kMaxRank);
  return std::string(
      kDigits.substr(kDigits.size() - static_cast<size_t>(count)));
}

// Returns the number of axes of "...", or -1 for a term that does not fit the
// rank.
int64_t dotted_axes(const std::string& term, int rank) {
  const size_t dots = term.find("...");
  const std::string rest =
      dots == term.npos ? term : term.substr(0, dots) + term.substr(dots + 3);
  const int64_t more = rank - std::ssize(rest);
  const bool fits =
      are_letters(rest) && more >= 0 && (dots != term.npos || more == 0);
  return fits ? more : -1;
}

void replace_dots(std::string& term, int64_t count) {
  const size_t dots = term.find("...");
  if (dots != term.npos) term.replace(dots, 3, digits(count));
}

std::string implied_output(const std::string& terms) {
  std::string y;
  for (const char letter : terms) {
    if (are_letters({&letter, 1}) && std::ranges::count(terms, letter) == 1) {
      y += letter;
    }
  }
  std::ranges::sort(y);
  return (has(terms, '.') ? "..." : "") + y;
}

bool repeats_letter(std::string term) {
  std::ranges::sort(term);
  return std::ranges::adjacent_find(term) != term.end();
}

// Permutes axes named by `from` to the order `to`.
SymbolicTensor in_order(const SymbolicTensor& x, std::string_view from,
                        std::string_view to) {
  if (from == to) return x;
  std::vector<int64_t> axes;
  for (const char letter : to) {
    axes.push_back(static_cast<int64_t>(from.find(letter)));
  }
  return transpose(x, axes);
}

// Sizes of letters, of the batch -1.
class LetterSizes {
 public:
  void add(std::string_view letters, const Shape& shape) {
    for (size_t i = 0; i < letters.size(); ++i) {
      int64_t& size = sizes_[static_cast<unsigned char>(letters[i])];
      const int64_t given = shape[static_cast<int>(i)];
      if (size != 0 && size != given) {
        throw ShapeError("shape_mismatch", "einsum",
                         fmt::format("sizes of axis '{}' differ: {} and {}",
                                     letters[i], size, given));
      }
      size = given;
    }
  }
  int64_t operator[](char letter) const {
    return sizes_[static_cast<unsigned char>(letter)];
  }
  int64_t product(std::string_view letters) const {
    int64_t result = 1;
    for (const char letter : letters) result *= (*this)[letter];
    return result;
  }

 private:
  std::vector<int64_t> sizes_ = std::vector<int64_t>(256);
};

}  // namespace

EinsumEquation einsum_of(std::string a, std::string b, std::string y) {
  EinsumEquation e{std::move(a), std::move(b), std::move(y)};
  const std::string equation = e.a + "," + e.b + "->" + e.y;
  if (repeats_letter(e.a) || repeats_letter(e.b) || repeats_letter(e.y)) {
    reject_equation(equation, "each letter once");
  }
  if (!std::ranges::all_of(e.y, [&](char letter) {
        return has(e.a, letter) || has(e.b, letter);
      })) {
    reject_equation(equation, "an output of letters of the inputs");
  }
  for (const char letter : e.a) {
    const bool summed = !has(e.y, letter);
    (has(e.b, letter) ? summed ? e.depth : e.batch : e.rows) += letter;
  }
  for (const char letter : e.b) {
    if (!has(e.a, letter)) e.columns += letter;
  }
  for (const char letter : e.rows + e.columns) {
    if (!has(e.y, letter)) {
      reject_equation(equation, "sums over letters of both inputs");
    }
  }
  return e;
}

EinsumEquation parse_einsum(std::string_view equation, int rank_a, int rank_b) {
  std::string text(equation);
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string terms = text.substr(0, arrow);
  const size_t comma = terms.find(',');
  if (comma == terms.npos) {
    reject_equation(equation, "two inputs, as \"bij,bjk->bik\"");
  }
  std::string a = terms.substr(0, comma);
  std::string b = terms.substr(comma + 1);
  std::string y =
      arrow == text.npos ? implied_output(terms) : text.substr(arrow + 2);
  const int64_t dots_a = dotted_axes(a, rank_a);
  const int64_t dots_b = dotted_axes(b, rank_b);
  if (dots_a < 0 || dots_b < 0) {
    reject_equation(equation, "a letter for each axis of each input");
  }
  replace_dots(a, dots_a);
  replace_dots(b, dots_b);
  replace_dots(y, std::max(dots_a, dots_b));
  return einsum_of(std::move(a), std::move(b), std::move(y));
}

SymbolicTensor einsum(std::string_view equation, const SymbolicTensor& a,
                      const SymbolicTensor& b) {
  const EinsumEquation e =
      parse_einsum(equation, a.shape().rank(), b.shape().rank());
  if (e.y.empty() || e.a[0] != e.y[0] || e.b[0] != e.y[0]) {
    reject_equation(equation, "the batch as first axis of inputs and output");
  }
  LetterSizes sizes;
  sizes.add(e.a, a.shape());
  sizes.add(e.b, b.shape());
  const std::string batch = e.batch.substr(1);
  if (e.depth.empty()) {
    // Operands have each axis of the output, of size 1 if they lack it.
    const auto aligned = [&](const SymbolicTensor& x, const std::string& own) {
      std::string order;
      std::vector<int64_t> shape;
      for (const char letter : e.y) {
        if (has(own, letter)) order += letter;
        shape.push_back(has(own, letter) ? sizes[letter] : 1);
      }
      const SymbolicTensor y = in_order(x, own, order);
      return order == e.y ? y : reshape(y, shape);
    };
    return aligned(a, e.a) * aligned(b, e.b);
  }
  const auto matrices = [&](const SymbolicTensor& x, const std::string& own,
                            const std::string& rows,
                            const std::string& columns) {
    return reshape(in_order(x, own, e.batch + rows + columns),
                   {-1, sizes.product(batch), sizes.product(rows),
                    sizes.product(columns)});
  };
  const std::string order = e.batch + e.rows + e.columns;
  std::vector<int64_t> shape;
  for (const char letter : order) shape.push_back(sizes[letter]);
  return in_order(reshape(matmul(matrices(a, e.a, e.rows, e.depth),
                                 matrices(b, e.b, e.depth, e.columns)),
                          shape),
                  order, e.y);
}

}  // namespace octet
