// The numeric definition of fake-quantization for training, calibration and
// export (kernels/simd.inl has its vector form; tests compare the two):
//
//   q = clip(round_half_even(x / s), low, high),   y = s * q
//
// Symmetric (zero point 0), s > 0. Divides instead of multiplying with 1/s,
// which differs in ties, as ONNX QuantizeLinear does. NaN stays NaN.
//
// Source: ONNX QuantizeLinear-13 and DequantizeLinear-13,
// https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/tensor.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Representable values of a quantized tensor, in units of its scale.
enum class NumberFormat {
  integer,  ///< the integers in [low, high]
  /// 8-bit floating point: 4 exponent bits, 3 mantissa bits, largest value 448,
  /// no infinity. Source: Micikevicius et al., arXiv 2209.05433, table 1.
  fp8_e4m3,
  /// 4-bit floating point: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
  /// Source: OCP Microscaling Formats 1.0, section 5.3.3.
  fp4_e2m1,
};

/// "integer", "fp8_e4m3", "fp4_e2m1".
std::string_view to_string(NumberFormat format);
/// Returns the format with this name (to_string()).
/// Throws: ValueError for an unknown name.
NumberFormat number_format_named(std::string_view name);
/// Returns the largest value of a floating-point format: 448 or 6.
/// Throws: ValueError for `integer`.
int largest_value(NumberFormat format);
/// Rounds to the nearest value of a floating-point format, ties to even
/// mantissas, saturating at its largest value. NaN stays NaN.
/// Throws: ValueError for `integer`.
float round_to_format(float x, NumberFormat format);
/// Returns the bits of round_to_format(x), in the lower 8 or 4 bits; 0x7f for
/// NaN in fp8_e4m3.
/// Throws: ValueError for `integer`, and for NaN in fp4_e2m1.
uint8_t encode_float(float x, NumberFormat format);
/// Returns the value of the lower 8 or 4 bits.
/// Throws: ValueError for `integer`.
float decode_float(uint8_t bits, NumberFormat format);

/// Quantization parameters: a scale, a scale per slice of `axis`, or a scale
/// per block along `axis`.
struct QuantParams {
  /// f32: rank 0 (per tensor), rank 1 (per channel), or the rank of the tensor
  /// with ceil(size / block) scales on `axis` (per block).
  Tensor scale = {};
  int axis = -1;   ///< axis of channels or blocks; not used per tensor
  int low = -128;  ///< smallest quantized value
  int high = 127;  ///< largest quantized value
  /// Representable values. For floating-point formats low and high are minus
  /// and plus largest_value().
  NumberFormat format = NumberFormat::integer;
  /// Number of values per block, >= 1 (quantizers: 2 to 4096); 0: no blocks.
  int64_t block = 0;

  /// Whether there is no scale.
  bool empty() const { return scale.empty(); }
  /// Whether there is a scale per slice of `axis`.
  bool per_channel() const {
    return !empty() && block == 0 && scale.shape().rank() == 1;
  }
  /// Whether the values are integers with a scale per tensor or channel, the
  /// form that INT8 kernels support.
  bool plain_integer() const {
    return format == NumberFormat::integer && block == 0;
  }
};

/// Maps elements of a tensor to their scales.
class ElementScales {
 public:
  /// Creates the map for a tensor of `shape`.
  /// Throws: ShapeError if the scales or the axis do not fit; ValueError
  /// without a scale or for a negative block.
  ElementScales(const Shape& shape, const QuantParams& qparams);
  /// Returns the index of an element's scale. Elements are in memory order.
  size_t index(size_t element) const {
    const size_t row = element / inner_;
    if (block_ == 0) return row % scales_.size();
    const size_t blocks = (size_ + block_ - 1) / block_;
    return (row / size_ * blocks + row % size_ / block_) * inner_ +
           element % inner_;
  }
  /// Returns the scale of an element.
  float operator[](size_t element) const { return scales_[index(element)]; }

 private:
  std::vector<float> scales_;
  size_t inner_;      // consecutive elements behind an index of the axis
  size_t size_ = 1;   // of the axis
  size_t block_ = 0;  // values per block; 0: none
};

/// The quantized value of `x`, an integer stored as float.
/// Range: [low, high], NaN for NaN.
float quantize(float x, float scale, int low, int high);
/// The quantized value of `x` in the format and range of `qparams`, whose scale
/// is ignored. NaN for NaN.
float quantize(float x, float scale, const QuantParams& qparams);

/// Ranges below this count as empty: their scale would be near the smallest
/// floats.
inline constexpr float kSmallestRange = 0x1p-100f;

/// absmax / high. Returns 1 for an empty range (absmax < kSmallestRange), since
/// all values then quantize to 0 under any scale. Throws: ValueError if absmax
/// is NaN, infinite or negative.
float scale_of_range(float absmax, int high);

