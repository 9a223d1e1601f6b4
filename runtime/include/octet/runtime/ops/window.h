// Windows that slide over images and sequences: sizes, strides, padding.
#pragma once

#include <cstdint>

#include <octet/runtime/shape.h>

namespace octet {

/// Cells added at the ends of an axis, or cut off. Written as in Keras: `1` is
/// one at each end, `{0, 1}` one at the last.
struct Ends {
  int64_t begin = 0;
  int64_t end = 0;

  constexpr Ends() = default;
  constexpr Ends(Count auto both) : Ends(both, both) {}
  constexpr Ends(Count auto before, Count auto behind)
      : begin(static_cast<int64_t>(before)),
        end(static_cast<int64_t>(behind)) {}
  bool operator==(const Ends&) const = default;
};

/// Cells added around an image, or cut off. Written as in Keras: `1` is one at
/// each side, `{1, 2}` one above and below and two at the left and right,
/// `{{0, 1}, {2, 3}}` top and bottom, left and right; `{0, 1, 2, 3}` is the
/// same.
struct Pads {
  int64_t top = 0;
  int64_t bottom = 0;
  int64_t left = 0;
  int64_t right = 0;

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

/// Fields in order: strides, dilation, pads
struct WindowOptions {
  Size2 strides{1, 1};
  Size2 dilation{1, 1};
  Pads pads{};
};

/// Of windows over sequences.
struct WindowOptions1D {
  int64_t stride = 1;
  int64_t dilation = 1;
  Ends pads{};
};

/// The largest size, stride, dilation and padding of a window: their products
/// and sums fit into 64 bits.
inline constexpr int64_t kMaxWindow = int64_t{1} << 31;

/// Number of window positions along one axis; 0 if the window does not fit.
/// `pads` is the padding of both sides.
/// Throws: ValueError for a stride < 1, or anything above kMaxWindow.
int64_t window_positions(int64_t size, int64_t window, int64_t stride,
                         int64_t dilation, int64_t pads);

}  // namespace octet
