// Evaluation of a pointwise expression (see Evaluation) for a run of channels.

// Constants of all runs.
template <class V>
struct Constants {
  V low2, high2, low, high;
  Rounding<V> qparams2, qparams;
  V scale2, factor;
};
template <class V>
OCTET_INLINE Constants<V> constants(const Evaluation& e) {
  return {splat<V>(e.low2),
          splat<V>(e.high2),
          splat<V>(e.low),
          splat<V>(e.high),
          rounding<V>(splat<V>(e.scale2), e.code_low2, e.code_high2),
          rounding<V>(splat<V>(e.scale), e.code_low, e.code_high),
          splat<V>(e.scale2),
          splat<V>(e.factor)};
}

// One plain function per kind of expression: nested closures would spill every
// constant to the stack.
template <class V, int Terms>
OCTET_INLINE V value_at(const Evaluation& e, const Constants<V>& k, int64_t at,
                        int64_t c) {
  V v = load<V>(e.t + at);
  if constexpr (Terms >= 1) v = v * load<V>(e.a + c) + load<V>(e.b + c);
  if constexpr (Terms >= 2) {
    V u = load<V>(e.t2 + at) * load<V>(e.a2 + c) + load<V>(e.b2 + c);
    u = clip<V>(u, k.low2, k.high2);
    if constexpr (Terms == 3) {
      u = codes<V>(u, k.qparams2) * k.scale2;
      u = rounded(u);  // rounded separately, like DequantizeLinear's output
    }
    v = v + u;
  }
  if constexpr (Terms >= 1) v = clip<V>(v, k.low, k.high);
  return v;
}

// Traversal of image rows. If the low bits of a position give its channel, a
// row is one run, otherwise each pixel is. Few channels are repeated to fill a
// vector.
template <int Terms>
struct Runs {
  explicit Runs(const Evaluation& arguments) : e(arguments) {
    whole = Terms == 0 || (e.c & (e.c - 1)) == 0;
    if (Terms == 0 || !whole) return;
    mask = (e.c > kLanes ? e.c : kLanes) - 1;
    if (e.c >= kLanes) return;
    const float** const all[] = {&e.a, &e.b, &e.a2, &e.b2};
    for (int i = 0; i < (Terms == 1 ? 2 : 4); ++i) {
      for (int64_t c = 0; c < kLanes; ++c) {
        repeated[i][c] = (*all[i])[c & (e.c - 1)];
      }
      *all[i] = repeated[i];
    }
  }
  Runs(const Runs&) = delete;

  Evaluation e;  // a copy: stores cannot alias it
  bool whole;
  int64_t mask = -1;  // position in a run -> channel
  float repeated[4][kLanes];
};

// Quantizes values [i, run) of a run in whole vectors V and calls put(i,
// kToInteger + q). Returns the end of the processed values.
template <class V, int Terms, bool Keep, class Put>
OCTET_INLINE int64_t rounded_run(const Runs<Terms>& runs, const Constants<V>& k,
                                 int64_t at, int64_t i, int64_t run, bool& nan,
                                 Put put) {
  const Evaluation& e = runs.e;
  constexpr int kStep = lanes_of<V>();
  constexpr int64_t kBlock = 16 * kStep;  // seldom contains a near tie
  while (i + kStep <= run) {
    const int64_t begin = i;
    const int64_t end = run - begin < kBlock ? run : begin + kBlock;
    LargestMagnitude<V> off;
    for (; i + kStep <= end; i += kStep) {
      const V v = value_at<V, Terms>(e, k, at + i, i & runs.mask);
      if constexpr (Keep) store(e.keep + at + i, v);
      put(i, untied_codes<V>(v, k.qparams, off));
    }
    if (__builtin_expect(!off.above(k.qparams.sure), 1)) continue;
    for (int64_t j = begin; j < i; j += kStep) {
      const V v = value_at<V, Terms>(e, k, at + j, j & runs.mask);
      put(j, shifted_codes<V>(v, k.qparams, nan));
    }
  }
  return i;
}
