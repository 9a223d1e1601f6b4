// Weights: matrices whose columns are output channels.

template <class V>
OCTET_INLINE void absmax_block(float* top, const float* x, int64_t rows,
                               int64_t channels) {
  V best = {};
  for (int64_t row = 0; row < rows; ++row, x += channels) {
    const V v = magnitude<V>(load<V>(x));
    // A NaN wins and stays: nothing compares greater than it.
    best = ((v > best) | (v != v)) ? v : best;
  }
  store(top, best);
}

void absmax_columns(float* top, const float* x, int64_t rows,
                    int64_t channels) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    absmax_block<Lanes>(top + c, x + c, rows, channels);
  }
  for (; c < channels; ++c) {
    absmax_block<float>(top + c, x + c, rows, channels);
  }
}

template <class V>
OCTET_INLINE void quantize_block(const ColumnGrid& g, int64_t c) {
  const V scale = load<V>(g.scale + c);
  const Rounding<V> grid = rounding<V>(scale, g.low, g.high);
  for (int64_t row = 0, at = c; row < g.rows; ++row, at += g.channels) {
    const V q = codes<V>(load<V>(g.x + at), grid);
    store(g.codes + at, q);
    if (g.real != nullptr) store(g.real + at, q * scale);
  }
}

void quantize_columns(const ColumnGrid& arguments) {
  const ColumnGrid g = arguments;
  int64_t c = 0;
  for (; c + kLanes <= g.channels; c += kLanes) quantize_block<Lanes>(g, c);
  for (; c < g.channels; ++c) quantize_block<float>(g, c);
}
