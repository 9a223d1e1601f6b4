// Noise for training. Samples depend only on the key of the random stream and
// on the shape: pass a separate stream to each call. Bit-identical for any
// number of threads.
#pragma once

#include <octet/runtime/rng.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Sets each element to zero with probability `rate` and divides the others by
/// 1 - rate. `noise_shape` has x's rank; elements along its axes of size 1 are
/// dropped together: [n,1,1,c] drops channels.
/// Throws: ValueError for a rate outside [0,1); ShapeError.
Variable dropout(const Variable& x, float rate, const Rng& rng);
Variable dropout(const Variable& x, float rate, const Rng& rng,
                 const Shape& noise_shape);

/// Adds normal noise of mean 0. Throws: ValueError unless stddev is finite
/// and >= 0.
Variable gaussian_noise(const Variable& x, float stddev, const Rng& rng);

}  // namespace octet
