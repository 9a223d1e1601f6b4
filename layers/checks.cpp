#include "checks.h"

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet {

void expect_at_least(const char* what, int64_t value, int64_t least) {
  if (value < least) {
    throw ValueError(
        fmt::format("{}: expected at least {}, got {}", what, least, value));
  }
}

void expect_at_least(const char* what, Size2 value, int64_t least) {
  expect_at_least(what, value.h, least);
  expect_at_least(what, value.w, least);
}

const Shape& single_input(std::span<const Shape> inputs) {
  if (inputs.size() != 1) {
    throw ValueError(
        fmt::format("inputs: expected one, got {}", inputs.size()));
  }
  return inputs[0];
}

const Shape& image_input(std::span<const Shape> inputs) {
  const Shape& x = single_input(inputs);
  if (x.rank() != 4) {
    throw ShapeError(
        fmt::format("input: expected images [n,h,w,c], got {}", x.to_string()));
  }
  return x;
}

void expect_window_fits(const Shape& x, Size2 window, int64_t oh, int64_t ow) {
  if (oh >= 1 && ow >= 1) return;
  throw ShapeError(fmt::format(
      "input: expected images of at least the window {}x{} (with dilation and "
      "padding), got {}; padding 'same' always fits",
      window.h, window.w, x.to_string()));
}

}  // namespace octet
