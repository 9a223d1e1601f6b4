// Depthwise convolution of quantized values. A word packs the values of a few
// lines at one pixel and channel, so that one instruction multiplies the taps
// of a column. The words of a column serve all windows that contain it, and two
// output lines.

// Packs channels [c, c + lanes) at one pixel of kCodesPerWord lines. At most
// `most` channels are readable.
template <class V>
OCTET_INLINE typename IntsOf<V>::Type joined_lines(
    const Code* const (&lines)[kCodesPerWord], int64_t at, int64_t most) {
  using Ints = typename IntsOf<V>::Type;
  using Codes = typename CodeVector<sizeof(Code), lanes_of<V>()>::Type;
#if defined(OCTET_VNNI) && defined(__AVX512BW__)
  if constexpr (sizeof(Ints) == 64) {
    // One line per quarter; then four channels per quarter; then words.
    __m512i words = _mm512_castsi128_si512(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(lines[0] + at)));
    words = _mm512_inserti32x4(
        words, _mm_loadu_si128(reinterpret_cast<const __m128i*>(lines[1] + at)),
        1);
    words = _mm512_inserti32x4(
        words, _mm_loadu_si128(reinterpret_cast<const __m128i*>(lines[2] + at)),
        2);
    words = _mm512_inserti32x4(
        words, _mm_loadu_si128(reinterpret_cast<const __m128i*>(lines[3] + at)),
        3);
    const __m512i quarters =
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    words = _mm512_maskz_permutexvar_epi32(0xffff, quarters, words);
    const __m512i bytes = _mm512_maskz_broadcast_i32x4(
        0xffff,
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    return (Ints)_mm512_shuffle_epi8(words, bytes);
  }
#endif
#ifdef __AVX2__
  if constexpr (sizeof(Ints) == 32 && kCodesPerWord == 4) {
    __m128i line[4];
    unroll<4>([&](auto i) OCTET_INLINE_LAMBDA {
      line[i] =
          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(lines[i] + at));
    });
    const __m128i first = _mm_unpacklo_epi8(line[0], line[1]);
    const __m128i last = _mm_unpacklo_epi8(line[2], line[3]);
    return (Ints)_mm256_set_m128i(_mm_unpackhi_epi16(first, last),
                                  _mm_unpacklo_epi16(first, last));
  }
  if constexpr (sizeof(Ints) == 32 && kCodesPerWord == 2) {
    __m128i line[2];
    unroll<2>([&](auto i) OCTET_INLINE_LAMBDA {
      line[i] =
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(lines[i] + at));
    });
    return (Ints)_mm256_set_m128i(_mm_unpackhi_epi16(line[0], line[1]),
                                  _mm_unpacklo_epi16(line[0], line[1]));
  }
#endif
  Ints words = {};
  unroll<kCodesPerWord>([&](auto i) OCTET_INLINE_LAMBDA {
    Codes codes = {};
    if (lanes_of<V>() > 4 || most >= 4) {
      __builtin_memcpy(&codes, lines[i] + at, sizeof(codes));
    } else {
      __builtin_memcpy(&codes, lines[i] + at, sizeof(CodeWord));
    }
    constexpr int kBits = 8 * static_cast<int>(sizeof(Code));
    constexpr int kMask = sizeof(Code) == 1 ? 0xff : 0xffff;
    words |= (widened<Ints>(codes) & kMask) << (kBits * i.value);
  });
  return words;
}

