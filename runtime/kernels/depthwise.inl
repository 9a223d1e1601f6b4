// Depthwise convolution: one filter per channel. Vectors run over channels,
// tiles over neighboring outputs of a row, so that the weights of a tap are
// loaded once per tile.

// Per-channel sums over all pixels: of the value and its square, or of a
// gradient mask.
template <class V>
struct RunningSums {
  V of[3];
  V slopes;
};

template <class V, int T>
OCTET_INLINE void sum_taps(const Depthwise& p, const float* image, int64_t c,
                           V (&acc)[T]) {
  unroll<T>([&](auto i) OCTET_INLINE_LAMBDA { acc[i] = V{}; });
  const float* weights = p.weights + c;
  const int64_t pixel = p.pixel;
#pragma GCC unroll 1
  for (int64_t t = 0; t < p.tap_count; ++t, weights += p.channels) {
    const V w = load<V>(weights);
    const float* x = image + p.taps[t];
    unroll<T>([&](auto i) OCTET_INLINE_LAMBDA {
      acc[i] = acc[i] + load<V>(x + i * pixel) * w;
    });
  }
}

template <class V, Finish F, int T>
OCTET_INLINE void depthwise_tile(const Depthwise& p, const Epilogue& e,
                                 const float* image, int64_t at, int64_t c,
                                 RunningSums<V>& sums) {
  V acc[T];
  sum_taps<V, T>(p, image, c, acc);
  if constexpr (F == Finish::mask) {
    const GradientMask& m = *e.mask;
    const V a = m.a != nullptr ? load<V>(m.a + c) : splat<V>(1);
    const V b = m.b != nullptr ? load<V>(m.b + c) : splat<V>(0);
    unroll<T>([&](auto i) OCTET_INLINE_LAMBDA {
      const int64_t pixel_at = at + i * e.pixel;
      V g = acc[i];
      if (m.others != nullptr) g = g + load<V>(m.others + pixel_at);
      const V z = load<V>(m.z + pixel_at);
      const V y = m.value != nullptr ? load<V>(m.value + pixel_at) : z * a + b;
      if (m.slopes != nullptr) {
        sums.slopes = plus_slope<V>(sums.slopes, g, y, m.slope);
      }
      g = masked(g, y, splat<V>(m.low), splat<V>(m.high));
      sums.of[0] = sums.of[0] + g;
      sums.of[1] = plus_product(sums.of[1], g, z);
      if (m.second != nullptr) {
        sums.of[2] = plus_product(sums.of[2], g, load<V>(m.second + pixel_at));
      }
      store(e.out + pixel_at, g);
    });
  } else {
    if (e.rescale != nullptr) {
      const V scale = load<V>(e.rescale + c);
      unroll<T>([&](auto i)
                    OCTET_INLINE_LAMBDA { acc[i] = rounded(acc[i] * scale); });
    }
    unroll<T>([&](auto i) OCTET_INLINE_LAMBDA {
      const V z = acc[i];
      if constexpr (F == Finish::statistics) {
        sums.of[0] = sums.of[0] + z;
        sums.of[1] = plus_product(sums.of[1], z, z);
      }
      store(e.out + at + i * e.pixel, z);
    });
  }
}

// Calls run(col, Index<size>) for runs of up to 8 pixels.
template <class Run>
OCTET_INLINE void for_pixels(int64_t cols, Run run) {
  int64_t col = 0;
  for (; col + 8 <= cols; col += 8) run(col, Index<8>{});
  if (col + 6 <= cols) {
    run(col, Index<6>{});
    col += 6;
  }
  if (col + 4 <= cols) {
    run(col, Index<4>{});
    col += 4;
  }
  if (col + 3 == cols) return run(col, Index<3>{});
  if (col + 2 <= cols) {
    run(col, Index<2>{});
    col += 2;
  }
  if (col < cols) run(col, Index<1>{});
}

template <class V, Finish F>
OCTET_NOINLINE void depthwise_block(const Depthwise& p, const Epilogue& e,
                                    int64_t c) {
  float* sums_at = nullptr;
  int64_t sums_row = 0;
  int sum_count = 0;
  if constexpr (F == Finish::statistics) {
    sums_at = e.statistics + c;
    sums_row = e.statistics_row;
    sum_count = 2;
  }
  if constexpr (F == Finish::mask) {
    if (e.mask->sums != nullptr) {
      sums_at = e.mask->sums + c;
      sums_row = e.mask->channels;
      sum_count = 3;
    }
  }
  RunningSums<V> sums{};
  float* slopes_at = nullptr;
  if constexpr (F == Finish::mask) {
    if (e.mask->slopes != nullptr) {
      slopes_at = e.mask->slopes + c;
      sums.slopes = load<V>(slopes_at);
    }
  }
  for (int i = 0; i < sum_count; ++i) {
    sums.of[i] = load<V>(sums_at + i * sums_row);
  }
  for (int64_t row = 0; row < p.rows; ++row) {
    const float* image = p.image + row * p.line + c;
    for_pixels(p.cols, [&](int64_t col, auto size) OCTET_INLINE_LAMBDA {
      depthwise_tile<V, F, size.value>(p, e, image + col * p.pixel,
                                       row * e.line + col * e.pixel + c, c,
                                       sums);
    });
  }
  for (int i = 0; i < sum_count; ++i) {
    store(sums_at + i * sums_row, sums.of[i]);
  }
  if (slopes_at != nullptr) store(slopes_at, sums.slopes);
}

