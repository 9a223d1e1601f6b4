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
  const int32_t* bias;     /* per channel, or null */
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

static void @_store(const @_epilogue* e, const @_data* d, int32_t row,
                    int32_t col, int32_t k, int32_t v) {
  if (e->bias != NULL) {
    v += e->bias[k];
  }
  if (e->factors != NULL) {
    const @_factor* f = &e->factors[k * e->per_channel];
    v = @_scaled(v, f->multiplier, f->shift);
  }
  v = @_clamped(v + e->zero, e->low, e->high);
  if (e->other != NULL) {
    const @_buffer* b = e->other;
    const int32_t at =
        (row * e->other_h * b->w + col * e->other_w) * b->pixel + k;
    int32_t u = ((const int8_t*)d->other)[at] - b->zero;
    v = @_scaled((v - e->zero) * 1048576, e->own.multiplier, e->own.shift);
    u = @_scaled(u * 1048576, e->others.multiplier, e->others.shift);
    v = @_scaled(v + u, e->sum.multiplier, e->sum.shift);
    v = @_clamped(v + e->sum_zero, e->sum_low, e->sum_high);
  }
  ((int8_t*)d->y[0])[(row * e->y->w + col) * e->y->pixel + k] = (int8_t)v;
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
        @_store(e, d, row, col, k, ((const int8_t*)d->x)[at] - b->zero);
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
              sum += ((const int8_t*)from)[(y * b->w + x) * b->pixel + k];
              ++count;
            }
          }
        }
        sum = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
        ((int8_t*)to)[(row * p->y->w + col) * p->y->pixel + k] = (int8_t)sum;
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
      sum += ((const int8_t*)from)[i * x->pixel + k] - x->zero;
    }
    sum = @_scaled(sum, multiplier, shift);
    ((int8_t*)to)[k] = (int8_t)@_clamped(sum + y->zero, -128, 127);
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

}  // namespace octet::io::c
