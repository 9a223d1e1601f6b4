// The micro-kernel: a tile of T x V vectors of sums over k, in registers. It
// serves convolution (forward, input gradient, weight gradient) and dense
// layers, on floats and on quantized values; only the strides differ.

constexpr int kMaxRows1 = OCTET_TILE_REGISTERS;  // in tiles one vector wide
constexpr int kMaxRows2 =
    OCTET_TILE_REGISTERS / 2;  // in tiles two vectors wide

// Weights that a tile prefetches into the second-level cache for later tiles.
template <class Element>
struct Ahead {
  const Element* at;
  int64_t step;  // elements between steps
};

template <class Element>
struct Factors {
  const Element* a;
  int64_t a_row;   // between rows t of the tile
  int64_t a_step;  // between steps
  const int64_t* a_segments;
  int64_t a_segment;  // used if a_segments is null
  const Element* b;
  int64_t b_step;
  int64_t b_segment;
  Ahead<Element> ahead;
  int64_t segments;
  int64_t steps;
};

// Prefetches the weights of large layers from memory. While a panel is
// multiplied by all tiles, each tile prefetches a part of the next panel; the
// very first tile prefetches its own panel, 16 KiB ahead.
template <class Element>
class Fetching {
 public:
  // `first` and `last`: whether the panel is the first or the last. `tiles`:
  // number of tiles that the panel serves.
  OCTET_INLINE Fetching(const Factors<Element>& panel, bool first, bool last,
                        int64_t tiles)
      : now_{panel.b, 0}, next_{panel.b, 0}, part_(0) {
    if (!last) {
      const int64_t size = panel.segments * panel.b_segment;
      next_ = {panel.b + size, (panel.b_step + tiles - 1) / tiles};
      part_ = size / tiles;
      now_ = next_;
    }
    if (first) now_ = {panel.b + 16384 / sizeof(Element), panel.b_step};
  }

  OCTET_INLINE Ahead<Element> tile() {
    const Ahead<Element> result = now_;
    next_.at += part_;
    now_ = next_;
    return result;
  }

 private:
  Ahead<Element> now_, next_;
  int64_t part_;
};

OCTET_INLINE void add_product(Lanes& sum, float x, Lanes weights) {
  sum += x * weights;
}

// Adds the products of all values of a word (see int8_gemm.inl).
template <class Ints>
OCTET_INLINE void add_words(Ints& sum, Ints words, Ints weights) {
#if defined(OCTET_VNNI) && defined(__AVX512VL__)
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(words), "v"(weights));
#elif defined(OCTET_VNNI)
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(words), "x"(weights));
#elif defined(OCTET_CODE_BYTES)
  if constexpr (sizeof(Ints) == 32) {
    const __m256i pairs =
        _mm256_maddubs_epi16((__m256i)words, (__m256i)weights);
    sum += (Ints)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  } else {
    const __m128i pairs = _mm_maddubs_epi16((__m128i)words, (__m128i)weights);
    sum += (Ints)_mm_madd_epi16(pairs, _mm_set1_epi16(1));
  }
#else
#ifdef __AVX512BW__
  if constexpr (sizeof(Ints) == 64) {
    sum += (Ints)_mm512_madd_epi16((__m512i)words, (__m512i)weights);
    return;
  }
#endif
#ifdef __AVX2__
  if constexpr (sizeof(Ints) == 32) {
    sum += (Ints)_mm256_madd_epi16((__m256i)words, (__m256i)weights);
    return;
  }
#endif
#ifdef __SSE2__
  if constexpr (sizeof(Ints) == 16) {
    sum += (Ints)_mm_madd_epi16((__m128i)words, (__m128i)weights);
    return;
  }
#endif
  sum += (words << 16 >> 16) * (weights << 16 >> 16);
  sum += (words >> 16) * (weights >> 16);
#endif
}

OCTET_INLINE void add_product(IntLanes& sum, CodeWord x, IntLanes weights) {
  add_words(sum, x - IntLanes{}, weights);
}

// Passed by reference to inlined functions.
template <class Vector, int T, int V>
struct Accumulators {
  Vector of[T][V];
};

template <class Vector, int T, int V, class Element>
OCTET_INLINE void accumulate_tile(const Factors<Element>& p,
                                  Accumulators<Vector, T, V>& acc) {
  constexpr int kPointers = (T + 3) / 4;
  constexpr int kLine = 64 / sizeof(Element);
  constexpr int kLines = (V * kLanes + kLine - 1) / kLine;
  const int64_t row = p.a_row;
  const int64_t a_step = p.a_step;
  const int64_t b_step = p.b_step;
  const Element* ahead = p.ahead.at;
  const int64_t ahead_step = p.ahead.step;
  const int64_t steps = p.steps;
  for (int64_t s = 0; s < p.segments; ++s) {
    const Element* a =
        p.a + (p.a_segments != nullptr ? p.a_segments[s] : s * p.a_segment);
    const Element* b = p.b + s * p.b_segment;
    const Element* at[kPointers];
    unroll<kPointers>([&](auto j)
                          OCTET_INLINE_LAMBDA { at[j] = a + 4 * j * row; });
#pragma GCC unroll 1
    for (int64_t k = 0; k < steps; ++k) {
      Vector weights[V];
      unroll<V>([&](auto v) OCTET_INLINE_LAMBDA {
        weights[v] = load<Vector>(b + v * kLanes);
      });
      unroll<kLines>([&](auto i) OCTET_INLINE_LAMBDA {
        __builtin_prefetch(ahead + i * kLine, 0, 2);
      });
      ahead += ahead_step;
      unroll<T>([&](auto t) OCTET_INLINE_LAMBDA {
        const Element x = at[t / 4][(t % 4) * row];
        unroll<V>([&](auto v) OCTET_INLINE_LAMBDA {
          add_product(acc.of[t][v], x, weights[v]);
        });
      });
      unroll<kPointers>([&](auto j) OCTET_INLINE_LAMBDA { at[j] += a_step; });
      b += b_step;
    }
  }
}

