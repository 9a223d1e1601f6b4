// Products of floats: tiles and their epilogues.

struct Tile : Factors<float> {
  float* out;
  int64_t out_row;
  bool resume;
  const float* rescale;
  float* statistics;
  int64_t statistics_stride;
  GradientMask mask;
};

template <int T, int V>
OCTET_NOINLINE void tile(const Tile& p) {
  Accumulators<Lanes, T, V> acc;
  if (p.resume) {
    unroll<T * V>([&](auto i) OCTET_INLINE_LAMBDA {
      acc.of[i / V][i % V] =
          load<Lanes>(p.out + (i / V) * p.out_row + (i % V) * kLanes);
    });
  } else {
    unroll<T * V>([&](auto i)
                      OCTET_INLINE_LAMBDA { acc.of[i / V][i % V] = Lanes{}; });
  }
  accumulate_tile(p, acc);
  unroll<T * V>([&](auto i) OCTET_INLINE_LAMBDA {
    store(p.out + (i / V) * p.out_row + (i % V) * kLanes, acc.of[i / V][i % V]);
  });
}

// Sums of a tile, still in the first-level cache.
struct TileSums {
  const float* at;
  int64_t row;
  int rows;
};

// Applies the epilogue to channels [k, k + lanes).
template <class V, Finish F>
OCTET_INLINE void finish_column(const Tile& p, const TileSums& from, int k) {
  const GradientMask& m = p.mask;
  V sums[3] = {};
  V slope_sum = {};
  float* sums_at = nullptr;
  int64_t sums_row = 0;
  int sum_count = 0;
  if constexpr (F == Finish::statistics) {
    sums_at = p.statistics + k;
    sums_row = p.statistics_stride;
    sum_count = 2;
  }
  if constexpr (F == Finish::mask) {
    if (m.sums != nullptr) {
      sums_at = m.sums + k;
      sums_row = m.channels;
      sum_count = 3;
    }
    if (m.slopes != nullptr) slope_sum = load<V>(m.slopes + k);
  }
  for (int i = 0; i < sum_count; ++i) {
    sums[i] = load<V>(sums_at + i * sums_row);
  }
  for (int t = 0; t < from.rows; ++t) {
    V v = load<V>(from.at + t * from.row + k);
    const int64_t at = t * p.out_row + k;
    if (F != Finish::mask && p.rescale != nullptr) {
      v = rounded<V>(v * load<V>(p.rescale + k));
    }
    if constexpr (F == Finish::statistics) {
      sums[0] = sums[0] + v;
      sums[1] = plus_product(sums[1], v, v);
    }
    if constexpr (F == Finish::mask) {
      if (m.others != nullptr) v = v + load<V>(m.others + at);
      const V z = load<V>(m.z + at);
      const V y = m.value != nullptr ? load<V>(m.value + at)
                                     : z * load<V>(m.a + k) + load<V>(m.b + k);
      if (m.slopes != nullptr) {
        slope_sum = plus_slope<V>(slope_sum, v, y, m.slope);
      }
      v = masked(v, y, splat<V>(m.low), splat<V>(m.high));
      sums[0] = sums[0] + v;
      sums[1] = plus_product(sums[1], v, z);
      if (m.second != nullptr) {
        sums[2] = plus_product(sums[2], v, load<V>(m.second + at));
      }
    }
    store(p.out + at, v);
  }
  for (int i = 0; i < sum_count; ++i) store(sums_at + i * sums_row, sums[i]);
  if (F == Finish::mask && m.slopes != nullptr) {
    store(m.slopes + k, slope_sum);
  }
}

// Applies the epilogue to `channels` channels in ever narrower vectors: the
// same bits as one wide vector that overlaps the end.
template <Finish F>
OCTET_NOINLINE void finish_tile(const Tile& p, const TileSums& from,
                                int channels) {
  int k = 0;
  const auto finish = [&](auto v) OCTET_INLINE_LAMBDA {
    using V = decltype(v);
    for (; k + lanes_of<V>() <= channels; k += lanes_of<V>()) {
      finish_column<V, F>(p, from, k);
    }
  };
  finish(Lanes{});
  if constexpr (kLanes > 8) finish(EightLanes{});
  if constexpr (kLanes > 4) finish(FourLanes{});
  finish(0.0f);
}

