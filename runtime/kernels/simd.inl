// Vectors of OCTET_LANES floats, and scalar and vector versions of the basic
// operations of the kernels. Standard library functions are avoided: the linker
// could select the AVX-512 copy of an inline function for all callers.

#define OCTET_INLINE __attribute__((always_inline)) inline
#define OCTET_NOINLINE __attribute__((noinline))

constexpr int kLanes = OCTET_LANES;

typedef float Lanes __attribute__((vector_size(kLanes * 4)));
typedef int32_t IntLanes __attribute__((vector_size(kLanes * 4)));
// For memory access: unaligned, and may alias floats.
typedef float MemoryLanes
    __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
// For channel counts below a whole vector.
typedef float EightLanes __attribute__((vector_size(8 * 4)));
typedef float FourLanes __attribute__((vector_size(4 * 4)));
typedef int32_t EightInts __attribute__((vector_size(8 * 4)));
typedef int32_t FourInts __attribute__((vector_size(4 * 4)));

// Integer vector with as many lanes.
template <class V>
struct IntsOf {
  typedef IntLanes Type;
};
template <>
struct IntsOf<EightLanes> {
  typedef EightInts Type;
};
template <>
struct IntsOf<FourLanes> {
  typedef FourInts Type;
};

template <>
struct IntsOf<float> {
  typedef int32_t Type;
};

// Double vector with as many lanes.
template <class V>
struct DoublesOf {
  typedef double Type __attribute__((vector_size(sizeof(V) * 2)));
};
template <>
struct DoublesOf<float> {
  typedef double Type;
};
// Output by reference: too wide for a register, and so for a return value.
template <class V, class Doubles>
OCTET_INLINE void widen(V v, Doubles& to) {
  if constexpr (sizeof(V) == sizeof(float)) {
    to = v;
  } else {
    to = __builtin_convertvector(v, Doubles);
  }
}

template <class V>
constexpr int lanes_of() {
  return static_cast<int>(sizeof(V) / sizeof(float));
}

template <class V>
OCTET_INLINE V load(const float* p) {
  if constexpr (sizeof(V) == sizeof(float)) {
    return *p;
  } else if constexpr (sizeof(V) == sizeof(Lanes)) {
    return *reinterpret_cast<const MemoryLanes*>(p);
  } else {
    V v;
    __builtin_memcpy(&v, p, sizeof(V));
    return v;
  }
}
template <class V>
OCTET_INLINE V load(const int32_t* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}
OCTET_INLINE void store(float* p, float v) { *p = v; }
OCTET_INLINE void store(float* p, Lanes v) {
  *reinterpret_cast<MemoryLanes*>(p) = v;
}
template <class V>
OCTET_INLINE void store(float* p, V v) {
  __builtin_memcpy(p, &v, sizeof(V));
}

// Returns the first `count` <= kLanes floats, followed by `rest`.
OCTET_INLINE Lanes load_first(const float* p, int64_t count, float rest) {
#ifdef __AVX512F__
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  return (Lanes)_mm512_mask_loadu_ps(_mm512_set1_ps(rest), mask, p);
#else
  float values[kLanes];
  for (int i = 0; i < kLanes; ++i) values[i] = i < count ? p[i] : rest;
  return load<Lanes>(values);
#endif
}
// Stores the first `count` <= kLanes floats.
OCTET_INLINE void store_first(float* p, int64_t count, Lanes v) {
#ifdef __AVX512F__
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  _mm512_mask_storeu_ps(p, mask, (__m512)v);
#else
  float values[kLanes];
  store(values, v);
  for (int i = 0; i < kLanes; ++i) {
    if (i < count) p[i] = values[i];
  }
#endif
}

template <class V>
OCTET_INLINE V splat(float v) {
  if constexpr (sizeof(V) == sizeof(float)) {
    return v;
  } else {
    return v - V{};
  }
}

// Optimization barrier: prevents contraction of a product with a later sum, and
// movement of the product away from its sum.
template <class V>
OCTET_INLINE V rounded(V v) {
#if defined(OCTET_X86)
  asm("" : "+x"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#else
  asm("" : "+m"(v));
#endif
  return v;
}

// sum + x * y, rounded once if the processor has FMA. The scalar version is
// explicit: a compiler might vectorize the products of several rows and then
// add them one by one.
template <class V>
OCTET_INLINE V plus_product(V sum, V x, V y) {
  return sum + x * y;
}
OCTET_INLINE float plus_product(float sum, float x, float y) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(x, y, sum);
#else
  return sum + x * y;
#endif
}

// Maximum or minimum of v and bound; NaN in v propagates. AVX-512 intrinsics,
// since compilers do not turn a comparison and a select into one instruction;
// masked, since g++ 12 warns about an undefined register in the plain ones.
template <class V>
OCTET_INLINE V at_least(V v, V bound) {
  return bound > v ? bound : v;
}
template <class V>
OCTET_INLINE V at_most(V v, V bound) {
  return bound < v ? bound : v;
}
#ifdef __AVX512F__
// Returns v * 2^n, rounded once, for an integer n.
OCTET_INLINE Lanes scaled_by_power(Lanes v, Lanes n) {
  return (Lanes)_mm512_maskz_scalef_ps(0xFFFF, (__m512)v, (__m512)n);
}

