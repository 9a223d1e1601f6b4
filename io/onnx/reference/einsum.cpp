// Einsum. Source: ONNX Einsum-12; numpy.einsum.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/detail/printable.h>
#include <octet/runtime/parallel.h>

#include "operators.h"
#include "strided_iterator.h"

namespace octet::io::run {
namespace {

/// A letter for each axis; digits for the axes of "...", counted from the last.
struct Equation {
  std::vector<std::string> terms;
  std::string result;
};

/// Axes with a stride in each input, in elements.
struct LetterAxes {
  Sizes sizes;
  std::vector<Sizes> strides;  // by input
};

[[noreturn]] void refuse_equation(const NodeContext& context,
                                  const char* expected) {
  context.refuse(fmt::format("equation must have {}, got '{}'", expected,
                             printable(context.text("equation", ""))));
}

std::string dots_as_digits(size_t count) {
  std::string digits;
  while (count-- > 0) digits += static_cast<char>('0' + count);
  return digits;
}

/// Replaces "..." and returns the number of its axes.
size_t expand_dots(const NodeContext& context, std::string& term, size_t rank) {
  const size_t dots = term.find("...");
  const size_t letters = dots == term.npos ? term.size() : term.size() - 3;
  if (letters > rank || (dots == term.npos && letters != rank)) {
    refuse_equation(context, "a letter for each axis of each input");
  }
  if (dots == term.npos) return 0;
  term.replace(dots, 3, dots_as_digits(rank - letters));
  return rank - letters;
}

/// The result of an equation without "->": "...", then the letters that occur
/// once.
std::string implied_result(const std::vector<std::string>& terms, size_t dots) {
  std::string all, once;
  for (const std::string& term : terms) all += term;
  for (const char letter : all) {
    const bool is_dot = letter >= '0' && letter <= '9';
    if (!is_dot && std::ranges::count(all, letter) == 1) once += letter;
  }
  std::ranges::sort(once);
  return dots_as_digits(dots) + once;
}

Equation equation_of(const NodeContext& context) {
  std::string text = context.text("equation", "");
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  Equation equation;
  for (size_t from = 0, comma = 0; comma != left.npos; from = comma + 1) {
    comma = left.find(',', from);
    equation.terms.push_back(left.substr(from, comma - from));
  }
  if (equation.terms.size() != context.inputs().size()) {
    refuse_equation(context, "a term for each input");
  }
  size_t dots = 0;
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    const auto rank = static_cast<size_t>(context.input(i).shape().rank());
    dots = std::max(dots, expand_dots(context, equation.terms[i], rank));
  }
  if (arrow == text.npos) {
    equation.result = implied_result(equation.terms, dots);
    return equation;
  }
  equation.result = text.substr(arrow + 2);
  const size_t at = equation.result.find("...");
  if (at != text.npos) equation.result.replace(at, 3, dots_as_digits(dots));
  return equation;
}

/// Returns the size of each letter. Axes of size 1 are broadcast.
std::map<char, int64_t> letter_sizes(const NodeContext& context,
                                     const Equation& equation) {
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    for (size_t axis = 0; axis < equation.terms[i].size(); ++axis) {
      const int64_t size = context.input(i).shape()[static_cast<int>(axis)];
      int64_t& known =
          sizes.try_emplace(equation.terms[i][axis], size).first->second;
      if (known == 1) known = size;
      if (size != known && size != 1) {
        refuse_equation(context, "the same size for axes of the same letter");
      }
    }
  }
  return sizes;
}

LetterAxes axes_of_letters(const NodeContext& context, const Equation& equation,
                           const std::map<char, int64_t>& sizes,
                           const std::string& letters) {
  LetterAxes axes;
  for (const char letter : letters) axes.sizes.push_back(sizes.at(letter));
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    const Sizes own = sizes_of(context.input(i));
    const Sizes own_strides = strides_of(own);
    Sizes strides(letters.size(), 0);
    for (size_t axis = 0; axis < own.size(); ++axis) {
      const size_t at = letters.find(equation.terms[i][axis]);
      // A repeated letter walks along a diagonal.
      if (at != letters.npos && own[axis] != 1)
        strides[at] += own_strides[axis];
    }
    axes.strides.push_back(std::move(strides));
  }
  return axes;
}

int64_t count_of(const NodeContext& context, const Sizes& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(count, size, &count)) {
      refuse_equation(context, "fewer than 2^63 products");
    }
  }
  return count;
}

}  // namespace

Values einsum(const NodeContext& context) {
  const Equation equation = equation_of(context);
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    if (context.input(i).dtype() != DType::f32) {
      context.refuse_type(context.input(i).dtype());
    }
  }
  const std::map<char, int64_t> sizes = letter_sizes(context, equation);
  std::string summed;
  for (const auto& [letter, size] : sizes) {
    if (equation.result.find(letter) == std::string::npos) summed += letter;
  }
  for (const char letter : equation.result) {
    if (!sizes.contains(letter) ||
        std::ranges::count(equation.result, letter) > 1) {
      refuse_equation(context,
                      "letters of the inputs in its result, each once");
    }
  }
  const LetterAxes kept =
      axes_of_letters(context, equation, sizes, equation.result);
  const LetterAxes inner = axes_of_letters(context, equation, sizes, summed);
  const int64_t products = count_of(context, inner.sizes);
  Tensor y = context.make(kept.sizes, DType::f32);
  float* out = y.f32().data();
  const size_t inputs = equation.terms.size();
  // Products along the last summed axis, and its stride in each input.
  const int64_t width = inner.sizes.empty() ? 1 : inner.sizes.back();
  Sizes steps;
  for (const Sizes& strides : inner.strides) {
    steps.push_back(strides.empty() ? 0 : strides.back());
  }
  std::vector<const float*> data;
  for (size_t i = 0; i < inputs; ++i) {
    data.push_back(context.input(i).f32().data());
  }
  parallel_chunks(y.size(), [&](int64_t first, int64_t last, int64_t) {
    for (int64_t o = first; o < last; ++o) {
      context.check_time();
      std::vector<const float*> base;
      for (size_t i = 0; i < inputs; ++i) {
        base.push_back(data[i] + offset_at(o, kept.sizes, kept.strides[i]));
      }
      double sum = 0;
      for (int64_t p = 0; p < products; p += width) {
        std::vector<const float*> row = base;
        for (size_t i = 0; i < inputs; ++i) {
          row[i] += offset_at(p, inner.sizes, inner.strides[i]);
        }
        for (int64_t k = 0; k < width; ++k) {
          double product = 1;
          for (size_t i = 0; i < inputs; ++i) {
            product *= static_cast<double>(row[i][k * steps[i]]);
          }
          sum += product;
        }
      }
      out[o] = static_cast<float>(sum);
    }
  });
  return {y};
}

}  // namespace octet::io::run
