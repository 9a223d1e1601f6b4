// FusedEpilogue epilogue of sums (see FusedEpilogue): the arithmetic of
// expression.inl without a round trip through memory.

// Sums of `count` pixels of `rows` rows, at most 32 in a row, `width` apart.
constexpr int kMostFusedPixels = 32;
static_assert(kMaxRows1 <= kMostFusedPixels);
struct FusedTile {
  int64_t row, col, count;
  int width;
  int64_t rows = 1;
};

// Calls run(sums, tile) for each row of a tile.
template <class Sum, class Run>
OCTET_INLINE void for_rows_of(const Sum* sums, const FusedTile& t, Run run) {
  for (int64_t r = 0; r < t.rows; ++r, sums += t.count * t.width) {
    run(sums, FusedTile{t.row + r, t.col, t.count, t.width});
  }
}

enum class OtherTerm { none, affine, floats, bytes, shorts };

// Specialized kinds of output, or any.
enum class FusedOutputs { any, values, real, float_codes, bytes, shorts };
// Storage formats specialized for integer sums: the format of the multiplied
// values. Eight lanes without dot products multiply both formats.
constexpr bool follows(StorageFormat form, const int32_t*) {
#ifdef OCTET_VNNI
  return form == StorageFormat::bytes;
#else
  return form == StorageFormat::shorts || kLanes == 8;
#endif
}
// Storage formats specialized for float sums: eight lanes serve instruction
// sets with byte dot products and sets without.
constexpr bool follows(StorageFormat form, const float*) {
  return form == StorageFormat::bytes ? kLanes >= 8 : kLanes <= 8;
}

template <class V>
OCTET_INLINE void store_fused(const FusedOutput& o, const Rounding<V>& qparams,
                              int64_t at, V v, bool& nan) {
  switch (o.form) {
    case StorageFormat::values:
      store(static_cast<float*>(o.to) + at, v);
      return;
    case StorageFormat::real:
      store(static_cast<float*>(o.to) + at,
            codes<V>(v, qparams) * qparams.scale);
      return;
    case StorageFormat::float_codes:
      store(static_cast<float*>(o.to) + at, codes<V>(v, qparams));
      return;
    case StorageFormat::bytes:
      store_codes<V>(static_cast<CodeByte*>(o.to) + at,
                     shifted_codes<V>(v, qparams, nan), o.zero_byte);
      return;
    case StorageFormat::shorts:
      store_codes<V>(static_cast<CodeShort*>(o.to) + at,
                     shifted_codes<V>(v, qparams, nan), o.zero_byte);
      return;
  }
}

// Stores the specialized kinds without division.
template <class V, FusedOutputs OutputTile>
OCTET_INLINE void store_fast(void* to, int zero_byte,
                             const Rounding<V>& qparams, int64_t at, V v,
                             LargestMagnitude<V>& off) {
  if constexpr (OutputTile == FusedOutputs::values) {
    store(static_cast<float*>(to) + at, v);
  } else if constexpr (OutputTile == FusedOutputs::float_codes ||
                       OutputTile == FusedOutputs::real) {
    V code = untied_codes<V>(v, qparams, off) - splat<V>(kToInteger);
    if constexpr (OutputTile == FusedOutputs::real) code = code * qparams.scale;
    store(static_cast<float*>(to) + at, code);
  } else if constexpr (OutputTile == FusedOutputs::bytes) {
    store_low_bits<V>(static_cast<CodeByte*>(to) + at,
                      untied_codes<V>(v, qparams, off, zero_byte));
  } else {
    store_low_bits<V>(static_cast<CodeShort*>(to) + at,
                      untied_codes<V>(v, qparams, off));
  }
}

// Returns z behind a barrier against contraction with a later product.
template <class V>
OCTET_INLINE V sum_at(const float* sums, const float* rescale, V) {
  V z = load<V>(sums);
  if (rescale != nullptr) z = z * load<V>(rescale);
  return rounded<V>(z);
}
template <class V>
OCTET_INLINE V sum_at(const int32_t* sums, const float* rescale, V) {
  V z;
  if constexpr (lanes_of<V>() == 1) {
    z = static_cast<float>(*sums);
  } else {
    z = __builtin_convertvector(load<typename IntsOf<V>::Type>(sums), V);
  }
  return rounded<V>(z * load<V>(rescale));
}

