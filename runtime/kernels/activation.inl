// Elementwise activation functions and their derivatives. The polynomials are
// minimax fits of the relative error (Lawson's iteration on Chebyshev nodes),
// of the lowest degree whose error is below the rounding error.

OCTET_INLINE int32_t as_int(float v) { return __builtin_bit_cast(int32_t, v); }
OCTET_INLINE IntLanes as_int(Lanes v) {
  return __builtin_bit_cast(IntLanes, v);
}
OCTET_INLINE float as_float(int32_t v) { return __builtin_bit_cast(float, v); }
OCTET_INLINE Lanes as_float(IntLanes v) { return __builtin_bit_cast(Lanes, v); }

template <class V, int N>
OCTET_INLINE V polynomial(V x, const float (&c)[N]) {
  V y = splat<V>(c[N - 1]);
  for (int i = N - 2; i >= 0; --i) y = y * x + c[i];
  return y;
}

// x = k * ln 2 + r with |r| <= ln(2)/2; p = exp(r) - 1. `biased` holds k + 127,
// the exponent of a float, in its low bits.
template <class V>
struct Exponent {
  decltype(as_int(V{})) biased;
  V k, p;
};

template <class V>
OCTET_INLINE Exponent<V> split_exponent(V x) {
  constexpr float c[] = {0.49999994f, 0.166665211f, 0.041668389f,
                         0.00836871658f, 0.00138145976f};
  // 1.5 * 2^23 rounds to integers.
  const V magic = splat<V>(12582912.0f + 127);
  const V m = x * 1.44269504f + magic;
  const V k = m - magic;
  // ln 2 in two parts; the first has few bits, so that k times it is exact.
  const V r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
  // Estrin's scheme: half the dependency chain of Horner's.
  const V r2 = r * r;
  const V low = r * c[1] + c[0], high = r * c[3] + c[2];
  return {as_int(m), k, r + r2 * ((r2 * c[4] + high) * r2 + low)};
}

// exp(x) for -110 <= x <= 89: infinity above 88.73, subnormal results rounded
// once.
template <class V>
OCTET_INLINE V bounded_exp(V x) {
  const Exponent<V> e = split_exponent(x);
#ifdef __AVX512F__
  if constexpr (lanes_of<V>() == kLanes)
    return scaled_by_power(e.p + 1.0f, e.k);
#endif
  const auto k = e.biased - as_int(splat<V>(12582912.0f + 127));
  const auto half = k >> 1;
  return (e.p + 1.0f) * as_float((half + 127) << 23) *
         as_float((k - half + 127) << 23);
}

template <class V>
OCTET_INLINE V exp_of(V x) {
  return bounded_exp<V>(clip<V>(x, splat<V>(-104.0f), splat<V>(89.0f)));
}

// exp(x) for |x| <= kNormalExponent; all factors are normal numbers.
constexpr float kNormalExponent = 87;
template <class V>
OCTET_INLINE V normal_exp(V x) {
  const Exponent<V> e = split_exponent(x);
  const V scale = as_float(e.biased << 23);
  return e.p * scale + scale;
}

// exp(x) + 1 for |x| <= kNormalExponent.
template <class V>
OCTET_INLINE V normal_exp_plus_one(V x) {
  const Exponent<V> e = split_exponent(x);
  const V scale = as_float(e.biased << 23);
  return e.p * scale + (scale + 1.0f);
}

// exp(x) - 1 for x <= 0; without cancellation near 0.
template <class V>
OCTET_INLINE V expm1_of(V x) {
  const Exponent<V> e =
      split_exponent(clip<V>(x, splat<V>(-30.0f), splat<V>(0.0f)));
  const V scale = as_float(e.biased << 23);
  return e.p * scale + (scale - 1.0f);
}

// log(1 + u) for u in [0,1]: 2 atanh(s) with s = u / (2 + u).
template <class V>
OCTET_INLINE V log1p_of(V u) {
  constexpr float c[] = {0.333333373f, 0.199994385f, 0.143084422f, 0.107138351f,
                         0.121504463f};
  const V s = u / (u + 2.0f);
  const V z = s * s;
  return (s + s * z * polynomial(z, c)) * 2.0f;
}

// Clips x so that the logistic function and its derivative are normal numbers.
// The function is constant, 1.6e-38, below.
template <class V>
OCTET_INLINE V logistic_bound(V x) {
  return clip<V>(x, splat<V>(-kNormalExponent), splat<V>(kNormalExponent));
}