/// 2^x of each element: scales from their binary logarithms.
Tensor scales_of_log2(const Tensor& logarithms);

/// Largest magnitude of a tensor. NaN if the tensor contains NaN.
float absmax(const Tensor& x);
/// Largest magnitude of each slice of `axis`: shape [dim(axis)].
Tensor absmax_per_channel(const Tensor& x, int axis);
/// Returns `shape` with ceil(dim(axis) / block) entries on `axis`: the shape of
/// the scales of a tensor in blocks.
/// Throws: ValueError if block < 1; ShapeError for an axis out of range.
Shape shape_of_blocks(const Shape& shape, int axis, int64_t block);
/// Largest magnitude of each block of `block` values along `axis`: the shape of
/// x with ceil(dim(axis) / block) on the axis. Throws: as shape_of_blocks().
Tensor absmax_per_block(const Tensor& x, int axis, int64_t block);

/// Quantized values as i8.
/// Throws: ShapeError if a per-channel scale does not fit; ValueError for NaN,
/// for a range beyond [-128, 127], or if `qparams` is empty; UnsupportedError
/// for floating-point formats and blocks.
Tensor quantize(const Tensor& x, const QuantParams& qparams);
/// scale * q, for quantized values q as i8. Throws: ShapeError if a per-channel
/// scale does not fit; ValueError for another type or if `qparams` is empty;
/// UnsupportedError for floating-point formats and blocks.
Tensor dequantize(const Tensor& q, const QuantParams& qparams);

/// An interval without its bounds.
struct OpenInterval {
  float low;   ///< lower bound, excluded
  float high;  ///< upper bound, excluded
};
/// Range of x in which the straight-through estimator passes the gradient:
/// exactly the x whose rounded value, before clipping, is in [low, high].
OpenInterval straight_through_interval(float scale, int low, int high);

// Fake-quantization with the straight-through estimator.

/// Range in which fake_quantize passes the gradient.
enum class StraightThrough {
  clipped,       ///< if the rounded value is in [low, high]
  pass_through,  ///< everywhere
};

/// Quantizes and dequantizes x: forward scale * q, backward the
/// straight-through estimator. The scale gets no gradient.
/// Throws: ShapeError if the scales do not fit; ValueError if `qparams` is
/// empty, a scale is not finite and positive, low > high, a bound is beyond
/// +-2^22, or the bounds of a floating-point format are not its largest value.
Variable fake_quantize(const Variable& x, const QuantParams& qparams,
                       StraightThrough mode = StraightThrough::clipped);

/// Contribution of unclipped values to the gradient of the scale.
enum class ScaleSlope {
  rounding,  ///< the rounding error in steps, q - x/scale
  none,      ///< none: only clipped values contribute
};

/// A trainable scale.
struct LearnedScale {
  Variable scale;             ///< f32 [] or [c], finite and > 0
  float gradient_factor = 1;  ///< factor of the scale's gradient
  /// Whether `scale` is the binary logarithm of the scale, of any sign.
  bool log2 = false;
  ScaleSlope slope = ScaleSlope::rounding;  ///< of unclipped values
  /// Real value of the lowest quantized value, f32 []: with `scale` per tensor,
  /// low = round(offset / scale). Empty: the zero point is fixed.
  Variable offset = {};
};

/// Fake-quantizes with a trainable scale. Its gradient is the sum over the
/// tensor or channel of dy * slope * gradient_factor; the slope is q - x/scale
/// (or 0, see ScaleSlope) strictly inside the range and q at and beyond its
/// bounds. For a logarithm it is multiplied by scale * ln 2. With an offset,
/// the slope beyond the bounds is q - low, and the offset's is 1 there and 0
/// inside. `qparams` has the other parameters, without a scale.
/// Source: Esser et al., "Learned step size quantization", arXiv 1902.08153,
/// equation 3; logarithm: Jain et al., "Trained quantization thresholds", arXiv
/// 1903.08066, section 4; without rounding: Choi et al., "PACT", arXiv
/// 1805.06085, section 3; offset: Bhalgat et al., "LSQ+", arXiv 2004.09576,
/// equations 3 to 5.
/// Throws: as above; ValueError if `qparams` has a scale, a factor is not
/// finite, or an offset is combined with log2, ScaleSlope::none or a format
/// other than integers.
Variable fake_quantize(const Variable& x, const LearnedScale& scale,
                       const QuantParams& qparams,
                       StraightThrough mode = StraightThrough::clipped);

/// Returns the scales, the format unless integer, and the range of quantized
/// values: "scale 0.05, range [-128,127]"; "no quantization parameters" if
/// empty.
std::string to_string(const QuantParams& qparams);
/// Prints to_string(qparams).
std::ostream& operator<<(std::ostream& out, const QuantParams& qparams);

}  // namespace octet
