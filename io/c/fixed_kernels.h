// C functions of the fixed form: 32-bit integers instead of floats, as in
// TensorFlow Lite. "@" stands for the prefix of names.
// Source: tensorflow/lite/kernels/internal/common.h,
// reference/reduce.h, integer_ops/{add,conv,pooling}.h and reference/softmax.h;
// gemmlowp/fixedpoint/fixedpoint.h.
#pragma once

#include <string_view>

namespace octet::io::c {

inline constexpr std::string_view kRounding = R"(
/* a * b / 2^31, rounded to nearest, ties away from zero. */
static int32_t @_high_product(int32_t a, int32_t b) {
  const int64_t product = (int64_t)a * (int64_t)b;
  const int64_t nudge =
      product >= 0 ? (int64_t)1 << 30 : 1 - ((int64_t)1 << 30);
  return (int32_t)((product + nudge) / ((int64_t)1 << 31));
}

/* x / 2^exponent, rounded to nearest, ties away from zero. */
static int32_t @_rounding_shift(int32_t x, int32_t exponent) {
  const int32_t mask = (int32_t)(((int64_t)1 << exponent) - 1);
  const int32_t rest = (int32_t)((uint32_t)x & (uint32_t)mask);
  const int32_t threshold = (mask / 2) + (x < 0 ? 1 : 0);
  const int32_t quotient = x < 0 ? ~(~x >> exponent) : x >> exponent;
  return quotient + (rest > threshold ? 1 : 0);
}

static int32_t @_clamped(int32_t x, int32_t low, int32_t high) {
  return x < low ? low : (x > high ? high : x);
}
)";

inline constexpr std::string_view kScaled = R"(
/* x * multiplier * 2^(shift - 31). */
static int32_t @_scaled(int32_t x, int32_t multiplier, int32_t shift) {
  const uint32_t left = shift > 0 ? (uint32_t)shift : 0u;
  const int32_t shifted = (int32_t)((uint32_t)x << left);
  return @_rounding_shift(@_high_product(shifted, multiplier),
                          shift < 0 ? -shift : 0);
}
)";

inline constexpr std::string_view kFixedEpilogue = R"(
/* Factor multiplier * 2^(shift - 31). */
typedef struct {
  int32_t multiplier, shift;
} @_factor;

/* q = clamp(zero + scaled(v + bias)), of the sum with another buffer if it is
   not null. */
typedef struct {
  const SUM* bias;         /* per channel, or null */
  const @_factor* factors; /* null: 1 */
  int32_t per_channel;     /* 1: a factor per channel, 0: one */
  int32_t zero, low, high;
  const @_buffer* other;
  int32_t other_h, other_w; /* pixels of other per output */
  @_factor own, others, sum;
  int32_t sum_zero, sum_low, sum_high;
  const @_buffer* y;
} @_epilogue;

typedef struct {
  const void* x;
  const void* other;
  const void* multiplier;
  void* y[1];
} @_data;

/* v: scaled. */
static void @_store(const @_epilogue* e, const @_data* d, int32_t row,
                    int32_t col, int32_t k, int32_t v) {
  v = @_clamped(v + e->zero, e->low, e->high);
  if (e->other != NULL) {
    const @_buffer* b = e->other;
    const int32_t at =
        (row * e->other_h * b->w + col * e->other_w) * b->pixel + k;
    int32_t u = ((const INTEGER*)d->other)[at] - b->zero;
    v = @_scaled((v - e->zero) * UNIT, e->own.multiplier, e->own.shift);
    u = @_scaled(u * UNIT, e->others.multiplier, e->others.shift);
    v = @_scaled(v + u, e->sum.multiplier, e->sum.shift);
    v = @_clamped(v + e->sum_zero, e->sum_low, e->sum_high);
  }
  ((INTEGER*)d->y[0])[(row * e->y->w + col) * e->y->pixel + k] = (INTEGER)v;
}
)";

// Stores sums of consecutive channels.
inline constexpr std::string_view kFinish = R"(
static int32_t @_scaled_sum(const @_epilogue* e, int32_t k, int32_t sum) {
  const @_factor* f = &e->factors[k * e->per_channel];
  return @_scaled(e->bias == NULL ? sum : sum + e->bias[k], f->multiplier,
                  f->shift);
}