template <class Sum>
OCTET_INLINE FusedOutputs outputs_of(const FusedEpilogue& f, const Sum* sums) {
  if (f.output_count != 1) return FusedOutputs::any;
  const StorageFormat form = f.outputs[0].form;
  if (form == StorageFormat::values) return FusedOutputs::values;
  if (form == StorageFormat::real) return FusedOutputs::real;
  if (form == StorageFormat::float_codes) return FusedOutputs::float_codes;
  if (!follows(form, sums)) return FusedOutputs::any;
  return form == StorageFormat::bytes ? FusedOutputs::bytes
                                      : FusedOutputs::shorts;
}

// Evaluates a pointwise expression of sums for a run of channels.
template <class V, OtherTerm Other>
struct FusedValue {
  V a{}, b{}, low{}, high{}, low2{}, high2{}, other_scale{}, other_zero{};
  Rounding<V> qparams2{};
  const void* other;
  int other_zero_byte;
  bool clips, clips2, quantize2;

  OCTET_INLINE FusedValue(const FusedEpilogue& f, int64_t channel)
      : other(f.other),
        other_zero_byte(f.other_zero_byte),
        clips(f.clips),
        clips2(f.clips2),
        quantize2(f.quantize2) {
    if constexpr (Other != OtherTerm::none) {
      a = load<V>(f.a + channel);
      b = load<V>(f.b + channel);
      low = splat<V>(f.low);
      high = splat<V>(f.high);
    }
    if constexpr (Other > OtherTerm::affine) {
      low2 = splat<V>(f.low2);
      high2 = splat<V>(f.high2);
      other_scale = splat<V>(f.other_scale);
      other_zero = splat<V>(f.other_zero);
      if (quantize2) {
        qparams2 = rounding<V>(splat<V>(f.scale2), f.code_low2, f.code_high2);
      }
    }
  }

  OCTET_INLINE V at(V v, int64_t other_at) const {
    if constexpr (Other != OtherTerm::none) v = v * a + b;
    if constexpr (Other > OtherTerm::affine) {
      if (clips2) v = clip<V>(v, low2, high2);
      if (quantize2) v = rounded<V>(codes<V>(v, qparams2) * qparams2.scale);
      V u;
      if constexpr (Other == OtherTerm::floats) {
        u = load<V>(static_cast<const float*>(other) + other_at) + other_zero;
      } else if constexpr (Other == OtherTerm::bytes) {
        u = load_codes<V>(static_cast<const CodeByte*>(other) + other_at,
                          other_zero_byte) *
            other_scale;
      } else {
        u = load_codes<V>(static_cast<const CodeShort*>(other) + other_at,
                          other_zero_byte) *
            other_scale;
      }
      v = v + rounded<V>(u);
    }
    if (Other != OtherTerm::none && clips) v = clip<V>(v, low, high);
    return v;
  }
};

template <class V>
OCTET_INLINE Rounding<V> qparams_of(const FusedOutput& o) {
  return {splat<V>(o.scale), splat<V>(o.inverse), splat<V>(o.code_low),
          splat<V>(o.code_high), splat<V>(o.sure)};
}

// Writes channels [c, c + lanes) of a tile to `values`, pixel by pixel. `at` is
// the first channel in the image.
template <class V, OtherTerm Other, class Sum>
OCTET_INLINE void values_of(float* values, const Sum* sums, const FusedTile& t,
                            int64_t at, const float* rescale,
                            const FusedEpilogue& f,
                            const FusedValue<V, Other>& value) {
  constexpr int kStep = lanes_of<V>();
  int64_t other = t.row * f.other_line + t.col * f.other_pixel + at;
  for (int64_t i = 0; i < t.count; ++i, sums += t.width) {
    store(values + i * kStep, value.at(sum_at(sums, rescale, V{}), other));
    other += f.other_pixel;
  }
  if (f.activate == nullptr) return;
  Activation call = f.function;
  call.x = values;
  call.out = values;
  call.n = t.count * kStep;
  f.activate(call);
}

template <class V, FusedOutputs OutputTile>
OCTET_INLINE bool store_column(const float* values, const FusedTile& t,
                               int64_t at, const FusedOutput& o) {
  const Rounding<V> qparams = qparams_of<V>(o);
  LargestMagnitude<V> off;
  for (int64_t i = 0; i < t.count; ++i, at += o.pixel) {
    const V v = load<V>(values + i * lanes_of<V>());
    store_fast<V, OutputTile>(o.to, o.zero_byte, qparams, at, v, off);
  }
  return OutputTile == FusedOutputs::values || !off.above(qparams.sure);
}

