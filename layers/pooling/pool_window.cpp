#include "pooling/pool_window.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "base/checks.h"

namespace octet {
namespace {

Size2 pool_strides(Size2 pool_size, Size2 strides) {
  expect_window("pool_size", pool_size);
  expect_window("strides", strides, 0);
  if (strides == Size2{}) return pool_size;
  expect_window("strides", strides);
  return strides;
}

Size2 reach_of(Size2 pool_size, Size2 dilation) {
  return {(pool_size.h - 1) * dilation.h + 1,
          (pool_size.w - 1) * dilation.w + 1};
}

}  // namespace

PoolWindow::PoolWindow(Size2 pool_size, Size2 strides, const Padding& padding,
                       Size2 dilation)
    : Window(pool_size, pool_strides(pool_size, strides), padding, dilation) {
  expect_window("dilation_rate", dilation);
  check_padding();
  const Size2 reach = reach_of(pool_size, dilation);
  const Pads* p = padding.given();
  if (p != nullptr && (std::max(p->top, p->bottom) >= reach.h ||
                       std::max(p->left, p->right) >= reach.w)) {
    throw ValueError(
        "out_of_range", "padding",
        fmt::format("must be less than the {}x{} window, got (({},{}),({},{}))",
                    reach.h, reach.w, p->top, p->bottom, p->left, p->right));
  }
}

PoolWindow::PoolWindow(Size1 pool_size, Size1 strides, const Padding1D& padding,
                       Size1 dilation)
    : Window(
          pool_size,
          pool_strides(pool_size.length,
                       strides.length == 0 ? pool_size.length : strides.length)
              .w,
          padding, dilation) {
  expect_window("dilation_rate", dilation.length);
  check_padding();
  const int64_t reach = reach_of(pool_size.length, dilation.length).w;
  if (padding == Padding1D::causal) {
    throw ValueError("invalid_value", "padding",
                     "must be 'valid' or 'same', got 'causal'. Hint: pad with "
                     "ZeroPadding1D({pool_size - 1, 0}) before the layer");
  }
  const Ends* p = padding.given();
  if (p != nullptr && std::max(p->begin, p->end) >= reach) {
    throw ValueError("out_of_range", "padding",
                     fmt::format("must be less than the window {}, got ({},{})",
                                 reach, p->begin, p->end));
  }
}

}  // namespace octet
