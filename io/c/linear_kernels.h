// C functions: values, epilogues and convolutions. "@" stands for the prefix of
// names.
#pragma once

#include <string_view>

namespace octet::io::c {

inline constexpr std::string_view kTypes = R"(
#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#elif defined(__ARM_FEATURE_DSP)
#include <arm_acle.h>
#elif defined(__riscv_v_intrinsic)
#include <riscv_vector.h>
#endif

/* Image of int8 values q, for (q - zero) * scale, or of floats. */
typedef struct {
  int32_t h, w, c;
  int32_t pixel; /* elements from a pixel to the next */
  int32_t zero;
  int32_t low, high; /* range of q - zero */
  float scale;       /* 0: floats */
} @_buffer;
)";

inline constexpr std::string_view kValue = R"(
static float @_value(const @_buffer* b, const void* data, int32_t at) {
  if (b->scale > 0.0f) {
    return (float)(((const int8_t*)data)[at] - b->zero) * b->scale;
  }
  return ((const float*)data)[at];
}
)";

inline constexpr std::string_view kQuantized = R"(
/* Returns the integer nearest to v / scale in [low, high], ties to even. */
static float @_quantized(float v, float scale, float low, float high) {
  float q = v / scale;
  if (!(q > low)) {
    q = low;
  }
  if (q > high) {
    q = high;
  }
  q = q + 12582912.0f;
  return q - 12582912.0f;
}
)";

inline constexpr std::string_view kPut = R"(
static void @_put(const @_buffer* b, void* data, int32_t at, float v) {
  if (b->scale > 0.0f) {
    const float q = @_quantized(v, b->scale, (float)b->low, (float)b->high);
    ((int8_t*)data)[at] = (int8_t)((int32_t)q + b->zero);
  } else {
    ((float*)data)[at] = v;
  }
}
)";

inline constexpr std::string_view kEpilogue = R"(
/* Range of quantized values, without zero. */
typedef struct {
  const @_buffer* y;
  float low, high;
} @_output;

#define @_CLIPS_LOW 1u
#define @_CLIPS_HIGH 2u
#define @_CLIPS_LOW2 4u
#define @_CLIPS_HIGH2 8u
#define @_RELU 16u
#define @_RELU_HIGH 32u
#define @_PLUS_ZERO 64u

/* y = relu(clip(Q2(clip2(a * v + b)) + other_a * other + other_b)).
   Null pointers, scale2 0 and absent flags leave operations out. */
typedef struct {
  const float *a, *b; /* per channel */
  const @_buffer* other;
  const float *other_a, *other_b;
  int32_t other_h, other_w; /* pixels of other per output */
  float low2, high2;
  float scale2, quant_low2, quant_high2;
  float low, high;
  float alpha, beta, gamma;
  uint32_t flags;
  uint32_t outputs;
  @_output output[@_OUTPUTS];
} @_epilogue;

typedef struct {
  const void* x;
  const void* other;
  const void* multiplier;
  void* y[@_OUTPUTS];
} @_data;

