// Kernels on quantized values: evaluation of expressions, and products. A
// 32-bit word packs neighboring channels: four bytes q + zero_byte, multiplied
// with four signed weight bytes by vpdpbusd; the same for vpmaddubsw, whose
// 16-bit sums of two products require q of at most 7 bits; or two 16-bit values
// otherwise. Sums are 32 bits wide and exact.

#include "code_sums.inl"

#ifdef OCTET_CODE_BYTES
typedef CodeByte Code;
#else
typedef CodeShort Code;
#endif
constexpr int kCodesPerWord = 4 / static_cast<int>(sizeof(Code));
#if defined(OCTET_CODE_BYTES) && !defined(OCTET_VNNI)
constexpr bool kSevenBits = true;
#else
constexpr bool kSevenBits = false;
#endif

// Detects negative q among values kToInteger + q.
template <class V>
struct Signs {
  using Ints = typename IntsOf<V>::Type;
  Ints bits = {};
  OCTET_INLINE void add(V shifted) {
    if constexpr (lanes_of<V>() == 1) {
      bits |= static_cast<int32_t>(shifted - kToInteger);
    } else {
      bits |= (Ints)shifted - (Ints)splat<V>(kToInteger);
    }
  }
  OCTET_INLINE bool any() const {
    if constexpr (lanes_of<V>() == 1) {
      return bits < 0;
    } else {  // all ones, a NaN, if negative
      return any_above((V)(bits >> 31), V{});
    }
  }
};

OCTET_INLINE void fill_codes(Code* p, int64_t n, Code zero) {
  for (int64_t i = 0; i < n; ++i) p[i] = zero;
}

template <class V, int Terms, bool Keep>
OCTET_INLINE int64_t code_run(const Runs<Terms>& runs, const Constants<V>& k,
                              Code* out, int64_t at, int64_t i, int64_t run,
                              bool& nan) {
  const int zero_byte = runs.e.zero_byte;
  Signs<V> signs;
  i = rounded_run<V, Terms, Keep>(
      runs, k, at, i, run, nan, [&](int64_t to, V shifted) OCTET_INLINE_LAMBDA {
        if constexpr (kSevenBits) signs.add(shifted);
        store_codes<V>(out + to, shifted, zero_byte);
      });
  if (kSevenBits) nan |= signs.any();
  return i;
}

// Constants for each vector width.
struct RunConstants {
  Constants<Lanes> whole;
  Constants<FourLanes> four;
  Constants<float> one;
};

template <int Terms, bool Keep>
OCTET_INLINE void codes_of_run(const Runs<Terms>& runs, const RunConstants& k,
                               Code* out, int64_t at, int64_t run, bool& nan) {
  int64_t i = 0;
  i = code_run<Lanes, Terms, Keep>(runs, k.whole, out, at, i, run, nan);
  if constexpr (kLanes > 4) {
    i = code_run<FourLanes, Terms, Keep>(runs, k.four, out, at, i, run, nan);
  }
  code_run<float, Terms, Keep>(runs, k.one, out, at, i, run, nan);
}

// Spreads pixels of c channels to whole words. Reads up to four values beyond
// the row. C is c, or 0 if unknown at compile time: loops of a few iterations
// would become calls of memcpy.
template <int C>
OCTET_INLINE void move_apart(const Code* row, int64_t count, int64_t pixel,
                             int64_t c, Code zero, Code* out) {
  constexpr int kFilled =
      (C + kCodesPerWord - 1) / kCodesPerWord * kCodesPerWord;
  int64_t p = 0;
#ifdef __SSSE3__
  if constexpr (C == 3 && sizeof(Code) == 1) {
    const __m128i apart =
        _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    const __m128i filler =
        _mm_set1_epi32(static_cast<int>(static_cast<uint32_t>(zero) << 24));
    for (; p + 4 <= count; p += 4, out += 16) {
      __m128i four;
      __builtin_memcpy(&four, row + 3 * p, sizeof(four));
      four = _mm_or_si128(_mm_shuffle_epi8(four, apart), filler);
      __builtin_memcpy(out, &four, sizeof(four));
    }
  }
  if constexpr (C == 3 && sizeof(Code) == 2) {
    const __m128i apart =
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11, -1, -1);
    const __m128i filler = _mm_set1_epi64x(
        static_cast<int64_t>(static_cast<uint64_t>(zero) << 48));
    for (; p + 2 <= count; p += 2, out += 8) {
      __m128i two;
      __builtin_memcpy(&two, row + 3 * p, sizeof(two));
      two = _mm_or_si128(_mm_shuffle_epi8(two, apart), filler);
      __builtin_memcpy(out, &two, sizeof(two));
    }
  }
