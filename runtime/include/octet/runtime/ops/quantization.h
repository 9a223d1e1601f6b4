// Fake-quantization with the straight-through estimator.
#pragma once

#include <octet/runtime/quant_params.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Range in which fake_quantize passes the gradient.
enum class StraightThrough {
  clipped,       ///< if the rounded value is in [low, high]
  pass_through,  ///< everywhere
};

/// Quantizes and dequantizes x (see quant_params.h): forward scale * q,
/// backward the straight-through estimator. The scale gets no gradient.
/// Throws: ShapeError if a per-channel scale does not fit; ValueError if
/// `qparams` is empty, a scale is not finite and positive, low > high, or a
/// bound is beyond +-2^22.
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
};

/// Fake-quantizes with a trainable scale. Its gradient is the sum over the
/// tensor or channel of dy * slope * gradient_factor; the slope is q - x/scale
/// (or 0, see ScaleSlope) strictly inside the range and q at and beyond its
/// bounds. For a logarithm it is multiplied by scale * ln 2. `qparams` has
/// the other parameters, without a scale.
/// Source: Esser et al., "Learned step size quantization", arXiv 1902.08153,
/// equation 3; logarithm: Jain et al., "Trained quantization thresholds", arXiv
/// 1903.08066, section 4; without rounding: Choi et al., "PACT", arXiv
/// 1805.06085, section 3.
/// Throws: as above; ValueError if `qparams` has a scale or a factor is not
/// finite.
Variable fake_quantize(const Variable& x, const LearnedScale& scale,
                       const QuantParams& qparams,
                       StraightThrough mode = StraightThrough::clipped);

}  // namespace octet
