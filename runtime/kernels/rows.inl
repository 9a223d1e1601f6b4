// Softmax and normalization of rows. Sums are in double precision: eight
// chains, of which chain k adds the values i with i % 8 == k, added in the
// order of sum_of(), as in row_sum(). They do not depend on the vector width.

constexpr int kHalf = kLanes / 2;         // doubles per vector
constexpr int kChainVectors = 8 / kHalf;  // vectors of eight chains
typedef double Doubles __attribute__((vector_size(kLanes * 4)));
typedef float HalfLanes __attribute__((vector_size(kHalf * 4)));

// Rows that are processed together: the latencies of their sums overlap.
constexpr int kRowGroup = 4;

OCTET_INLINE Doubles widened(HalfLanes v) {
#ifdef __AVX512F__
  // Compilers convert two quarters.
  return (Doubles)_mm512_maskz_cvtps_pd(0xFF, (__m256)v);
#else
  return __builtin_convertvector(v, Doubles);
#endif
}

OCTET_INLINE Doubles widened(const float* p) {
  HalfLanes v;
  __builtin_memcpy(&v, p, sizeof(v));
  return widened(v);
}

template <int... I>
OCTET_INLINE Doubles widened(Lanes v, int first, Indices<I...>) {
  return widened(first == 0 ? __builtin_shufflevector(v, v, I...)
                            : __builtin_shufflevector(v, v, (I + kHalf)...));
}

OCTET_INLINE double sum_of(const double (&c)[8]) {
  return ((c[0] + c[4]) + (c[2] + c[6])) + ((c[1] + c[5]) + (c[3] + c[7]));
}

struct Chains {
  Doubles of[kChainVectors];

  OCTET_INLINE double sum() const {
    double c[8];
    __builtin_memcpy(c, of, sizeof(c));
    return sum_of(c);
  }
};

// Sums term(x, row) over each of R rows of n values.
template <int R, class Term>
OCTET_INLINE void sum_rows(const float* x, int64_t n, double (&sums)[R],
                           Term term) {
  Chains chains[R] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    unroll<R * kChainVectors>([&](auto k) OCTET_INLINE_LAMBDA {
      constexpr int r = k / kChainVectors, j = k % kChainVectors;
      chains[r].of[j] += term(widened(x + r * n + i + j * kHalf), r);
    });
  }
  unroll<R>([&](auto r) OCTET_INLINE_LAMBDA {
    double c[8];
    __builtin_memcpy(c, chains[r].of, sizeof(c));
    for (int64_t k = 0; i + k < n; ++k)
      c[k] += term(double{x[r * n + i + k]}, r);
    sums[r] = sum_of(c);
  });
}

// Products are rounded before their sums on every instruction set.
template <int R>
OCTET_INLINE void normalize_group(const NormalizedRows& c, int64_t row) {
  const float* x = c.x + row * c.n;
  const double count = static_cast<double>(c.n);
  double mean[R], squares[R];
  sum_rows<R>(x, c.n, mean, [](auto v, int) OCTET_INLINE_LAMBDA { return v; });
  for (double& m : mean) m /= count;
  sum_rows<R>(x, c.n, squares, [&](auto v, int r) OCTET_INLINE_LAMBDA {
    const auto d = v - mean[r];
    return rounded(d * d);
  });
  for (int r = 0; r < R; ++r, x += c.n) {
    const float high = static_cast<float>(mean[r]);
    const RowMoments m = {
        high, static_cast<float>(mean[r] - high),
        static_cast<float>(1 / __builtin_sqrt(squares[r] / count + c.epsilon))};
    if (c.moments != nullptr) c.moments[row + r] = m;
    float* y = c.y + (row + r) * c.n;
    for_channel_blocks(c.n, [&](auto v, int64_t i) OCTET_INLINE_LAMBDA {
      using V = decltype(v);
      const V scaled = ((load<V>(x + i) - m.high) - m.low) * m.factor;
      store(y + i,
            rounded<V>(scaled * load<V>(c.gamma + i)) + load<V>(c.beta + i));
    });
  }
}

void normalize(const NormalizedRows& arguments) {
  const NormalizedRows c = arguments;
  int64_t row = 0;
  for (; row + kRowGroup <= c.rows; row += kRowGroup) {
    normalize_group<kRowGroup>(c, row);
  }
  for (; row < c.rows; ++row) normalize_group<1>(c, row);
}