#endif
  for (; p < count; ++p, out += pixel) {
    if constexpr (C > 0) {
      Code word[kFilled];
      unroll<kFilled>([&](auto i) OCTET_INLINE_LAMBDA {
        word[i] = i < C ? row[p * C + i] : zero;
      });
      __builtin_memcpy(out, word, sizeof(word));
    } else {
      for (int64_t i = 0; i < c; ++i) out[i] = row[p * c + i];
      fill_codes(out + c, pixel - c, zero);
    }
  }
}

// Evaluates a row whose few channels do not fill words: many pixels at once,
// then spread.
constexpr int kRowCodes = 256;
template <int Terms, bool Keep>
OCTET_INLINE void codes_of_narrow_row(const Runs<Terms>& runs,
                                      const RunConstants& k, Code* out,
                                      int64_t at, int64_t pixel, bool& nan) {
  const Evaluation& e = runs.e;
  Code row[kRowCodes + 4];
  const Code zero = static_cast<Code>(zero_code<Code>(e.zero_byte));
  const int64_t most = kRowCodes / e.c;
  for (int64_t w = 0; w < e.w; w += most) {
    const int64_t count = e.w - w < most ? e.w - w : most;
    codes_of_run<Terms, Keep>(runs, k, row, at + w * e.c, count * e.c, nan);
    switch (e.c) {
      case 1:
        move_apart<1>(row, count, pixel, e.c, zero, out);
        break;
      case 3:
        move_apart<3>(row, count, pixel, e.c, zero, out);
        break;
      default:
        move_apart<0>(row, count, pixel, e.c, zero, out);
    }
    out += count * pixel;
  }
}

template <int Terms, bool Keep>
OCTET_NOINLINE bool codes_of_image(const Evaluation& arguments, Code* out) {
  const Runs<Terms> runs(arguments);
  const Evaluation& e = runs.e;
  const RunConstants k{constants<Lanes>(e), constants<FourLanes>(e),
                       constants<float>(e)};
  bool nan = false;
  const Code zero = static_cast<Code>(zero_code<Code>(e.zero_byte));
  const int64_t pixel =
      (e.c + kCodesPerWord - 1) / kCodesPerWord * kCodesPerWord;
  const int64_t row = (e.left + e.w + e.right) * pixel;
  fill_codes(out, e.top * row, zero);
  out += e.top * row;
  int64_t at = 0;
  for (int64_t h = 0; h < e.h; ++h, at += e.w * e.c) {
    fill_codes(out, e.left * pixel, zero);
    out += e.left * pixel;
    if (runs.whole && pixel == e.c) {
      codes_of_run<Terms, Keep>(runs, k, out, at, e.w * e.c, nan);
    } else if (runs.whole && e.c <= kRowCodes / 16) {
      codes_of_narrow_row<Terms, Keep>(runs, k, out, at, pixel, nan);
    } else {
      for (int64_t w = 0; w < e.w; ++w) {
        codes_of_run<Terms, Keep>(runs, k, out + w * pixel, at + w * e.c, e.c,
                                  nan);
        fill_codes(out + w * pixel + e.c, pixel - e.c, zero);
      }
    }
    out += e.w * pixel;
    fill_codes(out, e.right * pixel, zero);
    out += e.right * pixel;
  }
  fill_codes(out, e.bottom * row, zero);
  return !nan;
}

template <int Terms>
OCTET_INLINE bool codes_of_terms(const Evaluation& e, Code* out) {
  return e.keep != nullptr ? codes_of_image<Terms, true>(e, out)
                           : codes_of_image<Terms, false>(e, out);
}

bool evaluate_codes(const Evaluation& e, CodeWord* words) {
  Code* out = reinterpret_cast<Code*>(words);
  switch (e.terms) {
    case 0:
      return codes_of_terms<0>(e, out);
    case 1:
      return codes_of_terms<1>(e, out);
    case 2:
      return codes_of_terms<2>(e, out);
    default:
      return codes_of_terms<3>(e, out);
  }
}

struct CodeTile : Factors<CodeWord> {
  const int32_t* start;
  int32_t* sums;  // [T][V * kLanes]
};