// Returns the number of vectors of the panel that starts at `channel`: two, or
// one for the last.
OCTET_INLINE int panel_vectors(int64_t channel, int64_t channels) {
  return channels - channel > kLanes ? 2 : 1;
}
// Returns the number of channels of that panel without its padding.
OCTET_INLINE int panel_channels(int64_t channel, int64_t channels) {
  const int64_t left = channels - channel;
  const int64_t width = panel_vectors(channel, channels) * kLanes;
  return static_cast<int>(left < width ? left : width);
}

// Returns the number of tiles for `rows` rows.
OCTET_INLINE int64_t tile_count(int64_t rows, int vectors) {
  const int64_t most = vectors == 1 ? kMaxRows1 : kMaxRows2;
  return (rows + most - 1) / most;
}

// Cuts `rows` evenly into tiles and calls run(first, count).
template <class Run>
OCTET_INLINE void for_tiles(int64_t rows, int vectors, Run run) {
  const int64_t count = tile_count(rows, vectors);
  int64_t t = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t size = (rows - t + (count - i) - 1) / (count - i);
    run(t, size);
    t += size;
  }
}

template <class Element>
OCTET_INLINE int64_t weight_bytes(const ProductOf<Element>& c) {
  return c.segment_count * c.steps * c.channels *
         static_cast<int64_t>(sizeof(Element));
}

// A rectangle of outputs, or of the pixels of a sum.
struct Block {
  int64_t first_row, last_row, first_col, last_col;
};

OCTET_INLINE int64_t tiles_of(const Block& b, int vectors) {
  return (b.last_row - b.first_row) *
         tile_count(b.last_col - b.first_col, vectors);
}

// Returns the number of short rows of a block that one tile computes. Their
// windows must be adjacent in the image.
template <class Element>
OCTET_INLINE int64_t rows_of_tile(const ProductOf<Element>& c, const Block& b,
                                  int vectors) {
  const int64_t cols = b.last_col - b.first_col;
  if (cols != c.cols || c.line != cols * c.pixel) return 1;
  const int64_t rows = (vectors == 1 ? kMaxRows1 : kMaxRows2) / cols;
  return rows > 1 ? rows : 1;
}

// Cuts a block evenly into tiles of `most` rows (see rows_of_tile()) and calls
// run(row, col, rows, count).
template <class Run>
OCTET_INLINE void for_tiles_of(const Block& b, int vectors, int64_t most,
                               Run run) {
  const int64_t cols = b.last_col - b.first_col;
  if (most == 1) {
    for (int64_t row = b.first_row; row < b.last_row; ++row) {
      for_tiles(cols, vectors,
                [&](int64_t t, int64_t size) OCTET_INLINE_LAMBDA {
                  run(row, b.first_col + t, 1, size);
                });
    }
    return;
  }
  const int64_t count = (b.last_row - b.first_row + most - 1) / most;
  int64_t row = b.first_row;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t rows = (b.last_row - row + (count - i) - 1) / (count - i);
    run(row, b.first_col, rows, cols);
    row += rows;
  }
}

// Returns the number of tiles of for_tiles_of().
OCTET_INLINE int64_t tiles_of(const Block& b, int vectors, int64_t most) {
  if (most == 1) return tiles_of(b, vectors);
  return (b.last_row - b.first_row + most - 1) / most;
}

// Cuts rows x cols pixels into blocks whose share of the image `bytes` stays in
// the second-level cache while all panels pass; each block rereads the
// `weights` bytes. Every sum continues from block to block in pixel order.
template <class Run>
OCTET_INLINE void for_blocks(int64_t rows, int64_t cols, int64_t bytes,
                             int64_t weights, Run run) {
  if (rows * cols == 0) return;
  constexpr int64_t kCache = int64_t{256} << 10;
  int64_t count = bytes / kCache;
  if (count * weights > bytes) count = bytes / weights;
  const bool by_rows = rows > 1;
  const int64_t most = by_rows ? rows : cols / kMaxRows2;
  if (count > most) count = most;
  if (count < 1) count = 1;
  const int64_t length = by_rows ? rows : cols;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = length * i / count, last = length * (i + 1) / count;
    run(by_rows ? Block{first, last, 0, cols} : Block{0, rows, first, last});
  }
}
