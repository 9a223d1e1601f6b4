// Vectors of integers of at most 8 bits, in memory as bytes of code + 128 or in
// 16 bits (see Stored).

typedef uint8_t CodeByte;
typedef int16_t __attribute__((may_alias)) CodeShort;  // bytes always may

// Of codes that are `bytes` wide.
constexpr int code_bias(int bytes) { return bytes == 1 ? 128 : 0; }

template <int Bytes, int N>
struct CodeVector {
  typedef uint8_t Type __attribute__((vector_size(N)));
};
template <int N>
struct CodeVector<2, N> {
  typedef int16_t Type __attribute__((vector_size(2 * N)));
};

// Of shifted_codes().
template <class V, class Code>
OCTET_INLINE void store_codes(Code* out, V shifted) {
  constexpr int kBias = code_bias(sizeof(Code));
  if constexpr (lanes_of<V>() == 1) {
    const int code = static_cast<int>(shifted - kToInteger);
    *out = static_cast<Code>(code + kBias);
  } else {
    using Codes = typename CodeVector<sizeof(Code), lanes_of<V>()>::Type;
    const auto bits = (typename IntsOf<V>::Type)shifted ^ kBias;
    const Codes codes = __builtin_convertvector(bits, Codes);
    __builtin_memcpy(out, &codes, sizeof(codes));
  }
}

// As 32-bit integers. GCC 12 would widen by four element by element, and warns
// of the intrinsics without a mask.
template <class Ints, class Codes>
OCTET_INLINE Ints widened(Codes codes) {
#ifdef __AVX512F__
  if constexpr (sizeof(Ints) == 64 && sizeof(Codes) == 16) {
    return (Ints)_mm512_maskz_cvtepu8_epi32(0xffff, (__m128i)codes);
  } else if constexpr (sizeof(Ints) == 64) {
    return (Ints)_mm512_maskz_cvtepi16_epi32(0xffff, (__m256i)codes);
  } else
#endif
#ifdef __AVX2__
      if constexpr (sizeof(Ints) == 32 && sizeof(Codes) == 8) {
    return (Ints)_mm256_cvtepu8_epi32(_mm_set_epi64x(0, (long long)codes));
  } else if constexpr (sizeof(Ints) == 32) {
    return (Ints)_mm256_cvtepi16_epi32((__m128i)codes);
  } else
#endif
    return __builtin_convertvector(codes, Ints);
}

// The codes, as floats.
template <class V, class Code>
OCTET_INLINE V load_codes(const Code* from) {
  constexpr int kBias = code_bias(sizeof(Code));
  if constexpr (lanes_of<V>() == 1) {
    return static_cast<float>(*from - kBias);
  } else {
    using Ints = typename IntsOf<V>::Type;
    typename CodeVector<sizeof(Code), lanes_of<V>()>::Type codes;
    __builtin_memcpy(&codes, from, sizeof(codes));
    return __builtin_convertvector(widened<Ints>(codes) - kBias, V);
  }
}
