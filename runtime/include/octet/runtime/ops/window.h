// Sliding windows over images and sequences: sizes, strides, padding.
#pragma once

#include <cstdint>

#include <octet/runtime/tensor.h>

namespace octet {

/// Elements added or removed at the ends of an axis. As in Keras: `1` applies
/// to both ends, `{0, 1}` only to the last.
struct Ends {
  int64_t begin = 0;  ///< elements before the first
  int64_t end = 0;    ///< elements after the last

  constexpr Ends() = default;
  constexpr Ends(Count auto both) : Ends(both, both) {}
  constexpr Ends(Count auto before, Count auto behind)
      : begin(static_cast<int64_t>(before)),
        end(static_cast<int64_t>(behind)) {}
  bool operator==(const Ends&) const = default;
};

/// Pixels added or removed around an image. As in Keras: `1` applies to all
/// sides, `{1, 2}` is 1 above and below and 2 left and right, `{{0, 1}, {2,
/// 3}}` is top and bottom, left and right; also written `{0, 1, 2, 3}`.
struct Pads {
  int64_t top = 0;     ///< rows above the first
  int64_t bottom = 0;  ///< rows below the last
  int64_t left = 0;    ///< columns before the first
  int64_t right = 0;   ///< columns after the last

  /// Rows above and below, or columns left and right.
  using Ends = octet::Ends;

  constexpr Pads() = default;
  constexpr Pads(Count auto all) : Pads(all, all) {}
  constexpr Pads(Count auto rows, Count auto columns)
      : Pads(rows, rows, columns, columns) {}
  constexpr Pads(Ends rows, Ends columns)
      : Pads(rows.begin, rows.end, columns.begin, columns.end) {}
  constexpr Pads(Count auto above, Count auto below, Count auto before,
                 Count auto behind)
      : top(static_cast<int64_t>(above)),
        bottom(static_cast<int64_t>(below)),
        left(static_cast<int64_t>(before)),
        right(static_cast<int64_t>(behind)) {}
  bool operator==(const Pads&) const = default;
};

/// Positions of the windows of a convolution or pooling over images.
/// Fields in order: strides, dilation, pads
struct WindowOptions {
  Size2 strides{1, 1};   ///< distance between windows, [1, kMaxWindow]
  Size2 dilation{1, 1};  ///< distance between taps, [1, kMaxWindow]
  Pads pads{};           ///< padding around the image, [0, kMaxWindow]
};

/// Positions of the windows of a convolution or pooling over sequences.
struct WindowOptions1D {
  int64_t stride = 1;    ///< distance between windows, [1, kMaxWindow]
  int64_t dilation = 1;  ///< distance between taps, [1, kMaxWindow]
  Ends pads{};           ///< padding at the ends, [0, kMaxWindow]
};

/// Largest size, stride, dilation and padding of a window; keeps products and
/// sums within 64 bits.
inline constexpr int64_t kMaxWindow = int64_t{1} << 31;

/// Number of window positions along one axis; 0 if the window does not fit.
/// `pads` is the total padding of both ends.
/// Throws: ValueError for a stride < 1, or anything above kMaxWindow.
int64_t window_positions(int64_t size, int64_t window, int64_t stride,
                         int64_t dilation, int64_t pads);

}  // namespace octet
