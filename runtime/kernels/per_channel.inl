// Operations on weight matrices whose columns are output channels.

template <class V>
OCTET_INLINE void absmax_block(float* top, const float* x, int64_t rows,
                               int64_t channels) {
  V best = {};
  for (int64_t row = 0; row < rows; ++row, x += channels) {
    const V v = magnitude<V>(load<V>(x));
    // NaN wins: no value compares greater.
    best = ((v > best) | (v != v)) ? v : best;
  }
  store(top, best);
}

void absmax_columns(float* top, const float* x, int64_t rows,
                    int64_t channels) {
  for_channel_blocks(channels, [&](auto v, int64_t c) {
    absmax_block<decltype(v)>(top + c, x + c, rows, channels);
  });
}

template <class V, bool Real>
OCTET_INLINE void quantize_block(const ChannelQuantizeArgs& g, int64_t first,
                                 int64_t last, int64_t c) {
  const V scale = load<V>(g.scale + c);
  const Rounding<V> qparams = rounding<V>(scale, g.low, g.high);
  for (int64_t row = first; row < last; ++row) {
    const int64_t at = row * g.channels + c;
    V q = codes<V>(load<V>(g.x + at), qparams);
    if constexpr (Real) q = q * scale;
    store(g.out + at, q);
  }
}

// Processes a few rows at a time: neighboring columns share pages.
template <bool Real>
OCTET_INLINE void quantize_rows(const ChannelQuantizeArgs& g) {
  constexpr int64_t kRows = 32;
  for (int64_t row = 0; row < g.rows; row += kRows) {
    const int64_t end = row + kRows < g.rows ? row + kRows : g.rows;
    for_channel_blocks(g.channels, [&](auto v, int64_t c) {
      quantize_block<decltype(v), Real>(g, row, end, c);
    });
  }
}

void quantize_columns(const ChannelQuantizeArgs& arguments) {
  const ChannelQuantizeArgs g = arguments;
  if (g.real) {
    quantize_rows<true>(g);
  } else {
    quantize_rows<false>(g);
  }
}

// out = g if low < x < high (bounds per column), otherwise 0.
template <class V>
OCTET_INLINE void pass_block(const ColumnPass& p, int64_t c) {
  const V low = load<V>(p.low + c), high = load<V>(p.high + c);
  for (int64_t row = 0, at = c; row < p.rows; ++row, at += p.channels) {
    store(p.out + at, masked(load<V>(p.g + at), load<V>(p.x + at), low, high));
  }
}

void pass_columns(const ColumnPass& arguments) {
  const ColumnPass p = arguments;
  for_channel_blocks(p.channels,
                     [&](auto v, int64_t c) { pass_block<decltype(v)>(p, c); });
}

// Products of two floats are exact in doubles.
template <class V>
OCTET_INLINE void add_slopes_block(const ColumnSlopes& s, int64_t c) {
  using Doubles = typename DoublesOf<V>::Type;
  const V scale = load<V>(s.scale + c), between = splat<V>(s.between);
  const V low = splat<V>(s.low), high = splat<V>(s.high);
  const V magic = splat<V>(kToInteger);
  Doubles sum, g, wide;
  __builtin_memcpy(&sum, s.sums + c, sizeof(sum));
  for (int64_t row = 0, at = c; row < s.rows; ++row, at += s.stride) {
    const V steps = load<V>(s.x + at) / scale;
    const V code = (clip<V>(steps, low, high) + magic) - magic;
    const V inner = (code - steps) * between;
    const V slope = (steps > low) & (steps < high) ? inner : code;
    widen(load<V>(s.g + at), g);
    widen(slope, wide);
    sum += g * wide;
  }
  __builtin_memcpy(s.sums + c, &sum, sizeof(sum));
}

void add_slopes(const ColumnSlopes& arguments) {
  const ColumnSlopes s = arguments;
  for_channel_blocks(s.channels, [&](auto v, int64_t c) {
    add_slopes_block<decltype(v)>(s, c);
  });
}
