#include "number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace octet {
namespace {

std::string shortest(float x, std::chars_format format) {
  std::array<char, 128> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), x, format).ptr;
  return {text.data(), end};
}

// Parts of a number: "-12" "." "5" "e+10".
struct NumberParts {
  std::string whole, fraction, exponent;

  // Without trailing zeros of the fraction.
  explicit NumberParts(std::string_view text) {
    const size_t e = std::min(text.find('e'), text.size());
    exponent = text.substr(e);
    text = text.substr(0, e);
    const size_t point = std::min(text.find('.'), text.size());
    whole = text.substr(0, point);
    text = text.substr(std::min(point + 1, text.size()));
    while (text.ends_with('0')) text.remove_suffix(1);
    fraction = text;
  }
};

// The shortest digits that identify x, or `precision` digits after the point.
NumberParts positional(float x, int precision) {
  NumberParts parts(shortest(x, std::chars_format::fixed));
  if (std::ssize(parts.fraction) <= precision) return parts;
  return NumberParts(fmt::format("{:.{}f}", double{x}, precision));
}

NumberParts scientific(float x, int precision) {
  NumberParts parts(shortest(x, std::chars_format::scientific));
  if (std::ssize(parts.fraction) <= precision) return parts;
  return NumberParts(fmt::format("{:.{}e}", double{x}, precision));
}

std::string special_text(float x) {
  if (std::isnan(x)) return "nan";
  return x < 0 ? "-inf" : "inf";
}

bool needs_exponents(const std::vector<float>& values) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  float least = kInfinite, most = 0;
  for (const float x : values) {
    if (!std::isfinite(x) || x == 0) continue;
    least = std::min(least, std::fabs(x));
    most = std::max(most, std::fabs(x));
  }
  if (most == 0) return false;
  return most >= 1e6f || double{least} < 0.0001 || most / least > 1000;
}

}  // namespace

FloatColumn::FloatColumn(const std::vector<float>& values, int precision)
    : precision_(precision), scientific_(needs_exponents(values)) {
  size_t exponent = 0;
  for (const float x : values) {
    if (!std::isfinite(x)) continue;
    const NumberParts parts =
        scientific_ ? scientific(x, precision) : positional(x, precision);
    left_ = std::max(left_, parts.whole.size());
    digits_ = std::max(digits_, parts.fraction.size());
    exponent = std::max(exponent, parts.exponent.size());
  }
  right_ = digits_ + exponent;
  for (const float x : values) {
    if (std::isfinite(x)) continue;
    const size_t size = special_text(x).size();
    left_ = std::max(left_, size - std::min(size, right_ + 1));
  }
}

std::string FloatColumn::finite_text(float x) const {
  if (!scientific_) {
    const NumberParts parts = positional(x, precision_);
    return fmt::format("{}.{:<{}}", parts.whole, parts.fraction, right_);
  }
  // The digits of x itself, not zeros behind its shortest digits.
  std::string text = fmt::format("{:.{}e}", double{x}, digits_);
  return digits_ > 0 ? text : text.insert(text.find('e'), ".");
}

std::string FloatColumn::text(float x) const {
  return fmt::format("{:>{}}",
                     std::isfinite(x) ? finite_text(x) : special_text(x),
                     left_ + 1 + right_);
}

std::string scalar_text(float x) {
  if (!std::isfinite(x)) return special_text(x);
  const float size = std::fabs(x);
  if (size == 0 || (size >= 1e-4f && size < 1e16f)) {
    const NumberParts parts(shortest(x, std::chars_format::fixed));
    return parts.whole + "." + (parts.fraction.empty() ? "0" : parts.fraction);
  }
  return shortest(x, std::chars_format::scientific);
}

}  // namespace octet