static void @_finish(const @_epilogue* e, const @_data* d, int32_t row,
                     int32_t col, int32_t k, int32_t count,
                     const int32_t* sums) {
  int32_t n = 0;
#if defined(__ARM_FEATURE_MVE)
  if (e->other == NULL && e->per_channel != 0) {
    int8_t* to = (int8_t*)d->y[0] + (row * e->y->w + col) * e->y->pixel + k;
    for (; n + 4 <= count; n += 4) {
      const int32x4x2_t f = vld2q_s32((const int32_t*)&e->factors[k + n]);
      const int32x4_t right = vminq_s32(f.val[1], vdupq_n_s32(0));
      int32x4_t v = vldrwq_s32(sums + n);
      if (e->bias != NULL) {
        v = vaddq_s32(v, vldrwq_s32(e->bias + k + n));
      }
      v = vshlq_s32(v, vmaxq_s32(f.val[1], vdupq_n_s32(0)));
      v = vqrdmulhq_s32(v, f.val[0]);
      /* Ties away from zero. */
      v = vqaddq_s32(v, vshrq_n_s32(vandq_s32(v, right), 31));
      v = vaddq_n_s32(vrshlq_s32(v, right), e->zero);
      v = vmaxq_s32(v, vdupq_n_s32(e->low));
      vstrbq_s32(to + n, vminq_s32(v, vdupq_n_s32(e->high)));
    }
  }
#endif
  for (; n < count; ++n) {
    @_store(e, d, row, col, k + n, @_scaled_sum(e, k + n, sums[n]));
  }
}
)";

inline constexpr std::string_view kFinish16 = R"(
/* The upper 16 bits of the multiplier; rounds once. */
static int32_t @_scaled_sum(const @_epilogue* e, int32_t k, int64_t sum) {
  const @_factor* f = &e->factors[k * e->per_channel];
  const int64_t multiplier =
      f->multiplier < 0x7fff0000 ? (f->multiplier + 0x8000) / 0x10000 : 0x7fff;
  const int32_t shift = 15 - f->shift;
  int64_t v = e->bias == NULL ? sum : sum + e->bias[k];
  v = v * multiplier + ((int64_t)1 << (shift - 1));
  return (int32_t)(v < 0 ? ~(~v >> shift) : v >> shift);
}

static void @_finish(const @_epilogue* e, const @_data* d, int32_t row,
                     int32_t col, int32_t k, int32_t count,
                     const int64_t* sums) {
  int32_t n;
  for (n = 0; n < count; ++n) {
    @_store(e, d, row, col, k + n, @_scaled_sum(e, k + n, sums[n]));
  }
}
)";

inline constexpr std::string_view kFixedEvaluate = R"(
static void @_evaluate(const @_buffer* b, const @_epilogue* e,
                       const @_data* d) {
  int32_t row, col, k;
  for (row = 0; row < b->h; ++row) {
    for (col = 0; col < b->w; ++col) {
      for (k = 0; k < b->c; ++k) {
        const int32_t at = (row * b->w + col) * b->pixel + k;
        int32_t v = ((const INTEGER*)d->x)[at] - b->zero;
        if (e->factors != NULL) {
          v = @_scaled(v, e->factors->multiplier, e->factors->shift);
        }
        @_store(e, d, row, col, k, v);
      }
    }
  }
}
)";

inline constexpr std::string_view kFixedAveragePool = R"(
static void @_average_pool(const @_pool* p, const void* from, void* to) {
  const @_buffer* b = p->x;
  int32_t row, col, k, i, j;
  for (row = 0; row < p->y->h; ++row) {
    for (col = 0; col < p->y->w; ++col) {
      for (k = 0; k < b->c; ++k) {
        int32_t sum = 0;
        int32_t count = 0;
        for (i = 0; i < p->kernel_h; ++i) {
          const int32_t y = row * p->stride_h + i - p->top;
          for (j = 0; j < p->kernel_w; ++j) {
            const int32_t x = col * p->stride_w + j - p->left;
            if (y >= 0 && y < b->h && x >= 0 && x < b->w) {
              sum += ((const INTEGER*)from)[(y * b->w + x) * b->pixel + k];
              ++count;
            }
          }
        }
        sum = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
        ((INTEGER*)to)[(row * p->y->w + col) * p->y->pixel + k] = (INTEGER)sum;
      }
    }
  }
}
)";

inline constexpr std::string_view kFixedImageSum = R"(
/* Sums over the pixels. */
static void @_image_sum(const @_buffer* x, const @_buffer* y,
                        int32_t multiplier, int32_t shift, const void* from,
                        void* to) {
  const int32_t count = x->h * x->w;
  int32_t i, k;
  for (k = 0; k < x->c; ++k) {
    int32_t sum = 0;
    for (i = 0; i < count; ++i) {
      sum += ((const INTEGER*)from)[i * x->pixel + k] - x->zero;
    }
    sum = @_scaled(sum, multiplier, shift);
    ((INTEGER*)to)[k] = (INTEGER)@_clamped(sum + y->zero, y->low + y->zero,
                                           y->high + y->zero);
  }
}
)";

