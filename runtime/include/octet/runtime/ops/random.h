// Noise for training. What is drawn is a function of the key of the random
// stream and of the shape alone: pass a stream of its own to each call. The
// same bits for any number of threads.
#pragma once

#include <octet/runtime/rng.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Sets each element to zero with probability `rate` and divides the others
/// by 1 - rate. With a noise shape, of x's rank and with sizes of x or 1,
/// elements along an axis of size 1 fall together: [n,1,1,c] drops channels.
/// Throws: ValueError for a rate outside [0,1); ShapeError.
Variable dropout(const Variable& x, float rate, const Rng& rng);
Variable dropout(const Variable& x, float rate, const Rng& rng,
                 const Shape& noise_shape);

/// Adds normal noise of mean 0. Throws: ValueError unless stddev is finite
/// and >= 0.
Variable gaussian_noise(const Variable& x, float stddev, const Rng& rng);

}  // namespace octet