// Stores values without division. Returns false if one is near a tie.
template <class V>
OCTET_INLINE bool store_untied(const float* values, const FusedTile& t,
                               int64_t at, const FusedOutput& o) {
  switch (o.form) {
    case StorageFormat::values:
      return store_column<V, FusedOutputs::values>(values, t, at, o);
    case StorageFormat::real:
      return store_column<V, FusedOutputs::real>(values, t, at, o);
    case StorageFormat::float_codes:
      return store_column<V, FusedOutputs::float_codes>(values, t, at, o);
    case StorageFormat::bytes:
      return store_column<V, FusedOutputs::bytes>(values, t, at, o);
    case StorageFormat::shorts:
      return store_column<V, FusedOutputs::shorts>(values, t, at, o);
  }
  return false;
}

// Stores the values of values_of() in one of the outputs.
template <class V>
OCTET_NOINLINE void store_values(const float* values, const FusedTile& t,
                                 int64_t at, const FusedOutput& o, bool& nan) {
  at += t.row * o.line + t.col * o.pixel;
  if constexpr (lanes_of<V>() >= 8) {
    if (store_untied<V>(values, t, at, o)) return;
  }
  const Rounding<V> qparams = qparams_of<V>(o);
  for (int64_t i = 0; i < t.count; ++i, at += o.pixel) {
    store_fused<V>(o, qparams, at, load<V>(values + i * lanes_of<V>()), nan);
  }
}

// Writes the same channels to all outputs.
template <class V, OtherTerm Other, class Sum>
OCTET_NOINLINE void fuse_to_any(const Sum* sums, const FusedTile& t, int64_t at,
                                const float* rescale, const FusedEpilogue& f) {
  constexpr int kStep = lanes_of<V>();
  const FusedValue<V, Other> value(f, at);
  alignas(64) float values[kMostFusedPixels * kStep];
  values_of(values, sums, t, at, rescale, f, value);
  bool nan = false;
  for (int o = 0; o < f.output_count; ++o) {
    store_values<V>(values, t, at, f.outputs[o], nan);
  }
  if (nan) *f.nan = true;
}

// Writes the same channels to the only output. Returns false if a value is near
// a tie: then fuse_to_any() must repeat the tile.
template <class V, OtherTerm Other, FusedOutputs OutputTile, class Sum>
OCTET_INLINE bool fuse_to_one(const Sum* sums, const FusedTile& t, int64_t at,
                              const float* rescale, const FusedEpilogue& f) {
  const FusedValue<V, Other> value(f, at);
  const FusedOutput& output = f.outputs[0];
  const Rounding<V> qparams = qparams_of<V>(output);
  const int64_t count = t.count, width = t.width;
  const int64_t pixel = output.pixel, other_pixel = f.other_pixel;
  int64_t other = t.row * f.other_line + t.col * other_pixel + at;
  int64_t place = t.row * output.line + t.col * pixel + at;
  void* to = output.to;
  const int zero_byte = output.zero_byte;
  LargestMagnitude<V> off;
  if (f.activate != nullptr) {
    alignas(64) float values[kMostFusedPixels * lanes_of<V>()];
    values_of(values, sums, t, at, rescale, f, value);
    for (int64_t i = 0; i < count; ++i, place += pixel) {
      const V v = load<V>(values + i * lanes_of<V>());
      store_fast<V, OutputTile>(to, zero_byte, qparams, place, v, off);
    }
    return OutputTile == FusedOutputs::values || !off.above(qparams.sure);
  }
  for (int64_t i = 0; i < count; ++i, sums += width) {
    const V v = value.at(sum_at(sums, rescale, V{}), other);
    store_fast<V, OutputTile>(to, zero_byte, qparams, place, v, off);
    other += other_pixel;
    place += pixel;
  }
  return OutputTile == FusedOutputs::values || !off.above(qparams.sure);
}

template <class V, OtherTerm Other, FusedOutputs OutputTile, class Sum>
OCTET_INLINE void fuse_column(const Sum* sums, const FusedTile& t, int64_t at,
                              const float* rescale, const FusedEpilogue& f) {
  if constexpr (OutputTile != FusedOutputs::any) {
    if (fuse_to_one<V, Other, OutputTile>(sums, t, at, rescale, f)) return;
  }
  fuse_to_any<V, Other>(sums, t, at, rescale, f);
}