using TileFunction = void (*)(const Tile&);
template <int Max>
struct TileTable {
  TileFunction of[Max + 1];
};
template <int V, int... I>
constexpr TileTable<sizeof...(I)> make_tiles(Indices<I...>) {
  return {{nullptr, tile<I + 1, V>...}};
}
constexpr TileTable<kMaxRows1> kTiles1 =
    make_tiles<1>(typename MakeIndices<kMaxRows1>::Type{});
constexpr TileTable<kMaxRows2> kTiles2 =
    make_tiles<2>(typename MakeIndices<kMaxRows2>::Type{});

OCTET_INLINE void run_tile(const Tile& p, int64_t rows, int vectors) {
  (vectors == 1 ? kTiles1.of[rows] : kTiles2.of[rows])(p);
}

// Runs a tile whose last vector exceeds the channels, by means of a buffer.
template <Finish F>
OCTET_NOINLINE void narrow_tile(const Tile& p, int rows, int vectors,
                                int channels) {
  alignas(64) float buffer[kMaxRows1 * kLanes];
  const int width = vectors * kLanes;
  Tile inner = p;
  inner.out = buffer;
  inner.out_row = width;
  for (int t = 0; p.resume && t < rows; ++t) {
    for (int k = 0; k < width; ++k) {
      buffer[t * width + k] = k < channels ? p.out[t * p.out_row + k] : 0.0f;
    }
  }
  run_tile(inner, rows, vectors);
  finish_tile<F>(p, {buffer, width, rows}, channels);
}

// Runs `rows` tile rows, cut evenly, for one panel. move(tile, t) advances the
// tile's pointers to row t.
template <Finish F, class Move>
OCTET_INLINE void run_rows(const Tile& base, int64_t rows, int vectors,
                           int channels, Move move) {
  for_tiles(rows, vectors, [&](int64_t t, int64_t size) OCTET_INLINE_LAMBDA {
    Tile p = base;
    move(p, t);
    if (channels != vectors * kLanes) {
      narrow_tile<F>(p, static_cast<int>(size), vectors, channels);
      return;
    }
    run_tile(p, size, vectors);
    if (F != Finish::store || p.rescale != nullptr) {
      finish_tile<F>(p, {p.out, p.out_row, static_cast<int>(size)}, channels);
    }
  });
}

// Returns the bytes of the input and output images of a product.
OCTET_INLINE int64_t image_bytes(const Product& c, const Epilogue& e) {
  int64_t a_pixel = c.pixel + c.channels;
  if (e.mask != nullptr) a_pixel += 2 * c.channels;
  if (e.fused != nullptr && e.fused->other != nullptr) a_pixel += c.channels;
  return c.rows * c.cols * a_pixel * static_cast<int64_t>(sizeof(float));
}

// Returns the operands of a tile of the panel that starts at channel k.
OCTET_INLINE Tile tile_of(const Product& c, int64_t k, int width) {
  Tile p{};
  p.a_row = c.pixel;
  p.a_step = 1;
  p.a_segments = c.segments;
  p.b = c.weights + k * c.panel_rows + c.first_row * width;
  p.b_step = width;
  p.b_segment = c.steps * width;
  p.segments = c.segment_count;
  p.steps = c.steps;
  return p;
}