// Value and derivative of the logistic function.
template <class V>
struct Logistic {
  V value, slope;
};

template <class V>
OCTET_INLINE Logistic<V> logistic(V x) {
  const V e = normal_exp<V>(-logistic_bound(x));
  const V value = splat<V>(1) / (e + 1.0f);
  return {value, value * (e * value)};
}

template <class V>
OCTET_INLINE V tanh_of(V x) {
  constexpr float c[] = {-0.333333313f, 0.133331954f,    -0.0539453775f,
                         0.0216926057f, -0.00815627817f, 0.00212274399f};
  const V a = clip<V>(magnitude(x), splat<V>(0), splat<V>(10));
  const V z = a * a;
  const V near = a + a * z * polynomial(z, c);
  const V far = splat<V>(1) - splat<V>(2) / (normal_exp<V>(a + a) + 1.0f);
  const V t = a < 0.625f ? near : far;
  return x < 0.0f ? -t : t;
}

// Standard normal distribution at -|x|: density * sqrt(2 pi) and tail
// probability, both accurate to a few units in the last place.
template <class V>
struct NormalTail {
  V density, probability;
};

template <class V>
OCTET_INLINE NormalTail<V> normal_tail(V x) {
  constexpr float c[] = {0.119686693f,  0.119571812f,  0.110235445f,
                         0.0783895403f, 0.0961571485f, -0.0794240907f,
                         0.191785261f,  -0.228214145f, 0.112435848f,
                         -0.0206235126f};
  const V a = clip<V>(magnitude(x), splat<V>(0), splat<V>(14.5f));
  // a*a in two parts; `high` has 12 bits, so that its square is exact.
  const V high = as_float(as_int(a) & -4096);
  const V rest = (a - high) * (a + high) * -0.5f;
  const V correction =
      rest + rest * rest * (rest * (rest * (1.0f / 24) + (1.0f / 6)) + 0.5f);
  const V e = bounded_exp<V>(rounded(high * high) * -0.5f);
  const V density = e + e * correction;
  const V t = splat<V>(1) / (a * 0.3f + 1.0f);
  return {density, density * t * polynomial(t, c)};
}

constexpr float kTanhGelu = 1.59576912f;  // 2 sqrt(2 / pi)
constexpr float kTanhGeluCube = 0.044715f;

// The branches are selected at compile time.
template <Function F, class V>
OCTET_INLINE V activated(const Activation& a, V x) {
  const V zero = splat<V>(0);
  const V one = splat<V>(1);
  if constexpr (F == Function::elu) {
    return (x > 0.0f ? x : expm1_of(x) * a.alpha) * a.beta;
  } else if constexpr (F == Function::exponential) {
    return exp_of(x);
  } else if constexpr (F == Function::gelu) {
    const V tail = normal_tail(x).probability;
    // -infinity times a tail of 0 must be 0, not NaN.
    const V bounded = x < -40.0f ? splat<V>(-40) : x;
    return bounded * (x < 0.0f ? tail : one - tail);
  } else if constexpr (F == Function::gelu_tanh) {
    const V bounded = x < -40.0f ? splat<V>(-40) : x;
    const V u = bounded + bounded * bounded * bounded * kTanhGeluCube;
    return bounded * logistic<V>(u * kTanhGelu).value;
  } else if constexpr (F == Function::hard_sigmoid) {
    return clip<V>(x + 3.0f, zero, splat<V>(6)) / 6.0f;
  } else if constexpr (F == Function::hard_swish) {
    const V bounded = x < -3.0f ? splat<V>(-3) : x;
    return bounded * (clip<V>(x + 3.0f, zero, splat<V>(6)) / 6.0f);
  } else if constexpr (F == Function::relu) {
    const V top = splat<V>(a.gamma);
    const V above = x > top ? top : x;
    // 0 * infinity is NaN: a slope of 0 is a special case.
    const V below = a.alpha == 0 ? (x != x ? x : zero) : (x - a.beta) * a.alpha;
    return x > a.beta ? above : below;
  } else if constexpr (F == Function::sigmoid) {
    return logistic(x).value;
  } else if constexpr (F == Function::softplus) {
    const V least = splat<V>(-kNormalExponent);
    return at_least(x, zero) +
           log1p_of(normal_exp<V>(at_least<V>(-magnitude(x), least)));
  } else if constexpr (F == Function::softsign) {
    const V bounded = clip<V>(x, splat<V>(-1e30f), splat<V>(1e30f));
    return bounded / (magnitude(bounded) + 1.0f);
  } else if constexpr (F == Function::swish) {
    const V bounded = at_least(x, splat<V>(-kNormalExponent));
    return bounded /
           normal_exp_plus_one<V>(-at_most(bounded, splat<V>(kNormalExponent)));
  } else {
    return tanh_of(x);
  }
}