// Calls body(vector, c, last) for runs of channels that fill vectors: whole
// ones, then narrower ones.
template <class Body>
OCTET_INLINE void for_channel_runs(int64_t channels, Body body) {
  int64_t c = 0;
  const auto run = [&](auto v) {
    const int64_t last =
        c + (channels - c) / lanes_of<decltype(v)>() * lanes_of<decltype(v)>();
    if (c < last) body(v, c, last);
    c = last;
  };
  run(Lanes{});
  if constexpr (kLanes > 8) run(EightLanes{});
  if constexpr (kLanes > 4) run(FourLanes{});
  run(0.0f);
}

// Loops over pixels, then channels: the inputs of a tile are a few contiguous
// runs of memory.
template <class V, int T>
OCTET_NOINLINE void depthwise_fused(const Depthwise& p, const Epilogue& e,
                                    int64_t row, int64_t col, int64_t c,
                                    int64_t last) {
  alignas(64) float sums[T * lanes_of<V>()];
  const float* image = p.image + row * p.line + col * p.pixel;
  for (; c < last; c += lanes_of<V>()) {
    V acc[T];
    sum_taps<V, T>(p, image + c, c, acc);
    unroll<T>([&](auto i) OCTET_INLINE_LAMBDA {
      store(sums + i * lanes_of<V>(), acc[i]);
    });
    fuse_tile(sums, {row, col, T, lanes_of<V>()}, c, lanes_of<V>(), e);
  }
}

void depthwise(const Depthwise& call, const Epilogue& epilogue) {
  const Depthwise p = call;
  const Epilogue e = epilogue;
  if (e.fused != nullptr) {
    for (int64_t row = 0; row < p.rows; ++row) {
      for_pixels(p.cols, [&](int64_t col, auto size) {
        for_channel_runs(p.channels, [&](auto v, int64_t c, int64_t last) {
          depthwise_fused<decltype(v), size.value>(p, e, row, col, c, last);
        });
      });
    }
    return;
  }
  for_channel_blocks(p.channels, [&](auto v, int64_t c) {
    using V = decltype(v);
    if (e.mask != nullptr) {
      depthwise_block<V, Finish::mask>(p, e, c);
    } else if (e.statistics != nullptr) {
      depthwise_block<V, Finish::statistics>(p, e, c);
    } else {
      depthwise_block<V, Finish::store>(p, e, c);
    }
  });
}

// Processes T taps at once, with their sums in registers across all pixels.
template <class V, int T>
OCTET_NOINLINE void depthwise_gradient_taps(const DepthwiseGradient& g,
                                            int64_t first, int64_t c) {
  V acc[T];
  int64_t taps[T];
  float* out = g.out + first * g.channels + c;
  unroll<T>([&](auto i) OCTET_INLINE_LAMBDA {
    acc[i] = load<V>(out + i * g.channels);
    taps[i] = g.taps[first + i];
  });
  const int64_t pixel = g.pixel;
  const int64_t dz_pixel = g.dz_pixel;
  for (int64_t row = 0; row < g.rows; ++row) {
    const float* image = g.image + row * g.line + c;
    const float* dz = g.dz + row * g.dz_line + c;
#pragma GCC unroll 1
    for (int64_t col = 0; col < g.cols; ++col) {
      const V d = load<V>(dz);
      unroll<T>([&](auto i) OCTET_INLINE_LAMBDA {
        acc[i] = acc[i] + load<V>(image + taps[i]) * d;
      });
      image += pixel;
      dz += dz_pixel;
    }
  }
  unroll<T>([&](auto i)
                OCTET_INLINE_LAMBDA { store(out + i * g.channels, acc[i]); });
}

void depthwise_gradient(const DepthwiseGradient& call) {
  const DepthwiseGradient g = call;
  for_channel_blocks(g.channels, [&](auto v, int64_t c) {
    using V = decltype(v);
    int64_t t = 0;
    const auto run = [&](auto size) {
      for (; t + size.value <= g.tap_count; t += size.value) {
        depthwise_gradient_taps<V, size.value>(g, t, c);
      }
    };
    run(Index<9>{});
    run(Index<6>{});
    run(Index<3>{});
    run(Index<2>{});
    run(Index<1>{});
  });
}