template <int T, int V>
OCTET_NOINLINE void code_tile(const CodeTile& p) {
  Accumulators<IntLanes, T, V> acc;
  unroll<T * V>([&](auto i) OCTET_INLINE_LAMBDA {
    acc.of[i / V][i % V] = load<IntLanes>(p.start + (i % V) * kLanes);
  });
  accumulate_tile(p, acc);
  unroll<T * V>([&](auto i) OCTET_INLINE_LAMBDA {
    __builtin_memcpy(p.sums + i * kLanes, &acc.of[i / V][i % V],
                     sizeof(IntLanes));
  });
}

using CodeTileFunction = void (*)(const CodeTile&);
template <int Max>
struct CodeTileTable {
  CodeTileFunction of[Max + 1];
};
template <int V, int... I>
constexpr CodeTileTable<sizeof...(I)> make_code_tiles(Indices<I...>) {
  return {{nullptr, code_tile<I + 1, V>...}};
}
constexpr CodeTileTable<kMaxRows1> kCodeTiles1 =
    make_code_tiles<1>(typename MakeIndices<kMaxRows1>::Type{});
constexpr CodeTileTable<kMaxRows2> kCodeTiles2 =
    make_code_tiles<2>(typename MakeIndices<kMaxRows2>::Type{});

template <bool Fuse>
OCTET_INLINE void multiply_codes_block(const CodeProduct& c, const Epilogue& e,
                                       const Block& block) {
  alignas(64) int32_t sums[kMaxRows1 * kLanes];
  for (int64_t k = 0; k < c.channels;) {
    const int vectors = panel_vectors(k, c.channels);
    const int width = vectors * kLanes;
    CodeTile p{};
    p.a_row = c.pixel;
    p.a_step = 1;
    p.a_segments = c.segments;
    p.b = c.weights + k * c.panel_rows + c.first_row * width;
    p.b_step = width;
    p.b_segment = c.steps * width;
    p.segments = c.segment_count;
    p.steps = c.steps;
    p.start = c.start + k;
    p.sums = sums;
    const int channels = panel_channels(k, c.channels);
    const int64_t most = Fuse ? rows_of_tile(c, block, vectors) : 1;
    Fetching fetching(p, k == 0, k + width >= c.channels,
                      tiles_of(block, vectors, most));
    for_tiles_of(
        block, vectors, most,
        [&](int64_t row, int64_t col, int64_t rows, int64_t count)
            OCTET_INLINE_LAMBDA {
              const int64_t size = rows * count;
              p.a = c.image + row * c.line + col * c.pixel;
              p.ahead = fetching.tile();
              (vectors == 1 ? kCodeTiles1.of[size] : kCodeTiles2.of[size])(p);
              finish_tile<Fuse>(sums, {row, col, count, width, rows}, k,
                                channels, e);
            });
    k += width;
  }
}

void multiply_quantized(const CodeProduct& c, const Epilogue& e) {
  // Most fused outputs are quantized.
  const int64_t a_pixel = c.pixel * static_cast<int64_t>(sizeof(CodeWord)) +
                          c.channels * (e.fused == nullptr          ? 4
                                        : e.fused->other == nullptr ? 1
                                                                    : 2);
  for_blocks(c.rows, c.cols, c.rows * c.cols * a_pixel, weight_bytes(c),
             [&](const Block& block) {
               if (e.fused != nullptr) {
                 multiply_codes_block<true>(c, e, block);
               } else {
                 multiply_codes_block<false>(c, e, block);
               }
             });
}

// Joins the values of single channels to words.
OCTET_INLINE IntLanes joined(const IntLanes* codes) {
#ifdef OCTET_CODE_BYTES
  return (codes[0] & 255) | (codes[1] & 255) << 8 | (codes[2] & 255) << 16 |
         codes[3] << 24;
#else
  return (codes[0] & 0xffff) | codes[1] << 16;
#endif
}

// Loads `channels` channels, kLanes at most.
OCTET_INLINE IntLanes codes_from(const float* from, int64_t channels,
                                 bool& nan) {
  Lanes codes = {};
  if (channels >= kLanes) {
    codes = load<Lanes>(from);
  } else {
    for (int64_t i = 0; i < channels; ++i) codes[i] = from[i];
  }
  nan |= any_above(codes, codes);
  return __builtin_convertvector(codes, IntLanes);
}

