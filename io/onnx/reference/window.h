// Windows of convolutions and pooling over images. A signal [n,c,w] is an image
// with one row.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "node.h"

namespace octet::io::run {

/// Consecutive outputs or taps, [first, last).
struct Range {
  int64_t first = 0;
  int64_t last = 0;
  int64_t size() const { return last > first ? last - first : 0; }
};

/// One axis. Tap k of output o is at o * stride + k * dilation - before.
struct Window {
  int64_t in = 1;
  int64_t out = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  ///< padding
  int64_t after = 0;

  int64_t position(int64_t o, int64_t k) const {
    return o * stride + k * dilation - before;
  }
  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  /// Returns the outputs whose tap k is within the image.
  Range outputs_of(int64_t k) const;
  /// Returns the taps of output o within the image.
  Range taps_of(int64_t o) const;
};

/// Rows and columns.
using Windows = std::array<Window, 2>;

enum class Rounding { floor, ceil };

/// Returns the windows of a node over x [n,c,h,w] or [n,c,w]; `kernel` has a
/// size for each axis of the image. Throws: FormatError for attributes that do
/// not fit; UnsupportedError for other ranks.
Windows windows_of(const NodeContext& context, const Tensor& x,
                   const Sizes& kernel, Rounding rounding);
/// Returns the windows without padding: in, kernel, stride, dilation.
Windows windows_without_pads(const NodeContext& context, const Tensor& x,
                             const Sizes& kernel);
/// Returns `pads` for each axis: before, after.
std::array<std::array<int64_t, 2>, 2> pads_of(const NodeContext& context,
                                              const Tensor& x);
/// Returns the list `name` for rows and columns, `otherwise` if absent.
std::array<int64_t, 2> per_axis(const NodeContext& context, const Tensor& x,
                                const std::string& name, int64_t otherwise);

/// Returns input 2, a number for each output, or null. Throws: FormatError for
/// another count.
const float* bias_of(const NodeContext& context, int64_t outputs);

/// Returns the dimensions of a result for x: [n, channels, out...].
Sizes output_dims(const Tensor& x, int64_t channels, const Windows& windows);

}  // namespace octet::io::run
