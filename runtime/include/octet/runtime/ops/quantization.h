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

}  // namespace octet
