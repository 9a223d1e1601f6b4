// Epilogues of integer sums: scaling to floats with statistics, or the fused
// expression.

// Applies the epilogue to one column of vectors of a tile.
template <class V>
OCTET_INLINE void finish_column(const int32_t* sums, int64_t rows, int width,
                                const Epilogue& e) {
  const V rescale = load<V>(e.rescale);
  V sum = {}, squares = {};
  if (e.statistics != nullptr) {
    sum = load<V>(e.statistics);
    squares = load<V>(e.statistics + e.statistics_row);
  }
  float* out = e.out;
  for (int64_t t = 0; t < rows; ++t, sums += width, out += e.pixel) {
    V z;
    if constexpr (lanes_of<V>() == 1) {
      z = static_cast<float>(*sums);
    } else {
      z = __builtin_convertvector(load<typename IntsOf<V>::Type>(sums), V);
    }
    z = rounded<V>(z * rescale);
    store(out, z);
    sum = sum + z;
    squares = plus_product(squares, z, z);
  }
  if (e.statistics != nullptr) {
    store(e.statistics, sum);
    store(e.statistics + e.statistics_row, squares);
  }
}

OCTET_INLINE Epilogue from_channel(Epilogue e, int64_t channel) {
  e.out += channel;
  e.rescale += channel;
  if (e.statistics != nullptr) e.statistics += channel;
  return e;
}

OCTET_NOINLINE void finish_codes(const int32_t* sums, int64_t rows, int width,
                                 int channels, const Epilogue& e) {
  int c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    finish_column<Lanes>(sums + c, rows, width, from_channel(e, c));
  }
  for (; c + 4 <= channels; c += 4) {
    finish_column<FourLanes>(sums + c, rows, width, from_channel(e, c));
  }
  for (; c < channels; ++c) {
    finish_column<float>(sums + c, rows, width, from_channel(e, c));
  }
}

// Stores a tile of channels [k, k + channels) by the product's epilogue.
template <bool Fuse>
OCTET_INLINE void finish_tile(const int32_t* sums, const FusedTile& t,
                              int64_t k, int channels, const Epilogue& e) {
  if constexpr (Fuse) {
    fuse_tile(sums, t, k, channels, e);
  } else {
    Epilogue of_tile = from_channel(e, k);
    of_tile.out += t.row * e.line + t.col * e.pixel;
    finish_codes(sums, t.count, t.width, channels, of_tile);
  }
}