template <Finish F>
OCTET_INLINE void multiply_block(const Product& c, const Epilogue& e,
                                 const Block& block) {
  for (int64_t k = 0; k < c.channels;) {
    const int vectors = panel_vectors(k, c.channels);
    const int channels = panel_channels(k, c.channels);
    Tile p = tile_of(c, k, vectors * kLanes);
    p.out_row = e.pixel;
    p.resume = e.resume;
    p.rescale = e.rescale != nullptr ? e.rescale + k : nullptr;
    if constexpr (F == Finish::statistics) {
      p.statistics = e.statistics + k;
      p.statistics_stride = e.statistics_row;
    }
    if constexpr (F == Finish::mask) {
      p.mask = *e.mask;
      if (p.mask.a != nullptr) {
        p.mask.a += k;
        p.mask.b += k;
      }
      if (p.mask.sums != nullptr) p.mask.sums += k;
      if (p.mask.slopes != nullptr) p.mask.slopes += k;
    }
    Fetching fetching(p, k == 0, k + vectors * kLanes >= c.channels,
                      tiles_of(block, vectors));
    for (int64_t row = block.first_row; row < block.last_row; ++row) {
      run_rows<F>(p, block.last_col - block.first_col, vectors, channels,
                  [&](Tile& q, int64_t t) OCTET_INLINE_LAMBDA {
                    q.ahead = fetching.tile();
                    const int64_t col = block.first_col + t;
                    const int64_t at = row * e.line + col * e.pixel + k;
                    q.a = c.image + row * c.line + col * c.pixel;
                    q.out = e.out + at;
                    if constexpr (F == Finish::mask) {
                      GradientMask& m = q.mask;
                      m.z += at;
                      if (m.value != nullptr) m.value += at;
                      if (m.second != nullptr) m.second += at;
                      if (m.others != nullptr) m.others += at;
                    }
                  });
    }
    k += vectors * kLanes;
  }
}

// Multiplies into a buffer and applies the fused epilogue to it.
OCTET_INLINE void multiply_fused_block(const Product& c, const Epilogue& e,
                                       const Block& block) {
  // More steps leave enough time without prefetching, and so do integer sums,
  // whose outputs are bytes.
  constexpr int64_t kFewSteps = 256;
  const bool fetches = c.segment_count * c.steps <= kFewSteps;
  alignas(64) float sums[kMaxRows1 * kLanes];
  for (int64_t k = 0; k < c.channels;) {
    const int vectors = panel_vectors(k, c.channels);
    const int width = vectors * kLanes;
    const int channels = panel_channels(k, c.channels);
    Tile p = tile_of(c, k, width);
    p.out = sums;
    p.out_row = width;
    const int64_t most = rows_of_tile(c, block, vectors);
    Fetching fetching(p, k == 0, k + width >= c.channels,
                      tiles_of(block, vectors, most));
    for_tiles_of(block, vectors, most,
                 [&](int64_t row, int64_t col, int64_t rows, int64_t count)
                     OCTET_INLINE_LAMBDA {
                       p.a = c.image + row * c.line + col * c.pixel;
                       p.ahead = fetching.tile();
                       const FusedTile tile{row, col, count, width, rows};
                       if (fetches) fetch_fused(tile, k, channels, e);
                       run_tile(p, rows * count, vectors);
                       fuse_tile(sums, tile, k, channels, e);
                     });
    k += width;
  }
}

void multiply(const Product& c, const Epilogue& e) {
  for_blocks(c.rows, c.cols, image_bytes(c, e), weight_bytes(c),
             [&](const Block& block) {
               if (e.fused != nullptr) {
                 multiply_fused_block(c, e, block);
               } else if (e.mask != nullptr) {
                 multiply_block<Finish::mask>(c, e, block);
               } else if (e.statistics != nullptr) {
                 multiply_block<Finish::statistics>(c, e, block);
               } else {
                 multiply_block<Finish::store>(c, e, block);
               }
             });
}

OCTET_INLINE void weight_gradient_block(const WeightGradient& g,
                                        const Block& block) {
  for (int64_t k = 0; k < g.channels;) {
    const int vectors = panel_vectors(k, g.channels);
    const int channels = panel_channels(k, g.channels);
    Tile p{};
    p.a_row = 1;
    p.a_step = g.pixel;
    p.a_segment = g.line;
    p.b = g.dz + block.first_row * g.dz_line + block.first_col * g.dz_pixel + k;
    p.b_step = g.dz_pixel;
    p.b_segment = g.dz_line;
    p.ahead = {p.b, 0};
    p.segments = block.last_row - block.first_row;
    p.steps = block.last_col - block.first_col;
    p.out_row = g.out_row;
    p.resume = true;
    const float* image =
        g.image + block.first_row * g.line + block.first_col * g.pixel;
    for (int64_t s = 0; s < g.segment_count; ++s) {
      run_rows<Finish::store>(p, g.steps, vectors, channels,
                              [&](Tile& q, int64_t i) OCTET_INLINE_LAMBDA {
                                q.a = image + g.segments[s] + i;
                                q.out =
                                    g.out + (s * g.steps + i) * g.out_row + k;
                              });
    }
    k += vectors * kLanes;
  }
}