// Computes the sums of R output lines, `sums_line` apart, and `count` <= T
// columns, of channels [c, c + lanes). `first` is the offset of their inputs in
// the lines.
template <class V, int R, int T>
OCTET_NOINLINE void depthwise_code_tile(const CodeDepthwise& p,
                                        const Code* const* lines, int64_t first,
                                        int64_t c, int64_t count, int32_t* sums,
                                        int64_t sums_line) {
  using Ints = typename IntsOf<V>::Type;
  Ints columns[CodeDepthwise::kMostColumns];
  Ints acc[R][T];
  const Ints start = load<Ints>(p.start + c);
  unroll<R * T>([&](auto i) OCTET_INLINE_LAMBDA { acc[i / T][i % T] = start; });
  const int64_t pixel = p.pixel, most = p.pixel - c;
  const int64_t stride = p.stride_w, dilation = p.dilation_w;
  const int64_t taps = p.kw, row = p.weight_row;
  const int64_t read = (count - 1) * stride + (taps - 1) * dilation + 1;
  const int64_t reach = (T - 1) * stride + (taps - 1) * dilation + 1;
  for (int64_t g = 0; g < p.groups[R - 1]; ++g, lines += kCodesPerWord) {
    const Code* at[kCodesPerWord];
    unroll<kCodesPerWord>(
        [&](auto i) OCTET_INLINE_LAMBDA { at[i] = lines[i] + first + c; });
    int64_t x = 0;
#pragma GCC unroll 1
    for (; x < read; ++x) columns[x] = joined_lines<V>(at, x * pixel, most);
    for (; x < reach; ++x) columns[x] = Ints{};
    const CodeWord* weights = p.weights + g * p.lines_packed * taps * row + c;
#pragma GCC unroll 1
    for (int64_t j = 0; j < taps; ++j, weights += row) {
      Ints w[R];
      unroll<R>([&](auto r) OCTET_INLINE_LAMBDA {
        w[r] = load<Ints>(weights + r * taps * row);
      });
      const Ints* words = columns + j * dilation;
      unroll<T>([&](auto t) OCTET_INLINE_LAMBDA {
        const Ints word = words[t * stride];
        unroll<R>([&](auto r) OCTET_INLINE_LAMBDA {
          add_words(acc[r][t], word, w[r]);
        });
      });
    }
  }
  unroll<R * T>([&](auto i) OCTET_INLINE_LAMBDA {
    if (i % T < count) {
      __builtin_memcpy(sums + (i / T) * sums_line + (i % T) * lanes_of<V>(),
                       &acc[i / T][i % T], sizeof(Ints));
    }
  });
}

// Pixels whose sums are buffered at once.
constexpr int64_t kSumsAtOnce = 128;

// Output lines [row, last) and columns [col, col + cols).
struct DepthwiseBlock {
  int64_t row, last, col, cols;
};

// Computes R output lines from `row` on of channels [c, c + lanes).
template <class V, int R>
OCTET_INLINE void depthwise_code_lines(const CodeDepthwise& p, int64_t row,
                                       int64_t col, int64_t cols, int64_t c,
                                       int32_t* sums) {
  constexpr int T = CodeDepthwise::kCols, kStep = lanes_of<V>();
  const Code* image = static_cast<const Code*>(p.image);
  const Code* lines[CodeDepthwise::kMostLines];
  for (int64_t i = 0; i < p.groups[R - 1] * kCodesPerWord; ++i) {
    // Lines beyond the last one have weights of zero.
    const int64_t line = row * p.stride_h + i * p.dilation_h;
    lines[i] = image + (line < p.lines ? line : p.lines - 1) * p.line;
  }
  for (int64_t t = 0; t < cols; t += T, sums += T * kStep) {
    const int64_t first = (col + t) * p.stride_w * p.pixel;
    const int64_t count = cols - t < T ? cols - t : T;
    if (count > T / 2) {
      depthwise_code_tile<V, R, T>(p, lines, first, c, count, sums,
                                   cols * kStep);
    } else {
      depthwise_code_tile<V, R, T / 2>(p, lines, first, c, count, sums,
                                       cols * kStep);
    }
  }
}

