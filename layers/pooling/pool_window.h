// Window of pooling layers over images or sequences.
#pragma once

#include "base/window.h"

namespace octet {

class PoolWindow : public Window {
 public:
  /// Strides of 0 select the window size.
  /// Throws: ValueError for windows < 1, strides < 0, causal padding, or
  /// padding that fills a whole window.
  PoolWindow(Size2 pool_size, Size2 strides, const Padding& padding,
             Size2 dilation);
  PoolWindow(Size1 pool_size, Size1 strides, const Padding1D& padding,
             Size1 dilation);
};

}  // namespace octet
