// C functions: products of integers, with SIMD instructions of the target. "@"
// stands for the prefix of names.
#pragma once

#include <string_view>

namespace octet::io::c {

inline constexpr std::string_view kDots = R"(
/* Adds sums of (x[i] - zero) * w[i] for `count` rows of weights, up to 4. */
#if defined(__ARM_FEATURE_MVE)
static void @_dots(const int8_t* x, const int8_t* w, int32_t stride,
                   int32_t count, int32_t n, int32_t zero, int32_t* sums) {
  int32_t i, k;
  if (count == 4) {
    const int8_t *w1 = w + stride, *w2 = w1 + stride, *w3 = w2 + stride;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
    for (i = 0; i < n; i += 16) {
      const mve_pred16_t p = vctp8q((uint32_t)(n - i));
      const int8x16_t a = vldrbq_z_s8(x + i, p);
      int8x16_t b = vldrbq_z_s8(w + i, p);
      s0 = vmladavaq_s8(s0, a, b);
      t0 = vaddvaq_s8(t0, b);
      b = vldrbq_z_s8(w1 + i, p);
      s1 = vmladavaq_s8(s1, a, b);
      t1 = vaddvaq_s8(t1, b);
      b = vldrbq_z_s8(w2 + i, p);
      s2 = vmladavaq_s8(s2, a, b);
      t2 = vaddvaq_s8(t2, b);
      b = vldrbq_z_s8(w3 + i, p);
      s3 = vmladavaq_s8(s3, a, b);
      t3 = vaddvaq_s8(t3, b);
    }
    sums[0] += s0 - zero * t0;
    sums[1] += s1 - zero * t1;
    sums[2] += s2 - zero * t2;
    sums[3] += s3 - zero * t3;
    return;
  }
  for (k = 0; k < count; ++k, w += stride) {
    int32_t sum = 0, weights = 0;
    for (i = 0; i < n; i += 16) {
      const mve_pred16_t p = vctp8q((uint32_t)(n - i));
      const int8x16_t b = vldrbq_z_s8(w + i, p);
      sum = vmladavaq_s8(sum, vldrbq_z_s8(x + i, p), b);
      weights = vaddvaq_s8(weights, b);
    }
    sums[k] += sum - zero * weights;
  }
}
#elif defined(__ARM_FEATURE_DSP)
static int32_t @_dot4(const int8_t* w, int16x2_t even, int16x2_t odd,
                      int32_t sum) {
  uint32_t b;
  memcpy(&b, w, sizeof(b));
  sum = __smlad(even, __sxtb16((int8x4_t)b), sum);
  return __smlad(odd, __sxtb16((int8x4_t)(b >> 8)), sum);
}

static void @_dots(const int8_t* x, const int8_t* w, int32_t stride,
                   int32_t count, int32_t n, int32_t zero, int32_t* sums) {
  const uint32_t half = (uint32_t)(-zero) & 0xffffu;
  const int16x2_t offset = (int16x2_t)(half << 16 | half);
  int32_t i, k;
  if (count == 4) {
    const int8_t *w1 = w + stride, *w2 = w1 + stride, *w3 = w2 + stride;
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    for (i = 0; i + 4 <= n; i += 4) {
      uint32_t a;
      int16x2_t even, odd;
      memcpy(&a, x + i, sizeof(a));
      even = __sxtab16(offset, (int8x4_t)a);
      odd = __sxtab16(offset, (int8x4_t)(a >> 8));
      s0 = @_dot4(w + i, even, odd, s0);
      s1 = @_dot4(w1 + i, even, odd, s1);
      s2 = @_dot4(w2 + i, even, odd, s2);
      s3 = @_dot4(w3 + i, even, odd, s3);
    }
    for (; i < n; ++i) {
      const int32_t a = x[i] - zero;
      s0 += a * w[i];
      s1 += a * w1[i];
      s2 += a * w2[i];
      s3 += a * w3[i];
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
    return;
  }
  for (k = 0; k < count; ++k, w += stride) {
    for (i = 0; i + 4 <= n; i += 4) {
      uint32_t a;
      memcpy(&a, x + i, sizeof(a));
      sums[k] = @_dot4(w + i, __sxtab16(offset, (int8x4_t)a),
                       __sxtab16(offset, (int8x4_t)(a >> 8)), sums[k]);
    }
    for (; i < n; ++i) {
      sums[k] += (x[i] - zero) * w[i];
    }
  }
}
#elif defined(__riscv_v_intrinsic)
static void @_dots(const int8_t* x, const int8_t* w, int32_t stride,
                   int32_t count, int32_t n, int32_t zero, int32_t* sums) {
  int32_t i, k;
  for (k = 0; k < count; ++k, w += stride) {
    vint32m1_t sum = __riscv_vmv_s_x_i32m1(sums[k], 1);
    vint32m1_t weights = __riscv_vmv_s_x_i32m1(0, 1);
    for (i = 0; i < n;) {
      const size_t vl = __riscv_vsetvl_e8m4((size_t)(n - i));
      const vint8m4_t b = __riscv_vle8_v_i8m4(w + i, vl);
      const vint16m8_t products =
          __riscv_vwmul_vv_i16m8(__riscv_vle8_v_i8m4(x + i, vl), b, vl);
      sum = __riscv_vwredsum_vs_i16m8_i32m1(products, sum, vl);
      if (zero != 0) {
        weights = __riscv_vwredsum_vs_i16m8_i32m1(
            __riscv_vwadd_vx_i16m8(b, 0, vl), weights, vl);
      }
      i += (int32_t)vl;
    }
    sums[k] = __riscv_vmv_x_s_i32m1_i32(sum) -
              zero * __riscv_vmv_x_s_i32m1_i32(weights);
  }
}
#else
static void @_dots(const int8_t* x, const int8_t* w, int32_t stride,
                   int32_t count, int32_t n, int32_t zero, int32_t* sums) {
  int32_t i, k;
  if (count == 4) {
    const int8_t *w1 = w + stride, *w2 = w1 + stride, *w3 = w2 + stride;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (i = 0; i < n; ++i) {
      const int32_t a = x[i] - zero;
      s0 += a * w[i];
      s1 += a * w1[i];
      s2 += a * w2[i];
      s3 += a * w3[i];
    }
    sums[0] += s0;
    sums[1] += s1;
    sums[2] += s2;
    sums[3] += s3;
    return;
  }
  for (k = 0; k < count; ++k, w += stride) {
    for (i = 0; i < n; ++i) {
      sums[k] += (x[i] - zero) * w[i];
    }
  }
}
#endif
)";

inline constexpr std::string_view kDots16 = R"(
/* Adds sums of x[i] * w[i] for `count` rows of weights. */
static void @_dots(const int16_t* x, const int8_t* w, int32_t stride,
                   int32_t count, int32_t n, int32_t zero, int64_t* sums) {
  int32_t i, k;
  (void)zero;
  for (k = 0; k < count; ++k, w += stride) {
    int64_t sum = sums[k];
    i = 0;
#if defined(__ARM_FEATURE_MVE)
    for (; i < n; i += 8) {
      const mve_pred16_t p = vctp16q((uint32_t)(n - i));
      sum = vmlaldavaq_s16(sum, vldrhq_z_s16(x + i, p), vldrbq_z_s16(w + i, p));
    }
#elif defined(__ARM_FEATURE_DSP)
    for (; i + 4 <= n; i += 4) {
      uint32_t b, even, odd;
      int16x2_t a[2];
      memcpy(&b, w + i, sizeof(b));
      memcpy(a, x + i, sizeof(a));
      even = (uint32_t)__sxtb16((int8x4_t)b);
      odd = (uint32_t)__sxtb16((int8x4_t)(b >> 8));
      sum = __smlald(a[0], (int16x2_t)((even & 0xffffu) | odd << 16), sum);
      sum = __smlald(a[1], (int16x2_t)(even >> 16 | (odd & 0xffff0000u)), sum);
    }
#elif defined(__riscv_v_intrinsic) && __riscv_v_elen >= 64
    {
      vint64m1_t total = __riscv_vmv_s_x_i64m1(sum, 1);
      while (i < n) {
        const size_t vl = __riscv_vsetvl_e16m4((size_t)(n - i));
        const vint16m4_t b =
            __riscv_vsext_vf2_i16m4(__riscv_vle8_v_i8m2(w + i, vl), vl);
        total = __riscv_vwredsum_vs_i32m8_i64m1(
            __riscv_vwmul_vv_i32m8(__riscv_vle16_v_i16m4(x + i, vl), b, vl),
            total, vl);
        i += (int32_t)vl;
      }
      sum = __riscv_vmv_x_s_i64m1_i64(total);
    }
#endif
    for (; i < n; ++i) {
      sum += x[i] * w[i];
    }
    sums[k] = sum;
  }
}
)";

