#include "pool_window.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "checks.h"

namespace octet {
namespace {

Size2 pool_strides(Size2 pool_size, Size2 strides) {
  expect_window("pool_size", pool_size);
  expect_window("strides", strides, 0);
  if (strides == Size2{}) return pool_size;
  expect_window("strides", strides);
  return strides;
}

}  // namespace

PoolWindow::PoolWindow(Size2 pool_size, Size2 strides, const Padding& padding)
    : Window(pool_size, pool_strides(pool_size, strides), padding, 1) {
  check_padding();
  const Pads* p = padding.given();
  if (p != nullptr && (std::max(p->top, p->bottom) >= pool_size.h ||
                       std::max(p->left, p->right) >= pool_size.w)) {
    throw ValueError(
        "out_of_range", "padding",
        fmt::format("must be less than the {}x{} window, got (({},{}),({},{}))",
                    pool_size.h, pool_size.w, p->top, p->bottom, p->left,
                    p->right));
  }
}

PoolWindow::PoolWindow(Size1 pool_size, Size1 strides, const Padding1D& padding)
    : Window(
          pool_size,
          pool_strides(pool_size.length,
                       strides.length == 0 ? pool_size.length : strides.length)
              .w,
          padding, 1) {
  check_padding();
  if (padding == Padding1D::causal) {
    throw ValueError("invalid_value", "padding",
                     "must be 'valid' or 'same', got 'causal'. Hint: pad with "
                     "ZeroPadding1D({pool_size - 1, 0}) before the layer");
  }
  const Ends* p = padding.given();
  if (p != nullptr && std::max(p->begin, p->end) >= pool_size.length) {
    throw ValueError("out_of_range", "padding",
                     fmt::format("must be less than the window {}, got ({},{})",
                                 pool_size.length, p->begin, p->end));
  }
}

}  // namespace octet
