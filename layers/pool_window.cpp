#include "pool_window.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "checks.h"

namespace octet {

Size2 pool_strides(Size2 pool_size, Size2 strides, const Padding& padding) {
  expect_window("pool_size", pool_size);
  expect_window("strides", strides, 0);
  expect_padding(padding);
  const Pads* p = padding.given();
  if (p != nullptr && (std::max(p->top, p->bottom) >= pool_size.h ||
                       std::max(p->left, p->right) >= pool_size.w)) {
    throw ValueError(fmt::format(
        "padding: expected less than the window {}x{}, got (({},{}),({},{}))",
        pool_size.h, pool_size.w, p->top, p->bottom, p->left, p->right));
  }
  if (strides == Size2{}) return pool_size;
  expect_window("strides", strides);
  return strides;
}

WindowOptions pool_window(const Shape& x, Size2 pool_size, Size2 strides,
                          const Padding& padding) {
  return {.strides = strides,
          .pads = padding.pads({x[1], x[2]}, pool_size, strides, {1, 1})};
}

Shape pooled_shape(const Shape& x, Size2 pool_size, Size2 strides,
                   const Padding& padding) {
  const Pads p = pool_window(x, pool_size, strides, padding).pads;
  const int64_t oh =
      window_positions(x[1], pool_size.h, strides.h, 1, p.top + p.bottom);
  const int64_t ow =
      window_positions(x[2], pool_size.w, strides.w, 1, p.left + p.right);
  expect_window_fits(x, pool_size, oh, ow);
  return {x[0], oh, ow, x[3]};
}

}  // namespace octet