inline constexpr std::string_view kAccumulate = R"(
/* sums[i] += (x[i] - zero) * w[i]. */
static void @_accumulate(const INTEGER* x, const int8_t* w, int32_t n,
                         int32_t zero, SUM* sums) {
  int32_t i = 0;
#if defined(__ARM_FEATURE_MVE) && BYTES
  for (; i < n; i += 4) {
    const mve_pred16_t p = vctp32q((uint32_t)(n - i));
    const int32x4_t a = vsubq_n_s32(vldrbq_z_s32(x + i, p), zero);
    const int32x4_t b = vmulq_s32(a, vldrbq_z_s32(w + i, p));
    vstrwq_p_s32(sums + i, vaddq_s32(vldrwq_z_s32(sums + i, p), b), p);
  }
#elif defined(__riscv_v_intrinsic) && BYTES
  while (i < n) {
    const size_t vl = __riscv_vsetvl_e8m1((size_t)(n - i));
    const vint16m2_t a = __riscv_vwsub_vx_i16m2(
        __riscv_vle8_v_i8m1(x + i, vl), (int8_t)zero, vl);
    const vint16m2_t b =
        __riscv_vsext_vf2_i16m2(__riscv_vle8_v_i8m1(w + i, vl), vl);
    const vint32m4_t sum = __riscv_vle32_v_i32m4(sums + i, vl);
    __riscv_vse32_v_i32m4(sums + i, __riscv_vwmacc_vv_i32m4(sum, a, b, vl), vl);
    i += (int32_t)vl;
  }
#endif
  for (; i < n; ++i) {
    sums[i] += (x[i] - zero) * w[i];
  }
}
)";

}  // namespace octet::io::c
