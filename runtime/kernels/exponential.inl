// exp of differences, for softmax.

typedef uint32_t BitLanes __attribute__((vector_size(kLanes * 4)));

// exp(x - shift) for x <= shift, within 1.2e-7 of the exact value (normal
// numbers). NaN propagates, including the NaN of equal infinities.
OCTET_INLINE Lanes exponential(Lanes x, Lanes shift) {
  // The difference and its rounding error, which at x - shift = -50 is already
  // 30 units in the last place of the result.
  Lanes d = x - shift;
  const Lanes minus_shift = d - x;
  Lanes lost = (x - (d - minus_shift)) - (shift + minus_shift);
  // Below -104 the result is 0, and the error term of infinities is NaN.
  const Lanes lowest = splat<Lanes>(-110.0f);
  d = at_least(d, lowest);
  lost = d > splat<Lanes>(-104.0f) ? lost : Lanes{};
  // d = n ln(2) + r; adding 1.5 * 2^23 rounds and leaves n in the low bits.
  const Lanes magic = splat<Lanes>(12582912.0f);
  const Lanes shifted = rounded(d * splat<Lanes>(1.44269504f)) + magic;
  const Lanes n = shifted - magic;
  // ln(2) in two parts; n times the first, of 15 bits, is exact.
  Lanes r = rounded(d - n * splat<Lanes>(0.693145751953125f));
  r = (r - n * splat<Lanes>(1.428606820309417e-6f)) + lost;
  // Taylor: |r| <= 0.35 leaves a remainder below 6e-9.
  Lanes p = splat<Lanes>(1.0f / 5040);
  p = p * r + splat<Lanes>(1.0f / 720);
  p = p * r + splat<Lanes>(1.0f / 120);
  p = p * r + splat<Lanes>(1.0f / 24);
  p = p * r + splat<Lanes>(1.0f / 6);
  p = p * r + splat<Lanes>(0.5f);
  p = p * (r * r) + r;
  p = p + splat<Lanes>(1.0f);
#ifdef __AVX512F__
  return scaled_by_power(p, n);
#else
  // Times 2^n in two factors, since n may be below the normal exponents.
  const IntLanes exponent = (IntLanes)shifted - 0x4B400000;
  const IntLanes half = exponent >> 1;
  const BitLanes low = (BitLanes)(half + 127) << 23;
  const BitLanes high = (BitLanes)(exponent - half + 127) << 23;
  return p * (Lanes)low * (Lanes)high;
#endif
}
