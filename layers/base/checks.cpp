#include "base/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

namespace octet {

namespace {

void expect_between(const char* what, int64_t value, int64_t least,
                    int64_t most) {
  if (value < least) {
    throw ValueError("out_of_range", what,
                     fmt::format("must be at least {}, got {}", least, value));
  }
  if (value > most) {
    throw ValueError("out_of_range", what,
                     fmt::format("must be at most {}, got {}", most, value));
  }
}

}  // namespace

void expect_count(const char* what, int64_t value) {
  expect_between(what, value, 1, (int64_t{1} << 31) - 1);
}

void expect_window(const char* what, Size2 value, int64_t least) {
  expect_between(what, value.h, least, (int64_t{1} << 20) - 1);
  expect_between(what, value.w, least, (int64_t{1} << 20) - 1);
}

void expect_padding(const Padding& padding) {
  const Pads* pads = padding.given();
  if (pads == nullptr) return;
  expect_window("padding", {pads->top, pads->bottom}, 0);
  expect_window("padding", {pads->left, pads->right}, 0);
}

void expect_ends(const char* what, const Ends& ends) {
  expect_window(what, {ends.begin, ends.end}, 0);
}

void expect_not_negative(const char* what, float value) {
  if (!(value >= 0) || std::isinf(value)) {
    throw ValueError(
        "out_of_range", what,
        fmt::format("must be finite and at least 0, got {}", value));
  }
}

void expect_rate(float rate) {
  if (rate >= 0 && rate < 1) return;
  throw ValueError("out_of_range", "rate",
                   fmt::format("must be in [0,1), got {}", rate));
}

Shape noise_shape(const std::vector<int64_t>& given, const Shape& x) {
  if (given.empty()) return x;
  Shape result{std::span<const int64_t>(given)};
  bool fits = result.rank() == x.rank();
  for (int axis = 0; fits && axis < x.rank(); ++axis) {
    if (result[axis] == Shape::kAnySize) result = result.with(axis, x[axis]);
    fits = result[axis] == 1 || result[axis] == x[axis];
  }
  if (!fits) {
    throw ShapeError(
        "shape_mismatch", "noise_shape",
        fmt::format("sizes must be those of the input {}, 1 or -1, got {}",
                    x.to_string(),
                    Shape(std::span<const int64_t>(given)).to_string()));
  }
  return result;
}

void expect_epsilon(float epsilon) {
  if (epsilon > 0 && std::isfinite(epsilon)) return;
  throw ValueError(
      "out_of_range", "epsilon",
      fmt::format("must be finite and greater than 0, got {}", epsilon));
}

void expect_last_axis(const std::vector<int64_t>& axis, const Shape& x) {
  if (x.rank() < 2) {
    throw ShapeError("invalid_shape", "input",
                     "must be [n,...,c], got " + x.to_string());
  }
  if (axis.size() == 1 && (axis[0] == -1 || axis[0] == x.rank() - 1)) return;
  throw UnsupportedError(
      "unsupported_value", "axis",
      fmt::format("must be the last axis (-1) of {}, got [{}]", x.to_string(),
                  fmt::join(axis, ",")));
}

int64_t product_of(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (factor == 0) return 0;
    if (__builtin_mul_overflow(product, factor, &product)) {
      product = std::numeric_limits<int64_t>::max();
    }
  }
  return product;
}

const Shape& single_input(std::span<const Shape> inputs) {
  if (inputs.size() != 1) {
    throw ValueError(
        "count_mismatch", "inputs",
        fmt::format("the layer takes 1 input, got {}", inputs.size()));
  }
  return inputs[0];
}

const Shape& image_input(std::span<const Shape> inputs) {
  const Shape& x = single_input(inputs);
  if (x.rank() != 4) {
    throw ShapeError(
        "invalid_shape", "input",
        fmt::format("must be images [n,h,w,c], got {}", x.to_string()));
  }
  return x;
}

const Shape& sequence_input(std::span<const Shape> inputs) {
  const Shape& x = single_input(inputs);
  if (x.rank() != 3) {
    throw ShapeError(
        "invalid_shape", "input",
        fmt::format("must be sequences [n,l,c], got {}", x.to_string()));
  }
  return x;
}

const Shape& token_input(std::span<const Shape> inputs) {
  const Shape& x = single_input(inputs);
  if (x.rank() != 3) {
    throw ShapeError(
        "invalid_shape", "input",
        fmt::format("must be tokens [n,t,d], got {}", x.to_string()));
  }
  return x;
}

void expect_window_fits(const Shape& x, Size2 window, int64_t oh, int64_t ow) {
  if (oh >= 1 && ow >= 1) return;
  const bool image = x.rank() == 4;
  throw ShapeError(
      "invalid_shape", "input",
      fmt::format("{} is smaller than the {}{} window after dilation and "
                  "padding. Hint: padding 'same' always fits",
                  x.to_string(), image ? fmt::format("{}x", window.h) : "",
                  window.w));
}

void throw_unknown_name(const char* what, std::string_view name,
                        std::vector<std::string> known) {
  std::ranges::sort(known);
  throw ValueError(
      "unknown_name", what,
      fmt::format("unknown {} '{}' (known: {}){}", what, name,
                  fmt::join(known, ", "), suggest_near(name, known)));
}

}  // namespace octet