OCTET_INLINE Lanes at_least(Lanes v, Lanes bound) {
  return (Lanes)_mm512_maskz_max_ps(0xFFFF, (__m512)bound, (__m512)v);
}
OCTET_INLINE Lanes at_most(Lanes v, Lanes bound) {
  return (Lanes)_mm512_maskz_min_ps(0xFFFF, (__m512)bound, (__m512)v);
}
OCTET_INLINE EightLanes at_least(EightLanes v, EightLanes bound) {
  return (EightLanes)_mm256_max_ps((__m256)bound, (__m256)v);
}
OCTET_INLINE EightLanes at_most(EightLanes v, EightLanes bound) {
  return (EightLanes)_mm256_min_ps((__m256)bound, (__m256)v);
}
OCTET_INLINE FourLanes at_least(FourLanes v, FourLanes bound) {
  return (FourLanes)_mm_max_ps((__m128)bound, (__m128)v);
}
OCTET_INLINE FourLanes at_most(FourLanes v, FourLanes bound) {
  return (FourLanes)_mm_min_ps((__m128)bound, (__m128)v);
}
#endif

// NaN propagates.
template <class V>
OCTET_INLINE V clip(V v, V low, V high) {
  return at_most(at_least(v, low), high);
}

template <class V>
OCTET_INLINE V magnitude(V v) {
  if constexpr (sizeof(V) == sizeof(float)) {
    return __builtin_fabsf(v);
  } else {
    return (V)((typename IntsOf<V>::Type)v & 0x7fffffff);
  }
}

// Returns whether a > b or NaN in any lane.
OCTET_INLINE bool any_above(float a, float b) { return !(a <= b); }
#ifdef __AVX512F__
OCTET_INLINE bool any_above(Lanes a, Lanes b) {
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_NLE_UQ) != 0;
}
#endif
#ifdef __AVX__
OCTET_INLINE bool any_above(EightLanes a, EightLanes b) {
  return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_NLE_UQ)) !=
         0;
}
#endif
OCTET_INLINE bool any_above(FourLanes a, FourLanes b) {
#ifdef __SSE__
  return _mm_movemask_ps(_mm_cmpnle_ps((__m128)a, (__m128)b)) != 0;
#else
  const auto at_most = a <= b;
  return (at_most[0] & at_most[1] & at_most[2] & at_most[3]) == 0;
#endif
}

// Running maximum of magnitudes per lane. NaN wins, since the bits of
// magnitudes are ordered like the magnitudes.
template <class V>
struct LargestMagnitude {
  typename IntsOf<V>::Type bits = {};
  OCTET_INLINE void add(V v) {
    const auto other = (typename IntsOf<V>::Type)magnitude<V>(v);
#ifdef __AVX512F__
    if constexpr (sizeof(V) == 64) {
      bits = (typename IntsOf<V>::Type)_mm512_maskz_max_epi32(
          0xFFFF, (__m512i)bits, (__m512i)other);
    } else
#endif
      bits = other > bits ? other : bits;
  }
  OCTET_INLINE bool above(V bound) const { return any_above((V)bits, bound); }
};
template <>
struct LargestMagnitude<float> {
  float largest = 0;
  OCTET_INLINE void add(float v) {
    const bool is_nan = any_above(largest, largest);  // NaN is kept
    if (!is_nan && any_above(magnitude(v), largest)) largest = magnitude(v);
  }
  OCTET_INLINE bool above(float bound) const {
    return any_above(largest, bound);
  }
};

// Quantized values in memory: bytes q + zero_byte, or q in 16 bits.
typedef uint8_t CodeByte;
typedef int16_t __attribute__((may_alias)) CodeShort;  // bytes always may alias

// The stored value of q = 0.
template <class Code>
constexpr int zero_code(int zero_byte) {
  return sizeof(Code) == 1 ? zero_byte : 0;
}

// Quantization parameters for codes(). v / scale certainly rounds to the
// integer nearest to v * inverse if the two are at most `sure` apart: slightly
// below 0.5, since v * inverse and v / scale are within three roundings of each
// other, and 0.5 if both are equal (scale is a power of two). -1 (never sure)
// if the reciprocal may overflow or lose bits.
template <class V>
struct Rounding {
  V scale, inverse, low, high, sure;
};
template <class V>
OCTET_INLINE Rounding<V> rounding(V scale, float low, float high) {
  const float largest = high > -low ? high : -low;
  typename IntsOf<V>::Type bits;
  __builtin_memcpy(&bits, &scale, sizeof(bits));
  V sure = (bits & 0x7fffff) == 0 ? splat<V>(0.5f)
                                  : splat<V>(0.5f - largest * 0x1p-21f);
  sure = scale > splat<V>(0x1p-100f) ? sure : splat<V>(-1);
  sure = scale < splat<V>(0x1p100f) ? sure : splat<V>(-1);
  return {scale, splat<V>(1) / scale, splat<V>(low), splat<V>(high), sure};
}

