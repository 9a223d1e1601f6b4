// The two most frequent epilogues, without the dispatch of
// fused_epilogue.inl.

// Stores clip(round(multiplier * sum + offset)) of a vector of channels, the
// first of which is `at` in the image.
template <class V, class Code>
OCTET_INLINE void requantize_column(const int32_t* sums, const FusedTile& t,
                                    int64_t at, V multiplier,
                                    const FusedEpilogue& f) {
  const FusedOutput& o = f.outputs[0];
  const V offset = load<V>(f.offset + at);
  const V low = splat<V>(o.code_low), high = splat<V>(o.code_high);
  const V magic =
      splat<V>(kToInteger + static_cast<float>(zero_code<Code>(o.zero_byte)));
  Code* line = static_cast<Code*>(o.to) + t.row * o.line + t.col * o.pixel + at;
  const int64_t count = t.count, width = t.width, pixel = o.pixel;
  for (int64_t row = 0; row < t.rows; ++row, line += o.line) {
    Code* to = line;
    for (int64_t i = 0; i < count; ++i, sums += width, to += pixel) {
      const V sum =
          __builtin_convertvector(load<typename IntsOf<V>::Type>(sums), V);
      const V v = clip<V>(sum * multiplier + offset, low, high);
      store_low_bits<V>(to, v + magic);
    }
  }
}

// Returns false if a channel has no multiplier.
template <class V>
OCTET_INLINE bool requantize(const int32_t* sums, const FusedTile& t,
                             int64_t at, const FusedEpilogue& f) {
  const V multiplier = load<V>(f.multiplier + at);
  if (any_above(multiplier, multiplier)) return false;
  if (f.outputs[0].form == StorageFormat::bytes) {
    requantize_column<V, CodeByte>(sums, t, at, multiplier, f);
  } else {
    requantize_column<V, CodeShort>(sums, t, at, multiplier, f);
  }
  return true;
}

// Applies the fused epilogue with FusedEpilogue::multiplier to whole vectors.
template <class Sum>
OCTET_NOINLINE void requantize_columns(const Sum* sums, const FusedTile& t,
                                       int64_t k, int channels,
                                       const Epilogue& e) {
  int c = 0;
  const auto run = [&](auto v) OCTET_INLINE_LAMBDA {
    constexpr int kStep = lanes_of<decltype(v)>();
    for (; c + kStep <= channels; c += kStep) {
      if (!requantize<decltype(v)>(sums + c, t, e.channel + k + c, *e.fused)) {
        fuse_steps(sums + c, t, k + c, kStep, e);
      }
    }
  };
  run(Lanes{});
  if constexpr (kLanes > 8) run(EightLanes{});
  if (c < channels) fuse_steps(sums + c, t, k + c, channels - c, e);
}

// Stores clip(a * sum + b) of a vector of channels.
template <class V>
OCTET_INLINE void affine_column(const float* sums, const FusedTile& t,
                                int64_t at, const FusedEpilogue& f) {
  const FusedOutput& o = f.outputs[0];
  const V a = load<V>(f.a + at), b = load<V>(f.b + at);
  const V low = splat<V>(f.low), high = splat<V>(f.high);
  float* line = static_cast<float*>(o.to) + t.row * o.line + t.col * o.pixel;
  const int64_t count = t.count, width = t.width, pixel = o.pixel;
  for (int64_t row = 0; row < t.rows; ++row, line += o.line) {
    float* to = line + at;
    for (int64_t i = 0; i < count; ++i, sums += width, to += pixel) {
      store(to, clip<V>(load<V>(sums) * a + b, low, high));
    }
  }
}

// Applies an epilogue that is affine_only to float sums.
template <class Sum>
OCTET_NOINLINE void affine_columns(const Sum* sums, const FusedTile& t,
                                   int64_t k, int channels, const Epilogue& e) {
  const FusedEpilogue& f = *e.fused;
  const int64_t at = e.channel + k;
  int c = 0;
  const auto run = [&](auto v) OCTET_INLINE_LAMBDA {
    constexpr int kStep = lanes_of<decltype(v)>();
    for (; c + kStep <= channels; c += kStep) {
      affine_column<decltype(v)>(sums + c, t, at + c, f);
    }
  };
  run(Lanes{});
  if constexpr (kLanes > 8) run(EightLanes{});
  if constexpr (kLanes > 4) run(FourLanes{});
  run(0.0f);
}

template <class Sum>
constexpr bool kIsFloat = false;
template <>
constexpr bool kIsFloat<float> = true;
template <class Sum>
constexpr bool kRequantizes = !kIsFloat<Sum> && kLanes >= 8;

// Applies the fused epilogue to channels [k, k + channels) of the product.
template <class Sum>
OCTET_INLINE void fuse_tile(const Sum* sums, const FusedTile& t, int64_t k,
                            int channels, const Epilogue& e) {
  if constexpr (kRequantizes<Sum>) {
    if (e.fused->multiplier != nullptr) {
      return requantize_columns(sums, t, k, channels, e);
    }
  }
  if constexpr (kIsFloat<Sum>) {
    if (e.fused->affine_only && e.rescale == nullptr) {
      return affine_columns(sums, t, k, channels, e);
    }
  }
  fuse_steps(sums, t, k, channels, e);
}
