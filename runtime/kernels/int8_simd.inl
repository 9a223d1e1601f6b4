// Vectors of quantized values, stored as bytes or in 16 bits (see
// StorageFormat).

template <int Bytes, int N>
struct CodeVector {
  typedef uint8_t Type __attribute__((vector_size(N)));
};
template <int N>
struct CodeVector<2, N> {
  typedef int16_t Type __attribute__((vector_size(2 * N)));
};

// Returns the low bits of each element. GCC 12 would narrow most vectors
// element by element.
template <class Codes, class Ints>
OCTET_INLINE Codes narrowed(Ints bits) {
  Codes codes;
#ifdef __AVX512VL__
  if constexpr (sizeof(Ints) == 64 && sizeof(Codes) == 16) {
#ifdef __AVX512VBMI__  // one instruction in place of two
    const __m512i low = _mm512_maskz_permutexvar_epi8(
        0xffff,
        _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x3c383430,
                         0x2c282420, 0x1c181410, 0x0c080400),
        (__m512i)bits);
    __builtin_memcpy(&codes, &low, sizeof(codes));
    return codes;
#else
    return (Codes)_mm512_maskz_cvtepi32_epi8(0xffff, (__m512i)bits);
#endif
  } else if constexpr (sizeof(Ints) == 64) {
    return (Codes)_mm512_maskz_cvtepi32_epi16(0xffff, (__m512i)bits);
  } else if constexpr (sizeof(Ints) == 32 && sizeof(Codes) == 8) {
    const __m128i low = _mm256_maskz_cvtepi32_epi8(0xff, (__m256i)bits);
    __builtin_memcpy(&codes, &low, sizeof(codes));
  } else if constexpr (sizeof(Ints) == 32) {
    return (Codes)_mm256_maskz_cvtepi32_epi16(0xff, (__m256i)bits);
  } else
#elif defined(__AVX2__)
  if constexpr (sizeof(Ints) == 32 && sizeof(Codes) == 8) {
    const __m256i each = _mm256_shuffle_epi8(
        (__m256i)bits,
        _mm256_broadcastsi128_si256(_mm_setr_epi8(
            0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)));
    const __m128i low = _mm_unpacklo_epi32(_mm256_castsi256_si128(each),
                                           _mm256_extracti128_si256(each, 1));
    __builtin_memcpy(&codes, &low, sizeof(codes));
  } else if constexpr (sizeof(Ints) == 32) {
    const __m256i each = _mm256_shuffle_epi8(
        (__m256i)bits,
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1,
                                                  -1, -1, -1, -1, -1, -1, -1)));
    return (Codes)_mm256_castsi256_si128(
        _mm256_permute4x64_epi64(each, 0 | 2 << 2));
  } else
#endif
  {
    codes = __builtin_convertvector(bits, Codes);
  }
  return codes;
}

// Stores the results of shifted_codes() or untied_codes(): their low bits are
// q.
template <class V, class Code>
OCTET_INLINE void store_low_bits(Code* out, V shifted) {
  using Codes = typename CodeVector<sizeof(Code), lanes_of<V>()>::Type;
  const auto codes = narrowed<Codes>((typename IntsOf<V>::Type)shifted);
  __builtin_memcpy(out, &codes, sizeof(codes));
}

// The zero offset is added after rounding: before it, an odd offset would break
// ties the other way.
template <class V, class Code>
OCTET_INLINE void store_codes(Code* out, V shifted, int zero_byte) {
  const int zero = zero_code<Code>(zero_byte);
  if constexpr (lanes_of<V>() == 1) {
    *out = static_cast<Code>(static_cast<int>(shifted - kToInteger) + zero);
  } else {
    store_low_bits<V>(out, (V)((typename IntsOf<V>::Type)shifted + zero));
  }
}

// Widens to 32-bit integers. GCC 12 would widen vectors of four element by
// element, and warns about the unmasked intrinsics.
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

// Loads quantized values as floats.
template <class V, class Code>
OCTET_INLINE V load_codes(const Code* from, int zero_byte) {
  const int zero = zero_code<Code>(zero_byte);
  if constexpr (lanes_of<V>() == 1) {
    return static_cast<float>(*from - zero);
  } else {
    using Ints = typename IntsOf<V>::Type;
    typename CodeVector<sizeof(Code), lanes_of<V>()>::Type codes;
    __builtin_memcpy(&codes, from, sizeof(codes));
    return __builtin_convertvector(widened<Ints>(codes) - zero, V);
  }
}