// Adding this rounds values below 2^22 to integers, ties to even, and leaves
// the integer in the low bits of the sum.
constexpr float kToInteger = 12582912.0f;  // 1.5 * 2^23

// Returns clip(round_half_even(v / scale), low, high) + kToInteger. The bounds
// are integers, so clipping comes first. Division is ten times slower than
// multiplication and only used near ties. A NaN sets `nan` and returns NaN.
template <class V>
OCTET_INLINE V shifted_codes(V v, const Rounding<V>& g, bool& nan) {
  const V magic = splat<V>(kToInteger);
  const V quotient = clip<V>(v * g.inverse, g.low, g.high);
  const V sum = quotient + magic;
  if (__builtin_expect(
          any_above(magnitude<V>(quotient - (sum - magic)), g.sure), 0)) {
    const V exact = v / g.scale;
    nan |= any_above(exact, exact);
    return clip<V>(exact, g.low, g.high) + magic;
  }
  return sum;
}
// Returns shifted_codes() + zero without the division. Exact if the distances
// in `off` are at most g.sure. An odd `zero` would break ties the other way, so
// prepare() then sets `sure` below 0.5.
template <class V>
OCTET_INLINE V untied_codes(V v, const Rounding<V>& g, LargestMagnitude<V>& off,
                            int zero = 0) {
  const V magic = splat<V>(kToInteger + static_cast<float>(zero));
  const V quotient = clip<V>(v * g.inverse, g.low, g.high);
  const V sum = quotient + magic;
#ifdef __AVX512DQ__
  if constexpr (sizeof(V) == 64) {
    off.add((V)_mm512_maskz_reduce_ps(0xFFFF, (__m512)quotient, 0));
    return sum;
  }
#endif
  off.add(quotient - (sum - magic));
  return sum;
}
template <class V>
OCTET_INLINE V codes(V v, const Rounding<V>& g) {
  bool nan = false;  // NaN propagates
  return shifted_codes<V>(v, g, nan) - splat<V>(kToInteger);
}

// Returns g if low < y < high, otherwise 0.
OCTET_INLINE float masked(float g, float y, float low, float high) {
  // Without the barrier, a product of the result moves into the branch and is
  // rounded before its sum, unlike in vectors.
  return rounded(y > low && y < high ? g : 0.0f);
}
template <class V>
OCTET_INLINE V masked(V g, V y, V low, V high) {
  const auto pass = (y > low) & (y < high);
  return pass ? g : V{};
}

// Returns sum + g * slope at y (see SlopeParams), rounded twice, for the same
// bits without fused multiply-add. Near ties, q may be the neighbor of the
// quantized value: the slope jumps there.
template <class V>
OCTET_INLINE V plus_slope(V sum, V g, V y, const SlopeParams& s) {
  const V x = rounded<V>(clip<V>(y, splat<V>(s.low), splat<V>(s.high)) *
                         splat<V>(s.inverse));
  const V low = splat<V>(s.code_low), high = splat<V>(s.code_high);
  const V magic = splat<V>(kToInteger);
  const V q = (clip<V>(x, low, high) + magic) - magic;
  const V inner = (q - x) * splat<V>(s.between);
  const V slope = rounded<V>((x > low) & (x < high) ? inner : q);
  return sum + rounded<V>(g * slope);
}

// Operation on a finished sum (see Epilogue).
enum class Finish { store, statistics, mask };

template <int... I>
struct Indices {};
template <int N, int... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I>
struct MakeIndices<0, I...> {
  using Type = Indices<I...>;
};
template <int N>
struct Index {
  static constexpr int value = N;
  constexpr operator int() const { return N; }
};

// Calls f(0), f(1), ... with constant arguments. Accumulators indexed by them
// stay in registers, which a loop would not guarantee.
template <class F, int... I>
OCTET_INLINE void unroll_over(Indices<I...>, F f) {
  (f(Index<I>{}), ...);
}
template <int N, class F>
OCTET_INLINE void unroll(F f) {
  unroll_over(typename MakeIndices<N>::Type{}, f);
}

// Calls body(vector, c) for blocks of channels: whole vectors, then narrower
// ones.
template <class Body>
OCTET_INLINE void for_channel_blocks(int64_t channels, Body body) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) body(Lanes{}, c);
  if constexpr (kLanes > 8) {
    for (; c + 8 <= channels; c += 8) body(EightLanes{}, c);
  }
  if constexpr (kLanes > 4) {
    for (; c + 4 <= channels; c += 4) body(FourLanes{}, c);
  }
  for (; c < channels; ++c) body(0.0f, c);
}