// Whether the rows of `cols` pixels of all images of an epilogue are adjacent.
template <bool Fuse>
OCTET_INLINE bool adjacent_rows(const Epilogue& e, int64_t cols) {
  if constexpr (!Fuse) {
    return e.line == cols * e.pixel;
  } else {
    const FusedEpilogue& f = *e.fused;
    bool adjacent = f.terms < 2 || f.other_line == cols * f.other_pixel;
    for (int i = 0; i < f.output_count; ++i) {
      adjacent &= f.outputs[i].line == cols * f.outputs[i].pixel;
    }
    return adjacent;
  }
}

// Applies the epilogue to the sums of a block, of `channels` channels from c
// on.
template <bool Fuse>
OCTET_INLINE void finish_block(const int32_t* sums, const DepthwiseBlock& b,
                               bool adjacent, int64_t c, int channels,
                               int width, const Epilogue& e) {
  const int64_t rows = b.last - b.row;
  const int64_t pixels = adjacent ? rows * b.cols : b.cols;
  for (int64_t row = b.row; row < (adjacent ? b.row + 1 : b.last); ++row) {
    for (int64_t t = 0; t < pixels; t += kMaxRows1) {
      const int64_t count = pixels - t < kMaxRows1 ? pixels - t : kMaxRows1;
      finish_tile<Fuse>(sums, {row, b.col + t, count, width}, c, channels, e);
      sums += count * width;
    }
  }
}

// Computes a block, in pairs of lines if `pairs`.
template <bool Fuse>
OCTET_INLINE void depthwise_code_block(const CodeDepthwise& p,
                                       const Epilogue& e,
                                       const DepthwiseBlock& b, bool pairs) {
  alignas(64) int32_t sums[kSumsAtOnce * kLanes];
  const bool adjacent = b.cols == p.cols && adjacent_rows<Fuse>(e, p.cols);
  int64_t c = 0;
  const auto run = [&](auto v) OCTET_INLINE_LAMBDA {
    using V = decltype(v);
    constexpr int kStep = lanes_of<V>();
    // The last vector may have fewer channels.
    for (; c + kStep <= p.channels || (kStep == 4 && c < p.channels);
         c += kStep) {
      int32_t* to = sums;
      int64_t row = b.row;
      for (; pairs && row + 2 <= b.last; row += 2, to += 2 * b.cols * kStep) {
        depthwise_code_lines<V, 2>(p, row, b.col, b.cols, c, to);
      }
      for (; row < b.last; ++row, to += b.cols * kStep) {
        depthwise_code_lines<V, 1>(p, row, b.col, b.cols, c, to);
      }
      const int64_t channels = p.channels - c;
      finish_block<Fuse>(sums, b, adjacent, c,
                         static_cast<int>(channels < kStep ? channels : kStep),
                         kStep, e);
    }
  };
  run(Lanes{});
  if constexpr (kLanes > 8) run(EightLanes{});
  if constexpr (kLanes > 4) run(FourLanes{});
}

// Statistics are sequential sums over pixels in line order: lines are paired
// only if whole lines are buffered.
template <bool Fuse>
OCTET_INLINE void depthwise_codes_with(const CodeDepthwise& p,
                                       const Epilogue& e) {
  constexpr int64_t kWide = kSumsAtOnce / 2;
  const bool in_order = e.statistics == nullptr || p.cols <= kWide;
  const bool pairs = p.lines_packed == 2 && in_order;
  int64_t rows = pairs ? 2 : 1;
  if (p.cols < kWide) rows = kSumsAtOnce / p.cols / rows * rows;
  for (int64_t row = 0; row < p.rows; row += rows) {
    const int64_t last = row + rows < p.rows ? row + rows : p.rows;
    for (int64_t col = 0; col < p.cols; col += kWide) {
      const int64_t left = p.cols - col;
      depthwise_code_block<Fuse>(
          p, e, {row, last, col, left < kWide ? left : kWide}, pairs);
    }
  }
}

void depthwise_codes(const CodeDepthwise& call, const Epilogue& e) {
  const CodeDepthwise p = call;
  if (e.fused != nullptr) {
    depthwise_codes_with<true>(p, e);
  } else {
    depthwise_codes_with<false>(p, e);
  }
}