// Panels have the layout of pack(); a row is one word per channel.
bool pack_codes(const CodePanels& p) {
  bool nan = false;
  CodeWord* out = p.out;
  const int64_t words = (p.c + kCodesPerWord - 1) / kCodesPerWord;
  for (int64_t k = 0; k < p.channels;) {
    const int64_t width = panel_vectors(k, p.channels) * kLanes;
    for (int64_t v = 0; v < width; v += kLanes) {
      const int64_t left = p.channels - k - v;
      IntLanes sum = {};
      CodeWord* to = out + v;
      for (int64_t tap = 0; tap < p.taps; ++tap) {
        const float* from = p.codes + tap * p.c * p.row + k + v;
        for (int64_t word = 0; word < words; ++word, to += width) {
          IntLanes codes[kCodesPerWord] = {};
          for (int j = 0; j < kCodesPerWord; ++j) {
            const int64_t c = word * kCodesPerWord + j;
            if (c < p.c) codes[j] = codes_from(from + c * p.row, left, nan);
            sum += codes[j];
          }
          const IntLanes packed = joined(codes);
          __builtin_memcpy(to, &packed, sizeof(packed));
        }
      }
      const IntLanes start = sum * -zero_code<Code>(p.zero_byte);
      __builtin_memcpy(p.start + k + v, &start, sizeof(start));
    }
    out += width * p.taps * words;
    k += width;
  }
  return !nan;
}

constexpr Code kLowest = sizeof(Code) == 1 ? 0 : -0x8000;

// Pools N channels of all windows of a row.
template <int N>
OCTET_INLINE void pool_codes_at(const CodePool& p, const Code* image, Code* out,
                                int64_t row) {
  typedef Code Vector __attribute__((vector_size(N * sizeof(Code))));
  const MaxPool& s = p.sizes;
  const int64_t h = row * s.stride_h - s.top;
  for (int64_t ow = 0; ow < s.ow; ++ow) {
    const int64_t w = ow * s.stride_w - s.left;
    Vector best = Vector{} + kLowest;
    for (int64_t kh = 0; kh < s.kh; ++kh) {
      const int64_t y = h + kh * s.dilation_h;
      if (y < 0 || y >= s.h) continue;
      for (int64_t kw = 0; kw < s.kw; ++kw) {
        const int64_t x = w + kw * s.dilation_w;
        if (x < 0 || x >= s.w) continue;
        Vector v;
        __builtin_memcpy(&v, image + y * p.line + x * p.pixel, sizeof(v));
        best = best > v ? best : v;
      }
    }
    __builtin_memcpy(out + ow * p.out_pixel, &best, sizeof(best));
  }
}

void max_pool_codes(const CodePool& arguments) {
  const CodePool p = arguments;
  const Code* image = static_cast<const Code*>(p.image);
  Code* out = static_cast<Code*>(p.out);
  constexpr int kWide = 4 * kLanes / static_cast<int>(sizeof(Code));
  constexpr int kNarrow = 16 / static_cast<int>(sizeof(Code));
  const int64_t channels = p.sizes.c;
  for (int64_t row = p.first; row < p.last; ++row, out += p.out_line) {
    int64_t c = 0;
    for (; c + kWide <= channels; c += kWide) {
      pool_codes_at<kWide>(p, image + c, out + c, row);
    }
    for (; c + kNarrow <= channels; c += kNarrow) {
      pool_codes_at<kNarrow>(p, image + c, out + c, row);
    }
    if (c < channels && channels >= kNarrow) {  // the last vector overlaps
      c = channels - kNarrow;
      pool_codes_at<kNarrow>(p, image + c, out + c, row);
      continue;
    }
    for (; c < channels; c += kCodesPerWord) {
      pool_codes_at<kCodesPerWord>(p, image + c, out + c, row);
    }
  }
}

// Applies a fused epilogue to sums [pixels][channels].
void finish_sums(const int32_t* sums, int64_t pixels, int channels,
                 const Epilogue& e) {
  for (int64_t i = 0; i < pixels; i += kMaxRows1) {
    const int64_t count = pixels - i < kMaxRows1 ? pixels - i : kMaxRows1;
    finish_tile<true>(sums + i * channels, {0, i, count, channels}, 0, channels,
                      e);
  }
}

#include "depthwise_codes.inl"

constexpr CodeTable kCodes = {
    .codes_per_word = kCodesPerWord,
    .form = kCodesPerWord == 4 ? StorageFormat::bytes : StorageFormat::shorts,
    .seven_bits = kSevenBits,
    .panel = 2 * kLanes,
    .evaluate = evaluate_codes,
    .multiply = multiply_quantized,
    .depthwise = depthwise_codes,
    .pack = pack_codes,
    .max_pool = max_pool_codes,
    .finish = kLanes >= 8 ? finish_sums : nullptr,
};
