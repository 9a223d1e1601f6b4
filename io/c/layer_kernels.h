// C functions of other layers. "@" stands for the prefix of names.
#pragma once

#include <string_view>

namespace octet::io::c {

inline constexpr std::string_view kEvaluate = R"(
/* multiplier: per channel, or null. */
static void @_evaluate(const @_buffer* b, const @_buffer* multiplier,
                       const @_epilogue* e, const @_data* d) {
  int32_t row, col, k;
  for (row = 0; row < b->h; ++row) {
    for (col = 0; col < b->w; ++col) {
      for (k = 0; k < b->c; ++k) {
        float v = @_value(b, d->x, (row * b->w + col) * b->pixel + k);
        if (multiplier != NULL) {
          v = v * @_value(multiplier, d->multiplier, k);
        }
        @_store(e, d, row, col, k, v);
      }
    }
  }
}
)";

inline constexpr std::string_view kPool = R"(
/* Windows over an image with `zeros` around it; pixels outside are ignored. */
typedef struct {
  const @_buffer *x, *y;
  int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int32_t top, left;
  int32_t zeros_top, zeros_bottom, zeros_left, zeros_right;
} @_pool;
)";

inline constexpr std::string_view kMaxPool = R"(
static void @_max_pool_TYPE(const @_pool* p, const void* from, void* to) {
  const @_buffer* b = p->x;
  int32_t row, col, k, i, j;
  for (row = 0; row < p->y->h; ++row) {
    for (col = 0; col < p->y->w; ++col) {
      for (k = 0; k < b->c; ++k) {
        ELEMENT most = LOWEST;
        for (i = 0; i < p->kernel_h; ++i) {
          const int32_t y = row * p->stride_h + i * p->dilation_h - p->top;
          for (j = 0; j < p->kernel_w; ++j) {
            const int32_t x = col * p->stride_w + j * p->dilation_w - p->left;
            const int32_t in_y = y - p->zeros_top;
            const int32_t in_x = x - p->zeros_left;
            ELEMENT v = ZERO;
            if (y < 0 || y >= p->zeros_top + b->h + p->zeros_bottom || x < 0 ||
                x >= p->zeros_left + b->w + p->zeros_right) {
              continue;
            }
            if (in_y >= 0 && in_y < b->h && in_x >= 0 && in_x < b->w) {
              v = LOAD((in_y * b->w + in_x) * b->pixel + k);
            }
            if (v > most) {
              most = v;
            }
          }
        }
        STORE((row * p->y->w + col) * p->y->pixel + k, most);
      }
    }
  }
}
)";

inline constexpr std::string_view kAveragePool = R"(
static void @_average_pool(const @_pool* p, const void* from, void* to) {
  const @_buffer* b = p->x;
  int32_t row, col, k, i, j;
  for (row = 0; row < p->y->h; ++row) {
    for (col = 0; col < p->y->w; ++col) {
      for (k = 0; k < b->c; ++k) {
        float sum = 0.0f;
        int32_t count = 0;
        for (i = 0; i < p->kernel_h; ++i) {
          const int32_t y = row * p->stride_h + i - p->top;
          for (j = 0; j < p->kernel_w; ++j) {
            const int32_t x = col * p->stride_w + j - p->left;
            if (y >= 0 && y < b->h && x >= 0 && x < b->w) {
              sum += @_value(b, from, (y * b->w + x) * b->pixel + k);
              ++count;
            }
          }
        }
        @_put(p->y, to, (row * p->y->w + col) * p->y->pixel + k,
              sum / (float)count);
      }
    }
  }
}
)";

inline constexpr std::string_view kNearest = R"(
static void @_nearest_TYPE(const @_buffer* x, const @_buffer* y,
                      const int16_t* rows, const int16_t* cols,
                      const void* from, void* to) {
  int32_t row, col, k;
  for (row = 0; row < y->h; ++row) {
    for (col = 0; col < y->w; ++col) {
      const int32_t at = (rows[row] * x->w + cols[col]) * x->pixel;
      for (k = 0; k < x->c; ++k) {
        ((ELEMENT*)to)[(row * y->w + col) * y->pixel + k] = LOAD(at + k);
      }
    }
  }
}
)";