template <OtherTerm Other, FusedOutputs OutputTile, class Sum>
OCTET_NOINLINE void fuse_columns(const Sum* sums, const FusedTile& t, int64_t k,
                                 int channels, const Epilogue& e) {
  const FusedEpilogue& f = *e.fused;
  const int64_t at = e.channel + k;
  const float* rescale = e.rescale != nullptr ? e.rescale + k : nullptr;
  int c = 0;
  const auto run = [&](auto v) OCTET_INLINE_LAMBDA {
    using V = decltype(v);
    constexpr auto kOutputs =
        lanes_of<V>() < 8 ? FusedOutputs::any : OutputTile;
    for (; c + lanes_of<V>() <= channels; c += lanes_of<V>()) {
      fuse_column<V, Other, kOutputs>(
          sums + c, t, at + c, rescale != nullptr ? rescale + c : nullptr, f);
    }
  };
  run(Lanes{});
  if constexpr (kLanes > 8) run(EightLanes{});
  if constexpr (kLanes > 4) run(FourLanes{});
  run(0.0f);
}

template <OtherTerm Other, class Sum>
OCTET_INLINE void fuse_with(const Sum* sums, const FusedTile& t, int64_t k,
                            int channels, const Epilogue& e) {
  switch (outputs_of(*e.fused, sums)) {
    case FusedOutputs::values:
      return fuse_columns<Other, FusedOutputs::values>(sums, t, k, channels, e);
    case FusedOutputs::real:
      return fuse_columns<Other, FusedOutputs::real>(sums, t, k, channels, e);
    case FusedOutputs::float_codes:
      return fuse_columns<Other, FusedOutputs::float_codes>(sums, t, k,
                                                            channels, e);
    case FusedOutputs::bytes:
      if constexpr (follows(StorageFormat::bytes,
                            static_cast<const Sum*>(nullptr))) {
        fuse_columns<Other, FusedOutputs::bytes>(sums, t, k, channels, e);
      }
      return;
    case FusedOutputs::shorts:
      if constexpr (follows(StorageFormat::shorts,
                            static_cast<const Sum*>(nullptr))) {
        fuse_columns<Other, FusedOutputs::shorts>(sums, t, k, channels, e);
      }
      return;
    case FusedOutputs::any:
      return fuse_columns<Other, FusedOutputs::any>(sums, t, k, channels, e);
  }
}

// Applies the fused epilogue to channels [k, k + channels) of the product, step
// by step.
template <class Sum>
OCTET_INLINE void fuse_steps(const Sum* all, const FusedTile& tile, int64_t k,
                             int channels, const Epilogue& e) {
  const FusedEpilogue& f = *e.fused;
  for_rows_of(all, tile, [&](const Sum* sums, const FusedTile& t) {
    if (f.terms == 0) {
      fuse_with<OtherTerm::none>(sums, t, k, channels, e);
    } else if (f.terms == 1) {
      fuse_with<OtherTerm::affine>(sums, t, k, channels, e);
    } else if (f.other_form == StorageFormat::bytes) {
      fuse_with<OtherTerm::bytes>(sums, t, k, channels, e);
    } else if (f.other_form == StorageFormat::shorts) {
      fuse_with<OtherTerm::shorts>(sums, t, k, channels, e);
    } else {
      fuse_with<OtherTerm::floats>(sums, t, k, channels, e);
    }
  });
}

// Prefetches `bytes` bytes of each of `count` pixels.
template <int Write>
OCTET_INLINE void fetch_pixels(const void* from, int64_t pixel, int64_t bytes,
                               int64_t count) {
  const char* at = static_cast<const char*>(from);
  for (int64_t i = 0; i < count; ++i, at += pixel) {
    for (int64_t b = 0; b < bytes; b += 64) {
      __builtin_prefetch(at + b, Write, 3);
    }
  }
}

// Prefetches the epilogue's inputs and outputs during the sums of a tile: their
// cache lines are too far apart for the hardware prefetcher.
OCTET_INLINE void fetch_fused(const FusedTile& tile, int64_t k, int channels,
                              const Epilogue& e) {
  const FusedEpilogue& f = *e.fused;
  const int64_t at = e.channel + k;
  for (int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
    if (f.terms > 1) {
      const int64_t size = bytes_of(f.other_form);
      fetch_pixels<0>(
          static_cast<const char*>(f.other) +
              (row * f.other_line + tile.col * f.other_pixel + at) * size,
          f.other_pixel * size, channels * size, tile.count);
    }
    for (int i = 0; i < f.output_count; ++i) {
      const FusedOutput& o = f.outputs[i];
      const int64_t size = bytes_of(o.form);
      fetch_pixels<1>(static_cast<const char*>(o.to) +
                          (row * o.line + tile.col * o.pixel + at) * size,
                      o.pixel * size, channels * size, tile.count);
    }
  }
}
