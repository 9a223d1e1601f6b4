// Rounding to integer grids with the straight-through estimator.
#pragma once

#include <octet/runtime/grid.h>
#include <octet/runtime/variable.h>

namespace octet {

/// What the gradient of fake_quantize passes through.
enum class StraightThrough {
  clipped,       ///< only where the rounded code lies in [low, high]
  pass_through,  ///< everywhere
};

/// x rounded to the grid (see grid.h): forward scale * code, backward the
/// straight-through estimator. The scale gets no gradient.
/// Throws: ShapeError if a per-channel scale does not fit; ValueError if the
/// grid is empty or a scale is not finite and positive.
Variable fake_quantize(const Variable& x, const Grid& grid,
                       StraightThrough mode = StraightThrough::clipped);

/// What values between the ends of the grid give the gradient of its scale.
enum class ScaleSlope {
  rounding,  ///< their rounding error in steps, code - x/scale
  none,      ///< nothing: only what is clipped moves the scale
};

/// A scale that learns.
struct LearnedScale {
  Variable scale;             ///< f32 [] or [c], finite and > 0
  float gradient_factor = 1;  ///< of its gradient
  /// Whether `scale` holds the binary logarithm of the scale, of any sign.
  bool log2 = false;
  ScaleSlope slope = ScaleSlope::rounding;
};

/// The same with a scale that takes a gradient, the sum over its tensor or
/// channel of dy * slope * gradient_factor, where the slope is code - x/scale
/// (or nothing) strictly between the ends of the grid, and the code at and
/// beyond them; of a logarithm, that times scale * ln 2. `grid` says the rest,
/// without a scale.
/// Source: Esser et al., "Learned step size quantization", arXiv 1902.08153,
/// equation 3; the logarithm, Jain et al., "Trained quantization thresholds",
/// arXiv 1903.08066, section 4; without rounding, Choi et al., "PACT", arXiv
/// 1805.06085, section 3. Throws: as above; ValueError for a grid with a scale,
/// or a factor that is not finite.
Variable fake_quantize(const Variable& x, const LearnedScale& scale,
                       const Grid& grid,
                       StraightThrough mode = StraightThrough::clipped);

}  // namespace octet