template <Function F, class V>
OCTET_INLINE V slope_of(const Activation& a, V x) {
  const V zero = splat<V>(0);
  const V one = splat<V>(1);
  if constexpr (F == Function::elu) {
    return (x > 0.0f ? one : exp_of(x) * a.alpha) * a.beta;
  } else if constexpr (F == Function::exponential) {
    return exp_of(x);
  } else if constexpr (F == Function::gelu) {
    const NormalTail<V> tail = normal_tail(x);
    const V p = x < 0.0f ? tail.probability : one - tail.probability;
    const V bounded = clip<V>(x, splat<V>(-40), splat<V>(40));
    return p + bounded * tail.density * 0.398942280f;  // 1 / sqrt(2 pi)
  } else if constexpr (F == Function::gelu_tanh) {
    const V v = clip<V>(x, splat<V>(-40), splat<V>(40));
    const V square = v * v;
    const Logistic<V> s =
        logistic<V>((v + v * square * kTanhGeluCube) * kTanhGelu);
    const V du = square * (3 * kTanhGeluCube * kTanhGelu) + kTanhGelu;
    return s.value + v * s.slope * du;
  } else if constexpr (F == Function::hard_sigmoid) {
    return masked(splat<V>(1.0f / 6), x, splat<V>(-3), splat<V>(3));
  } else if constexpr (F == Function::hard_swish) {
    const V inside = (x + x + 3.0f) / 6.0f;
    return x > -3.0f ? (x < 3.0f ? inside : one) : zero;
  } else if constexpr (F == Function::relu) {
    const V above = x < a.gamma ? one : zero;
    return x > a.beta ? above : splat<V>(a.alpha);
  } else if constexpr (F == Function::sigmoid) {
    return logistic(x).slope;
  } else if constexpr (F == Function::softplus) {
    return logistic(x).value;
  } else if constexpr (F == Function::softsign) {
    const V sum = magnitude(x) + 1.0f;
    return one / sum / sum;  // sum * sum could overflow
  } else if constexpr (F == Function::swish) {
    const V bounded = logistic_bound(x);
    const Logistic<V> s = logistic(bounded);
    return s.value + bounded * s.slope;
  } else {
    return logistic<V>(x + x).slope * 4.0f;
  }
}

template <Function F, class V>
OCTET_INLINE void activate_at(const Activation& a, int64_t i) {
  const V x = load<V>(a.x + i);
  if (a.dy == nullptr) {
    store(a.out + i, activated<F, V>(a, x));
  } else {
    store(a.out + i, load<V>(a.dy + i) * slope_of<F, V>(a, x));
  }
}

template <Function F>
OCTET_NOINLINE void activate_all(const Activation& arguments) {
  const Activation a = arguments;  // a copy: stores cannot alias it
  int64_t i = 0;
  for (; i + kLanes <= a.n; i += kLanes) activate_at<F, Lanes>(a, i);
  for (; i < a.n; ++i) activate_at<F, float>(a, i);
}

void activate(const Activation& a) {
  switch (a.function) {
    case Function::elu:
      return activate_all<Function::elu>(a);
    case Function::exponential:
      return activate_all<Function::exponential>(a);
    case Function::gelu:
      return activate_all<Function::gelu>(a);
    case Function::gelu_tanh:
      return activate_all<Function::gelu_tanh>(a);
    case Function::hard_sigmoid:
      return activate_all<Function::hard_sigmoid>(a);
    case Function::hard_swish:
      return activate_all<Function::hard_swish>(a);
    case Function::relu:
      return activate_all<Function::relu>(a);
    case Function::sigmoid:
      return activate_all<Function::sigmoid>(a);
    case Function::softplus:
      return activate_all<Function::softplus>(a);
    case Function::softsign:
      return activate_all<Function::softsign>(a);
    case Function::swish:
      return activate_all<Function::swish>(a);
    case Function::tanh:
      return activate_all<Function::tanh>(a);
  }
}