void weight_gradient(const WeightGradient& g) {
  const int64_t bytes = g.rows * g.cols * (g.pixel + g.channels) *
                        static_cast<int64_t>(sizeof(float));
  // Sums are read and written.
  const int64_t weights = 2 * g.segment_count * g.steps * g.channels *
                          static_cast<int64_t>(sizeof(float));
  for_blocks(g.rows, g.cols, bytes, weights,
             [&](const Block& block) { weight_gradient_block(g, block); });
}

int64_t packed_size(int64_t rows, int64_t channels) {
  return rows * ((channels + kLanes - 1) / kLanes * kLanes);
}

// Returns lanes J of the concatenation of two vectors.
template <int... J>
OCTET_INLINE Lanes shuffled(Lanes a, Lanes b, Indices<J...>) {
  return __builtin_shufflevector(a, b, J...);
}

// Exchanges lane j + S of a with lane j of b for all j without bit S.
template <int S, int... J>
OCTET_INLINE void exchange(Lanes& a, Lanes& b, Indices<J...>) {
  const Lanes low =
      shuffled(a, b, Indices<((J & S) != 0 ? kLanes + J - S : J)...>{});
  b = shuffled(a, b, Indices<((J & S) != 0 ? kLanes + J : J + S)...>{});
  a = low;
}

template <int S>
OCTET_INLINE void transpose_step(Lanes (&v)[kLanes]) {
  unroll<kLanes>([&](auto i) OCTET_INLINE_LAMBDA {
    if constexpr ((i & S) == 0) {
      exchange<S>(v[i], v[i + S], typename MakeIndices<kLanes>::Type{});
    }
  });
  if constexpr (2 * S < kLanes) transpose_step<2 * S>(v);
}

// Packs `channels` <= kLanes rows of a transposed matrix into a vector of each
// row of a panel.
void pack_transposed(const WeightPanels& p, const float* from, int64_t channels,
                     float* out, int64_t width) {
  for (int64_t row = 0; row < p.rows; row += kLanes) {
    const int64_t left = p.rows - row;
    const int64_t count = left < kLanes ? left : kLanes;
    Lanes v[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) {
      v[i] = i >= channels     ? Lanes{}
             : count == kLanes ? load<Lanes>(from + i * p.row + row)
                               : load_first(from + i * p.row + row, count, 0);
    }
    transpose_step<1>(v);
    for (int64_t i = 0; i < count; ++i) store(out + (row + i) * width, v[i]);
  }
}

// Packs panels of two vectors, and a last panel of one vector if needed, padded
// with zeros.
void pack(const WeightPanels& p) {
  float* out = p.out;
  for (int64_t k = 0; k < p.channels;) {
    const int64_t width = panel_vectors(k, p.channels) * kLanes;
    const int64_t left = panel_channels(k, p.channels);
    if (p.transposed) {
      for (int64_t c = 0; c < width; c += kLanes) {
        pack_transposed(p, p.blocks[0] + (k + c) * p.row,
                        left - c < kLanes ? left - c : kLanes, out + c, width);
      }
      out += p.rows * width;
      k += width;
      continue;
    }
    for (int64_t block = 0; block < p.block_count; ++block) {
      for (int64_t row = 0; row < p.rows; ++row, out += width) {
        const float* from = p.blocks[block] + row * p.row + k;
        for (int64_t i = 0; i < left; ++i) out[i] = from[i];
        for (int64_t i = left; i < width; ++i) out[i] = 0.0f;
      }
    }
    k += width;
  }
}
