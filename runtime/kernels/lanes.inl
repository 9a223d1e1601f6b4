// Vectors of OCTET_LANES floats and the scalar and vector forms of the few
// operations that the kernels are made of. No standard library here: the
// linker could keep an AVX-512 copy of an inline function for everyone.

#define OCTET_INLINE __attribute__((always_inline)) inline
#define OCTET_NOINLINE __attribute__((noinline))

constexpr int kLanes = OCTET_LANES;

typedef float Lanes __attribute__((vector_size(kLanes * 4)));
typedef int32_t IntLanes __attribute__((vector_size(kLanes * 4)));
// Memory is addressed through this one: unaligned, and it may alias floats.
typedef float MemoryLanes
    __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
// For channels that do not fill a whole vector.
typedef float EightLanes __attribute__((vector_size(8 * 4)));
typedef float FourLanes __attribute__((vector_size(4 * 4)));
typedef int32_t EightInts __attribute__((vector_size(8 * 4)));
typedef int32_t FourInts __attribute__((vector_size(4 * 4)));

// Integers of as many lanes.
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

// Doubles of as many lanes.
template <class V>
struct DoublesOf {
  typedef double Type __attribute__((vector_size(sizeof(V) * 2)));
};
template <>
struct DoublesOf<float> {
  typedef double Type;
};
// By reference: no register holds so many, which functions could return.
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
template <class V>
OCTET_INLINE V splat(float v) {
  if constexpr (sizeof(V) == sizeof(float)) {
    return v;
  } else {
    return v - V{};
  }
}

// Keeps a product from being contracted with a sum that takes it, or the other
// way round from being moved away from it.
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

// sum + x * y, rounded once on processors that can. Written out for single
// numbers: a compiler might multiply those of several rows at once, and add
// them one by one.
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

// The bound where it is above v, or below: NaN in v stays. One instruction,
// which compilers of AVX-512 do not make of a comparison and a choice; the
// plain intrinsics of g++ 12 warn of a register that they leave undefined.
template <class V>
OCTET_INLINE V at_least(V v, V bound) {
  return bound > v ? bound : v;
}
template <class V>
OCTET_INLINE V at_most(V v, V bound) {
  return bound < v ? bound : v;
}
#ifdef __AVX512F__
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

// NaN passes through both.
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

// Whether any lane is not at most the other's: NaN counts as more.
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

// The largest magnitude of many numbers, lane by lane: NaN is above all others,
// as the bits of magnitudes are ordered like them.
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
    const bool is_nan = any_above(largest, largest);  // and stays
    if (!is_nan && any_above(magnitude(v), largest)) largest = magnitude(v);
  }
  OCTET_INLINE bool above(float bound) const {
    return any_above(largest, bound);
  }
};

// Codes in memory: bytes of code + zero_byte, or 16 bits.
typedef uint8_t CodeByte;
typedef int16_t __attribute__((may_alias)) CodeShort;  // bytes always may

// Code 0.
template <class Code>
constexpr int zero_code(int zero_byte) {
  return sizeof(Code) == 1 ? zero_byte : 0;
}

// A grid of integers, for codes(). `sure` is how far from an integer v*inverse
// may lie for v/scale to have the same neighbour: a little less than a half,
// since both are within three roundings of each other, but a half where they
// are equal, since the scale is a power of two. Nowhere where the reciprocal
// may overflow or lose bits.
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

// Adding it rounds values below 2^22 to integers, halves to even, which then
// are the low bits of the sum.
constexpr float kToInteger = 12582912.0f;  // 1.5 * 2^23

// clip(round_half_even(v / scale), low, high) + kToInteger: the bounds are
// integers, so clipping may come first. Dividing takes an order of magnitude
// longer than multiplying, so it is done near ties only. `nan` is set if there
// is one, and NaN is its sum.
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
// The same without the division and plus `zero`, right where all are within
// g.sure of an integer: ties are not, where zero is odd and would turn them.
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
  bool nan = false;  // passes through
  return shifted_codes<V>(v, g, nan) - splat<V>(kToInteger);
}

// g where low < y < high, else 0.
OCTET_INLINE float masked(float g, float y, float low, float high) {
  // Closed off, or a product that takes it becomes part of the branch and is
  // rounded before it is added, which vectors do not do.
  return rounded(y > low && y < high ? g : 0.0f);
}
template <class V>
OCTET_INLINE V masked(V g, V y, V low, V high) {
  const auto pass = (y > low) & (y < high);
  return pass ? g : V{};
}

// What happens to a sum once it is complete (see Epilogue).
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

// f(0), f(1), ... with constant arguments: accumulators indexed by them stay
// in registers, which a loop would not guarantee.
template <class F, int... I>
OCTET_INLINE void unroll_over(Indices<I...>, F f) {
  (f(Index<I>{}), ...);
}
template <int N, class F>
OCTET_INLINE void unroll(F f) {
  unroll_over(typename MakeIndices<N>::Type{}, f);
}

// body(vector, c) for blocks of channels: whole vectors, then narrower ones.
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