static void @_store(const @_epilogue* e, const @_data* d, int32_t row,
                    int32_t col, int32_t k, float v) {
  uint32_t i;
  if (e->a != NULL) {
    v = v * e->a[k];
  }
  if (e->b != NULL) {
    v = v + e->b[k];
  }
  if (e->other != NULL) {
    const int32_t at =
        (row * e->other_h * e->other->w + col * e->other_w) * e->other->pixel +
        k;
    float u = @_value(e->other, d->other, at);
    if ((e->flags & @_CLIPS_LOW2) != 0u && !(v > e->low2)) {
      v = e->low2;
    }
    if ((e->flags & @_CLIPS_HIGH2) != 0u && v > e->high2) {
      v = e->high2;
    }
    if (e->scale2 > 0.0f) {
      v = @_quantized(v, e->scale2, e->quant_low2, e->quant_high2) * e->scale2;
    }
    if (e->other_a != NULL) {
      u = u * e->other_a[k];
    }
    if (e->other_b != NULL) {
      u = u + e->other_b[k];
    }
    if ((e->flags & @_PLUS_ZERO) != 0u) {
      u = u + 0.0f;
    }
    v = v + u;
  }
  if ((e->flags & @_CLIPS_LOW) != 0u && !(v > e->low)) {
    v = e->low;
  }
  if ((e->flags & @_CLIPS_HIGH) != 0u && v > e->high) {
    v = e->high;
  }
  if ((e->flags & @_RELU) != 0u) {
    if (v > e->beta) {
      if ((e->flags & @_RELU_HIGH) != 0u && v > e->gamma) {
        v = e->gamma;
      }
    } else {
      v = e->alpha * (v - e->beta);
    }
  }
  for (i = 0; i < e->outputs; ++i) {
    const @_output* o = &e->output[i];
    const int32_t at = (row * o->y->w + col) * o->y->pixel + k;
    if (o->y->scale > 0.0f) {
      const float q = @_quantized(v, o->y->scale, o->low, o->high);
      ((int8_t*)d->y[i])[at] = (int8_t)((int32_t)q + o->y->zero);
    } else {
      ((float*)d->y[i])[at] = v;
    }
  }
}
)";

// Left out in the fixed form.
inline constexpr std::string_view kRescale =
    "  const float* rescale; /* per channel, of int8 sums */\n";

inline constexpr std::string_view kConvolution = R"(
/* A convolution with zero padding. */
typedef struct {
  const @_buffer* x;
  int32_t h, w, c; /* of the output */
  int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int32_t top, left;
  int32_t in, out; /* channels of a group */
  const void* weights; /* [c][kernel_h][kernel_w][in]; depthwise:
                          [kernel_h][kernel_w][c] */
  const float* rescale; /* per channel, of int8 sums */
  @_epilogue epilogue;
} @_conv;
)";

// FINISH stands for the stores of the sums. The taps of a row are contiguous
// unless channels are in groups, part of a concatenation or dilated.
inline constexpr std::string_view kConvS8 = R"(
static void @_conv_TYPE(const @_conv* p, const @_data* d) {
  const @_buffer* b = p->x;
  const int joined = p->dilation_w == 1 && b->pixel == p->in;
  const int32_t row_weights = p->kernel_w * p->in;
  const int32_t size = p->kernel_h * row_weights;
  int32_t row, col, k, i, j, count;
  for (row = 0; row < p->h; ++row) {
    for (col = 0; col < p->w; ++col) {
      const int32_t left = col * p->stride_w - p->left;
      const int32_t first = left < 0 ? -left : 0;
      const int32_t last =
          p->kernel_w < b->w - left ? p->kernel_w : b->w - left;
      for (k = 0; k < p->c; k += count) {
        const INTEGER* from = (const INTEGER*)d->x + k / p->out * p->in;
        const int8_t* weights = (const int8_t*)p->weights + k * size;
        SUM sums[4] = {0};
        count = p->out - k % p->out;
        count = count < 4 ? count : 4;
        for (i = 0; i < p->kernel_h; ++i, weights += row_weights) {
          const int32_t y = row * p->stride_h + i * p->dilation_h - p->top;
          if (y < 0 || y >= b->h) {
            continue;
          }
          if (joined != 0) {
            if (first < last) {
              @_dots(from + (y * b->w + left + first) * b->pixel,
                     weights + first * p->in, size, count,
                     (last - first) * p->in, b->zero, sums);
            }
            continue;
          }
          for (j = 0; j < p->kernel_w; ++j) {
            const int32_t x = left + j * p->dilation_w;
            if (x >= 0 && x < b->w) {
              @_dots(from + (y * b->w + x) * b->pixel, weights + j * p->in,
                     size, count, p->in, b->zero, sums);
            }
          }
        }
        FINISH
      }
    }
  }
}
)";