inline constexpr std::string_view kFixedSoftmax = R"(
static int32_t @_wrapped_sum(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* exp(a), a <= 0 with 26 fractional bits; the result has 31. */
static int32_t @_exponential(int32_t a) {
  static const int32_t factors[7] = {1672461947, 1302514674, 790015084,
                                     290630308,  39332535,   720401,
                                     242};
  const int32_t quarter = 1 << 24;
  const int32_t in_quarter =
      (int32_t)((uint32_t)a & (uint32_t)(quarter - 1)) - quarter;
  const int32_t rest = in_quarter - a;
  const int32_t x = in_quarter * 32 + (1 << 28);
  const int32_t x2 = @_high_product(x, x);
  const int32_t x3 = @_high_product(x2, x);
  const int32_t x4 = @_rounding_shift(@_high_product(x2, x2), 2);
  const int32_t terms = @_rounding_shift(
      @_wrapped_sum(@_high_product(@_wrapped_sum(x4, x3), 715827883), x2), 1);
  int32_t result = @_wrapped_sum(
      1895147668, @_high_product(1895147668, @_wrapped_sum(x, terms)));
  int32_t i;
  if (a == 0) {
    return INT32_MAX;
  }
  for (i = 0; i < 7; ++i) {
    if (((uint32_t)rest & ((uint32_t)1 << (24 + i))) != 0u) {
      result = @_high_product(result, factors[i]);
    }
  }
  return result;
}

/* 1 / (1 + a), a in [0, 1]; both have 31 fractional bits. */
static int32_t @_inverse_of_one_plus(int32_t a) {
  const int32_t half = (int32_t)(((int64_t)a + INT32_MAX + 1) / 2);
  int32_t x = @_wrapped_sum(1515870810, @_high_product(half, -1010580540));
  int32_t i;
  for (i = 0; i < 3; ++i) {
    const int32_t rest = (1 << 29) - @_high_product(half, x);
    x = @_wrapped_sum(x, @_high_product(x, rest) * 4);
  }
  return x > INT32_MAX / 2 ? INT32_MAX : x * 2;
}

/* Softmax with output scale 1/256 and zero point -128. Differences of inputs
   below `least` have no effect. */
static void @_softmax(const @_buffer* x, const @_buffer* y,
                      int32_t multiplier, int32_t shift, int32_t least,
                      const void* from, void* to) {
  int32_t i, k;
  for (i = 0; i < x->h * x->w; ++i) {
    const int8_t* row = (const int8_t*)from + i * x->pixel;
    int8_t* out = (int8_t*)to + i * y->pixel;
    int32_t top = -128, sum = 0, scale, headroom = 0;
    for (k = 0; k < x->c; ++k) {
      top = row[k] > top ? row[k] : top;
    }
    for (k = 0; k < x->c; ++k) {
      if (row[k] - top >= least) {
        const int32_t d = (int32_t)((uint32_t)(row[k] - top) << shift);
        sum += @_rounding_shift(@_exponential(@_high_product(d, multiplier)),
                                12);
      }
    }
    while (((uint32_t)sum << headroom & 0x80000000u) == 0u) {
      ++headroom;
    }
    scale = @_inverse_of_one_plus(
        (int32_t)(((uint32_t)sum << headroom) - 0x80000000u));
    for (k = 0; k < x->c; ++k) {
      int32_t q = -128;
      if (row[k] - top >= least) {
        const int32_t d = (int32_t)((uint32_t)(row[k] - top) << shift);
        const int32_t e = @_exponential(@_high_product(d, multiplier));
        if (headroom > 3) {
          q += @_rounding_shift(@_high_product(scale, e), 35 - headroom);
        }
      }
      out[k] = (int8_t)@_clamped(q, -128, 127);
    }
  }
}
)";

inline constexpr std::string_view kFixedSoftmax16 = R"(
/* Interpolates between 513 values. */
static int32_t @_looked_up(int32_t x, const int16_t* table) {
  const int32_t at = @_clamped(x, -32768, 32767) + 32768;
  const int32_t base = table[at / 128];
  const int32_t v = (table[at / 128 + 1] - base) * (at % 128) + 64;
  return base + (v < 0 ? ~(~v / 128) : v / 128);
}

/* Softmax with output scale 1/32768. */
static void @_softmax(const @_buffer* x, const @_buffer* y,
                      int32_t multiplier, int32_t shift,
                      const int16_t* exponentials, const int16_t* reciprocals,
                      const void* from, void* to) {
  int32_t i, k;
  for (i = 0; i < x->h * x->w; ++i) {
    const int16_t* row = (const int16_t*)from + i * x->pixel;
    int16_t* out = (int16_t*)to + i * y->pixel;
    int32_t top = -32768, sum = 0, headroom = 0;
    int64_t scale;
    for (k = 0; k < x->c; ++k) {
      top = row[k] > top ? row[k] : top;
    }
    for (k = 0; k < x->c; ++k) {
      const int32_t d = @_scaled(row[k] - top, multiplier, shift);
      out[k] = (int16_t)@_looked_up(d + 32767, exponentials);
      sum += out[k];
    }
    while (((uint32_t)sum << headroom & 0x80000000u) == 0u) {
      ++headroom;
    }
    scale = (((int64_t)sum << (headroom - 1)) + 8192) / 16384;
    scale = @_looked_up((int32_t)scale - 98304, reciprocals);
    for (k = 0; k < x->c; ++k) {
      const int64_t v =
          (out[k] * scale + ((int64_t)1 << (30 - headroom))) >> (31 - headroom);
      out[k] = (int16_t)@_clamped((int32_t)v, 0, 32767);
    }
  }
}
)";

}  // namespace octet::io::c
