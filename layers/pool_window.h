// What pooling layers have in common: the window over images or sequences.
#pragma once

#include "window.h"

namespace octet {

class PoolWindow : public Window {
 public:
  /// Strides of 0 are the window's size.
  /// Throws: ValueError for windows below 1, strides below 0, causal padding,
  /// or padding so wide that a window would hold nothing else.
  PoolWindow(Size2 pool_size, Size2 strides, const Padding& padding);
  PoolWindow(Size1 pool_size, Size1 strides, const Padding1D& padding);
};

}  // namespace octet
