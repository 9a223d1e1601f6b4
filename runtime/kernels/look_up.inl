// Tables of 256 bytes.

#ifdef __AVX2__
#ifdef __AVX512BW__
typedef __m512i Bytes;
OCTET_INLINE Bytes all_bytes(int value) {
  return _mm512_set1_epi8(static_cast<char>(value));
}
OCTET_INLINE Bytes repeated(__m128i sixteen) {
  return _mm512_maskz_broadcast_i32x4(0xffff, sixteen);
}
OCTET_INLINE Bytes sixteenth(Bytes table, Bytes index) {
  return _mm512_shuffle_epi8(table, _mm512_adds_epu8(index, all_bytes(0x70)));
}
OCTET_INLINE Bytes minus(Bytes a, Bytes b) { return _mm512_sub_epi8(a, b); }
#else
typedef __m256i Bytes;
OCTET_INLINE Bytes all_bytes(int value) {
  return _mm256_set1_epi8(static_cast<char>(value));
}
OCTET_INLINE Bytes repeated(__m128i sixteen) {
  return _mm256_broadcastsi128_si256(sixteen);
}
OCTET_INLINE Bytes sixteenth(Bytes table, Bytes index) {
  return _mm256_shuffle_epi8(table, _mm256_adds_epu8(index, all_bytes(0x70)));
}
OCTET_INLINE Bytes minus(Bytes a, Bytes b) { return _mm256_sub_epi8(a, b); }
#endif

// Each shuffle looks up 16 values and yields 0 for the others.
OCTET_INLINE void look_up_vectors(const uint8_t* table, const uint8_t* from,
                                  uint8_t* to, int64_t n) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(Bytes));
  Bytes parts[16];
  unroll<16>([&](auto i) OCTET_INLINE_LAMBDA {
    parts[i] = repeated(_mm_loadu_si128(
        reinterpret_cast<const __m128i*>(table + 16 * i.value)));
  });
  const Bytes sixteen = all_bytes(16);
  for (int64_t at = 0; at < n; at += kSize) {
    if (at + kSize > n) at = n - kSize;  // the last vector overlaps
    Bytes index, found = {};
    __builtin_memcpy(&index, from + at, sizeof(index));
    unroll<16>([&](auto i) OCTET_INLINE_LAMBDA {
      found |= sixteenth(parts[i], index);
      index = minus(index, sixteen);
    });
    __builtin_memcpy(to + at, &found, sizeof(found));
  }
}
#endif

void look_up(const uint8_t* table, const uint8_t* from, uint8_t* to,
             int64_t n) {
#ifdef __AVX2__
  if (n >= static_cast<int64_t>(sizeof(Bytes))) {
    look_up_vectors(table, from, to, n);
    return;
  }
#endif
  for (int64_t i = 0; i < n; ++i) to[i] = table[from[i]];
}
