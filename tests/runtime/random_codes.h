// Random quantized values, for comparison with exact integer sums.
#pragma once

#include <cmath>

#include <octet/runtime/quantization.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/tensor.h>

namespace octet {

/// Random quantized values of the range, halved: exact for scale 0.5.
inline Tensor random_codes(const Shape& shape, uint64_t seed,
                           const QuantParams& qparams) {
  Rng rng(seed);
  Tensor t(shape);
  rng.fill_uniform(t, static_cast<float>(qparams.low) - 0.49f,
                   static_cast<float>(qparams.high) + 0.49f);
  for (float& v : t.f32()) v = std::nearbyint(v) * 0.5f;
  return t;
}

}  // namespace octet
