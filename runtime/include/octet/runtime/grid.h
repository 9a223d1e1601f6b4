// The one numeric definition of fake-quantization, used by training,
// calibration and export (kernels/lanes.inl has its vector form, which the
// tests compare value by value):
//
//   q = clip(round_half_even(x / s), low, high),   y = s * q
//
// symmetric (zero point 0), s > 0, by division and not by multiplication with
// 1/s (last-bit ties differ), as ONNX QuantizeLinear does. NaN stays NaN.
//
// Source: ONNX QuantizeLinear-13 and DequantizeLinear-13,
// https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet {

/// A grid of integer codes: one scale, or one per slice of `axis`.
struct Grid {
  Tensor scale = {};  ///< f32, rank 0 (per tensor) or rank 1 (per channel)
  int axis = -1;      ///< of the channels; only used per channel
  int low = -128;     ///< smallest code
  int high = 127;     ///< largest code

  bool empty() const { return scale.empty(); }
  bool per_channel() const { return !empty() && scale.shape().rank() == 1; }
};

/// Which scale of a grid each element of a tensor has.
class ElementScales {
 public:
  /// Throws: ShapeError if a scale per channel does not fit.
  ElementScales(const Shape& shape, const Grid& grid);
  /// The place of an element's scale, and the scale.
  size_t channel(size_t element) const {
    return element / inner_ % scales_.size();
  }
  float operator[](size_t element) const { return scales_[channel(element)]; }

 private:
  std::vector<float> scales_;
  size_t inner_;  // elements in a row that have one of them
};

/// The code of `x` as a float holding an integer.
/// Range: [low, high], NaN for NaN.
float quantize(float x, float scale, int low, int high);

/// Magnitudes below this are none: a scale of them would be as small as the
/// smallest floats.
inline constexpr float kSmallestRange = 0x1p-100f;

/// absmax / high; an empty range (absmax < kSmallestRange) gives 1, since every
/// value then has code 0 under any scale. Throws: ValueError if absmax is NaN,
/// infinite or negative.
float scale_of_range(float absmax, int high);

/// 2^x of each: scales from their binary logarithms.
Tensor scales_of_log2(const Tensor& logarithms);

/// Largest magnitude of a tensor. NaN if the tensor holds one.
float absmax(const Tensor& x);
/// Largest magnitude of each slice of `axis`: shape [dim(axis)].
Tensor absmax_per_channel(const Tensor& x, int axis);

/// Codes as i8. Throws: ShapeError if a per-channel scale does not fit,
/// ValueError for NaN.
Tensor quantize(const Tensor& x, const Grid& grid);
/// scale * code. Throws: ShapeError if a per-channel scale does not fit.
Tensor dequantize(const Tensor& codes, const Grid& grid);

/// The straight-through estimator passes the gradient where x lies strictly
/// between these bounds: exactly the x whose rounded code, before clipping,
/// is in [low, high].
struct OpenInterval {
  float low;
  float high;
};
OpenInterval straight_through_interval(float scale, int low, int high);

}  // namespace octet