inline constexpr std::string_view kTable = R"(
static void @_table_TYPE(const @_buffer* x, const @_buffer* y,
                         const ELEMENT* table, const void* from, void* to) {
  int32_t row, col, k;
  for (row = 0; row < x->h; ++row) {
    for (col = 0; col < x->w; ++col) {
      for (k = 0; k < x->c; ++k) {
        const int8_t q =
            ((const int8_t*)from)[(row * x->w + col) * x->pixel + k];
        ((ELEMENT*)to)[(row * y->w + col) * y->pixel + k] = table[q + 128];
      }
    }
  }
}
)";

inline constexpr std::string_view kImageSum = R"(
/* Sums in single precision over 64 pixels and in double precision across
   them, in the order of Octet. */
static void @_image_sum(const @_buffer* x, const @_buffer* y, double divisor,
                        const void* from, void* to) {
  const int32_t pixels = x->h * x->w;
  int32_t first, i, k;
  for (k = 0; k < x->c; ++k) {
    double total = 0.0;
    if (x->c == 1) {
      double parts[8] = {0.0};
      for (i = 0; i < pixels; ++i) {
        parts[i % 8] += (double)@_value(x, from, i * x->pixel);
      }
      for (i = 0; i < 8; ++i) {
        total += parts[i];
      }
    } else {
      for (first = 0; first < pixels; first += 64) {
        float run = @_value(x, from, first * x->pixel + k);
        for (i = first + 1; i < pixels && i < first + 64; ++i) {
          run += @_value(x, from, i * x->pixel + k);
        }
        total += (double)run;
      }
    }
    @_put(y, to, k, (float)(total / divisor));
  }
}
)";

inline constexpr std::string_view kSoftmax = R"(
/* exp(x - shift) for x <= shift. */
static float @_exponential(float x, float shift) {
  float d = x - shift;
  const float minus_shift = d - x;
  float lost = (x - (d - minus_shift)) - (shift + minus_shift);
  float shifted, n, r, p, factor;
  int32_t bits, half;
  uint32_t power;
  if (!(d > -110.0f)) {
    d = -110.0f;
  }
  if (!(d > -104.0f)) {
    lost = 0.0f;
  }
  shifted = d * 1.44269504f;
  shifted = shifted + 12582912.0f;
  n = shifted - 12582912.0f;
  r = n * 0.693145751953125f;
  r = d - r;
  p = n * 1.428606820309417e-6f;
  r = (r - p) + lost;
  p = 1.0f / 5040.0f;
  p = p * r;
  p = p + 1.0f / 720.0f;
  p = p * r;
  p = p + 1.0f / 120.0f;
  p = p * r;
  p = p + 1.0f / 24.0f;
  p = p * r;
  p = p + 1.0f / 6.0f;
  p = p * r;
  p = p + 0.5f;
  p = p * (r * r);
  p = p + r;
  p = p + 1.0f;
  bits = (int32_t)n;
  half = (bits - (bits < 0 ? 1 : 0)) / 2;
  power = (uint32_t)(half + 127) << 23;
  memcpy(&factor, &power, sizeof(factor));
  p = p * factor;
  power = (uint32_t)(bits - half + 127) << 23;
  memcpy(&factor, &power, sizeof(factor));
  return p * factor;
}

static void @_softmax(const @_buffer* x, const @_buffer* y, const void* from,
                      void* to) {
  int32_t i, k;
  for (i = 0; i < x->h * x->w; ++i) {
    const int32_t first = i * x->pixel;
    float top = @_value(x, from, first);
    double c[8] = {0.0};
    double sum;
    float factor;
    for (k = 1; k < x->c; ++k) {
      const float v = @_value(x, from, first + k);
      if (v > top) {
        top = v;
      }
    }
    for (k = 0; k < x->c; ++k) {
      c[k % 8] += (double)@_exponential(@_value(x, from, first + k), top);
    }
    sum = ((c[0] + c[4]) + (c[2] + c[6])) + ((c[1] + c[5]) + (c[3] + c[7]));
    factor = (float)(1.0 / sum);
    for (k = 0; k < x->c; ++k) {
      const float e = @_exponential(@_value(x, from, first + k), top);
      @_put(y, to, i * y->pixel + k, e * factor);
    }
  }
}
)";

}  // namespace octet::io::c
