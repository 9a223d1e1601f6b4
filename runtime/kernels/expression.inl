// The value of a pointwise expression (see Evaluation) at one run of channels.

// What all runs share.
template <class V>
struct Constants {
  V low2, high2, low, high;
  Rounding<V> grid2, grid;
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

// One plain function per kind of expression: nested closures would keep every
// constant on the stack.
template <class V, int Terms>
OCTET_INLINE V value_at(const Evaluation& e, const Constants<V>& k, int64_t at,
                        int64_t c) {
  V v = load<V>(e.t + at);
  if constexpr (Terms >= 1) v = v * load<V>(e.a + c) + load<V>(e.b + c);
  if constexpr (Terms >= 2) {
    V u = load<V>(e.t2 + at) * load<V>(e.a2 + c) + load<V>(e.b2 + c);
    u = clip<V>(u, k.low2, k.high2);
    if constexpr (Terms == 3) {
      u = codes<V>(u, k.grid2) * k.scale2;
      u = rounded(u);  // a value of its own, as DequantizeLinear's output is
    }
    v = v + u;
  }
  if constexpr (Terms >= 1) v = clip<V>(v, k.low, k.high);
  return v;
}