// Returns v with lane (i + S) % kLanes as lane i.
template <int S, int... I>
OCTET_INLINE Lanes rotated(Lanes v, Indices<I...>) {
  return __builtin_shufflevector(v, v, ((I + S) % kLanes)...);
}

template <int S>
OCTET_INLINE float largest_lane(Lanes v) {
  const Lanes larger =
      at_least(v, rotated<S>(v, typename MakeIndices<kLanes>::Type{}));
  if constexpr (S == 1) {
    return larger[0];
  } else {
    return largest_lane<S / 2>(larger);
  }
}

// Largest value; ignores NaN.
OCTET_INLINE float largest(const float* x, int64_t n) {
  constexpr int kChains = 4;
  const float least = -__builtin_inff();
  Lanes top[kChains];
  for (Lanes& t : top) t = splat<Lanes>(0) + least;
  int64_t i = 0;
  for (; i + kChains * kLanes <= n; i += kChains * kLanes) {
    unroll<kChains>([&](auto k) OCTET_INLINE_LAMBDA {
      top[k] = at_least(top[k], load<Lanes>(x + i + k * kLanes));
    });
  }
  for (; i + kLanes <= n; i += kLanes) {
    top[0] = at_least(top[0], load<Lanes>(x + i));
  }
  if (i < n) top[1] = at_least(top[1], load_first(x + i, n - i, least));
  top[0] = at_least(at_least(top[0], top[1]), at_least(top[2], top[3]));
  return largest_lane<kLanes / 2>(top[0]);
}

// Adds a vector whose first lane is value `at` of each eight.
OCTET_INLINE void add_lanes(Chains& chains, Lanes v, int at) {
  typename MakeIndices<kHalf>::Type half;
  const int k = at / kHalf;
  chains.of[k % kChainVectors] += widened(v, 0, half);
  chains.of[(k + 1) % kChainVectors] += widened(v, 1, half);
}

// y = exp(scale * x - top); returns the sum.
OCTET_INLINE double exponential_row(const float* x, float* y, int64_t n,
                                    float scale, float top) {
  constexpr int kStep = kLanes < 8 ? 8 : kLanes;
  const Lanes shift = splat<Lanes>(top);
  Chains chains = {};
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    unroll<kStep / kLanes>([&](auto k) OCTET_INLINE_LAMBDA {
      const float* from = x + i + k * kLanes;
      const Lanes e = exponential(rounded(load<Lanes>(from) * scale), shift);
      store(y + i + k * kLanes, e);
      add_lanes(chains, e, k * kLanes);
    });
  }
  unroll<kStep / kLanes>([&](auto k) OCTET_INLINE_LAMBDA {
    const int64_t at = i + k * kLanes;
    const int64_t count = n - at < kLanes ? n - at : kLanes;
    if (count <= 0) return;
    // Lanes beyond the row become 0.
    const Lanes v = load_first(x + at, count, -__builtin_inff());
    const Lanes e = exponential(rounded(v * scale), shift);
    store_first(y + at, count, e);
    add_lanes(chains, e, k * kLanes);
  });
  return chains.sum();
}

OCTET_INLINE void scale_row(float* y, int64_t n, float factor) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    store(y + i, load<Lanes>(y + i) * factor);
  if (i < n) store_first(y + i, n - i, load_first(y + i, n - i, 0) * factor);
}

template <int R>
OCTET_INLINE void softmax_group(const SoftmaxRows& c, int64_t row) {
  const float* x = c.x + row * c.row;
  float* y = c.y + row * c.row;
  float tops[R], factors[R];
  // Rounding preserves order: the largest product is that of the largest value.
  for (int r = 0; r < R; ++r) {
    tops[r] = rounded(largest(x + r * c.row, c.n) * c.scale);
  }
  for (int r = 0; r < R; ++r) {
    const int64_t at = r * c.row;
    const double sum = exponential_row(x + at, y + at, c.n, c.scale, tops[r]);
    factors[r] = static_cast<float>(1 / sum);
  }
  for (int r = 0; r < R; ++r) scale_row(y + r * c.row, c.n, factors[r]);
}

void softmax(const SoftmaxRows& arguments) {
  const SoftmaxRows c = arguments;
  int64_t row = 0;
  for (; row + kRowGroup <= c.rows; row += kRowGroup) {
    softmax_group<kRowGroup>(c, row);
  }
  for (; row < c.rows; ++row) softmax_group<1>(c, row);
}