// FINISH stands for the stores of the sums. Eight channels share the bounds of
// a tap.
inline constexpr std::string_view kDepthwiseS8 = R"(
static void @_depthwise_TYPE(const @_conv* p, const @_data* d) {
  const @_buffer* b = p->x;
  const int8_t* weights = (const int8_t*)p->weights;
  int32_t row, col, k, i, j, n;
  for (row = 0; row < p->h; ++row) {
    for (col = 0; col < p->w; ++col) {
      for (k = 0; k < p->c; k += 8) {
        const int32_t count = p->c - k < 8 ? p->c - k : 8;
        SUM sums[8] = {0};
        for (i = 0; i < p->kernel_h; ++i) {
          const int32_t y = row * p->stride_h + i * p->dilation_h - p->top;
          if (y < 0 || y >= b->h) {
            continue;
          }
          for (j = 0; j < p->kernel_w; ++j) {
            const int32_t x = col * p->stride_w + j * p->dilation_w - p->left;
            const INTEGER* from;
            const int8_t* by;
            if (x < 0 || x >= b->w) {
              continue;
            }
            from = (const INTEGER*)d->x + (y * b->w + x) * b->pixel;
            by = weights + (i * p->kernel_w + j) * p->c + k;
            if (p->out == 1) {
              @_accumulate(from + k, by, count, b->zero, sums);
            } else {
              for (n = 0; n < count; ++n) {
                sums[n] += (from[(k + n) / p->out] - b->zero) * by[n];
              }
            }
          }
        }
        FINISH
      }
    }
  }
}
)";

// A single chain of sums, as in Octet.
inline constexpr std::string_view kConvF32 = R"(
static void @_conv_f32(const @_conv* p, const @_data* d) {
  const @_buffer* b = p->x;
  int32_t row, col, k, i, j, c;
  for (row = 0; row < p->h; ++row) {
    for (col = 0; col < p->w; ++col) {
      const float* weights = (const float*)p->weights;
      for (k = 0; k < p->c; ++k) {
        const int32_t group = k / p->out * p->in;
        float sum = 0.0f;
        for (i = 0; i < p->kernel_h; ++i) {
          const int32_t y = row * p->stride_h + i * p->dilation_h - p->top;
          for (j = 0; j < p->kernel_w; ++j) {
            const int32_t x = col * p->stride_w + j * p->dilation_w - p->left;
            if (y >= 0 && y < b->h && x >= 0 && x < b->w) {
              const int32_t at = (y * b->w + x) * b->pixel + group;
              for (c = 0; c < p->in; ++c) {
                sum += @_value(b, d->x, at + c) * weights[c];
              }
            }
            weights += p->in;
          }
        }
        @_store(&p->epilogue, d, row, col, k, sum);
      }
    }
  }
}
)";

inline constexpr std::string_view kDepthwiseF32 = R"(
static void @_depthwise_f32(const @_conv* p, const @_data* d) {
  const @_buffer* b = p->x;
  const float* weights = (const float*)p->weights;
  int32_t row, col, k, i, j;
  for (row = 0; row < p->h; ++row) {
    for (col = 0; col < p->w; ++col) {
      for (k = 0; k < p->c; ++k) {
        const int32_t channel = k / p->out;
        float sum = 0.0f;
        for (i = 0; i < p->kernel_h; ++i) {
          const int32_t y = row * p->stride_h + i * p->dilation_h - p->top;
          if (y < 0 || y >= b->h) {
            continue;
          }
          for (j = 0; j < p->kernel_w; ++j) {
            const int32_t x = col * p->stride_w + j * p->dilation_w - p->left;
            if (x >= 0 && x < b->w) {
              sum += @_value(b, d->x, (y * b->w + x) * b->pixel + channel) *
                     weights[(i * p->kernel_w + j) * p->c + k];
            }
          }
        }
        @_store(&p->epilogue, d, row, col, k, sum);
      }
    }
  }
}
)";

}  // namespace octet::io::c
