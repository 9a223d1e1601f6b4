// Pointwise passes: evaluation of expressions, masking of gradients.

OCTET_INLINE void clear(float* p, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = 0.0f;
}

// Evaluates values [i, run) of a run in whole vectors V. Returns the end of the
// processed values.
template <class V, int Terms, bool Quantize, bool Keep>
OCTET_INLINE int64_t evaluate_run(const Runs<Terms>& runs,
                                  const Constants<V>& k, float* out, int64_t at,
                                  int64_t i, int64_t run) {
  if constexpr (Quantize) {
    bool nan = false;  // NaN propagates
    return rounded_run<V, Terms, Keep>(
        runs, k, at, i, run, nan,
        [&](int64_t to, V shifted) OCTET_INLINE_LAMBDA {
          store(out + to, (shifted - splat<V>(kToInteger)) * k.factor);
        });
  }
  const Evaluation& e = runs.e;
  for (; i + lanes_of<V>() <= run; i += lanes_of<V>()) {
    const V v = value_at<V, Terms>(e, k, at + i, i & runs.mask);
    if constexpr (Keep) store(e.keep + at + i, v);
    store(out + i, v);
  }
  return i;
}

template <int Terms, bool Quantize, bool Keep>
OCTET_NOINLINE void evaluate_image(const Evaluation& arguments) {
  const Runs<Terms> runs(arguments);
  const Evaluation& e = runs.e;
  const auto whole = constants<Lanes>(e);
  const auto four = constants<FourLanes>(e);
  const auto one = constants<float>(e);
  const int64_t run = runs.whole ? e.w * e.c : e.c;
  const int64_t count = runs.whole ? 1 : e.w;
  const int64_t row = (e.left + e.w + e.right) * e.c;
  clear(e.out, e.top * row);
  for (int64_t h = 0; h < e.h; ++h) {
    float* out = e.out + (e.top + h) * row;
    clear(out, e.left * e.c);
    out += e.left * e.c;
    int64_t at = h * e.w * e.c;
    for (int64_t r = 0; r < count; ++r, at += run, out += run) {
      int64_t i = 0;
      i = evaluate_run<Lanes, Terms, Quantize, Keep>(runs, whole, out, at, i,
                                                     run);
      if constexpr (kLanes > 4) {
        i = evaluate_run<FourLanes, Terms, Quantize, Keep>(runs, four, out, at,
                                                           i, run);
      }
      evaluate_run<float, Terms, Quantize, Keep>(runs, one, out, at, i, run);
    }
    clear(out, e.right * e.c);
  }
  clear(e.out + (e.top + e.h) * row, e.bottom * row);
}

template <int Terms>
OCTET_INLINE void evaluate_terms(const Evaluation& e) {
  if (e.quantize) {
    e.keep != nullptr ? evaluate_image<Terms, true, true>(e)
                      : evaluate_image<Terms, true, false>(e);
  } else {
    e.keep != nullptr ? evaluate_image<Terms, false, true>(e)
                      : evaluate_image<Terms, false, false>(e);
  }
}

void evaluate(const Evaluation& e) {
  switch (e.terms) {
    case 0:
      return evaluate_terms<0>(e);
    case 1:
      return evaluate_terms<1>(e);
    case 2:
      return evaluate_terms<2>(e);
    default:
      return evaluate_terms<3>(e);
  }
}

// Masks one block of channels over all pixels, with its sums in registers.
template <class V>
OCTET_INLINE void mask_block(float* out, const float* in, int64_t pixels,
                             const GradientMask& m, int64_t c) {
  const V low = splat<V>(m.low);
  const V high = splat<V>(m.high);
  const V a = m.a != nullptr ? load<V>(m.a + c) : splat<V>(1);
  const V b = m.b != nullptr ? load<V>(m.b + c) : splat<V>(0);
  V g_sum = {}, gz_sum = {}, gs_sum = {}, slope_sum = {};
  if (m.sums != nullptr) {
    g_sum = load<V>(m.sums + c);
    gz_sum = load<V>(m.sums + m.channels + c);
    gs_sum = load<V>(m.sums + 2 * m.channels + c);
  }
  if (m.slopes != nullptr) slope_sum = load<V>(m.slopes + c);
  for (int64_t p = 0, at = c; p < pixels; ++p, at += m.channels) {
    V g = load<V>(in + at);
    if (m.others != nullptr) g = g + load<V>(m.others + at);
    const V z = load<V>(m.z + at);
    const V y = m.value != nullptr ? load<V>(m.value + at) : z * a + b;
    if (m.slopes != nullptr) {
      slope_sum = plus_slope<V>(slope_sum, g, y, m.slope);
    }
    g = masked(g, y, low, high);
    store(out + at, g);
    g_sum = g_sum + g;
    gz_sum = plus_product(gz_sum, g, z);
    if (m.second != nullptr) {
      gs_sum = plus_product(gs_sum, g, load<V>(m.second + at));
    }
  }
  if (m.slopes != nullptr) store(m.slopes + c, slope_sum);
  if (m.sums == nullptr) return;
  store(m.sums + c, g_sum);
  store(m.sums + m.channels + c, gz_sum);
  store(m.sums + 2 * m.channels + c, gs_sum);
}

void mask(float* out, const float* in, int64_t pixels,
          const GradientMask& arguments) {
  const GradientMask m = arguments;
  for_channel_blocks(m.channels, [&](auto v, int64_t c) {
    mask_block<decltype(v)>(out, in, pixels, m, c);
  });
}

void accumulate(float* out, const float* in, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    store(out + i, load<Lanes>(out + i) + load<Lanes>(in + i));
  }
  for (; i < n; ++i) out[i] = out[i] + in[i];
}

void prepare(FusedEpilogue& f) {
  bool quantized = f.output_count > 0;
  for (int o = 0; o < f.output_count; ++o) {
    FusedOutput& output = f.outputs[o];
    const auto qparams =
        rounding<float>(output.scale, output.code_low, output.code_high);
    output.inverse = qparams.inverse;
    output.sure = qparams.sure;
    // See untied_codes().
    const bool turns_ties = output.zero_byte % 2 != 0;
    if (turns_ties && output.sure == 0.5f) output.sure = 0.499f;
    quantized &= output.form != StorageFormat::values;
  }
  const float infinity = __builtin_inff();
  f.clips = f.low > -infinity || f.high < infinity;
  f.clips2 = f.low2 > -infinity || f.high2 < infinity;
  f.affine_only = f.terms == 1 && f.output_count == 1 && !quantized &&
                  f.activate == nullptr;
  // Rounding is monotonic: quantizing clipped values equals clipping quantized
  // values at the quantized bounds.
  if (!quantized || !f.clips || f.activate != nullptr) return;
  f.clips = false;
  for (int o = 0; o < f.output_count; ++o) {
    FusedOutput& output = f.outputs[o];
    const auto qparams = qparams_of<float>(output);
    const float low = output.code_low, high = output.code_high;
    if (f.low > -infinity) output.code_low = codes<float>(f.low, qparams);
    if (f.high < infinity) output.code_high = codes<float>(f.high, qparams);
    output.code_low = clip(output.code_low, low, high);
    output.code_high = clip(output.code_high, output.code_low, high);
  }
}
