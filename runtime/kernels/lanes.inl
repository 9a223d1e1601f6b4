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
#ifdef OCTET_X86
  asm("" : "+x"(v));
#endif
  return v;
}

// NaN passes through both.
template <class V>
OCTET_INLINE V clip(V v, V low, V high) {
  v = low > v ? low : v;
  return high < v ? high : v;
}

template <class V>
OCTET_INLINE V magnitude(V v) {
  return v < splat<V>(0) ? -v : v;
}

// clip(round_half_even(v / scale), low, high): the bounds are integers, so
// clipping may come first, and adding 1.5 * 2^23 then rounds exactly.
template <class V>
OCTET_INLINE V codes(V v, V scale, V low, V high) {
  const V magic = splat<V>(12582912.0f);
  return (clip<V>(v / scale, low, high) + magic) - magic;
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
