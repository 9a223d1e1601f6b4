// The sums of convolutions and of matrix products, for floats and, modulo 2^32
// as a device adds them, for int32.
#pragma once

#include <algorithm>
#include <cstdint>

#include <octet/runtime/parallel.h>

#include "node.h"
#include "numbers.h"
#include "pace.h"
#include "window.h"

namespace octet::io::run {

/// to[i] += scale * from[i * step].
template <class T>
void add_scaled(T* __restrict to, const T* __restrict from, T scale,
                int64_t count, int64_t step = 1) {
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = plus(to[i], times(scale, from[i]));
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = plus(to[i], times(scale, from[i * step]));
    }
  }
}

/// Sizes of a convolution of x [n,c,h,w] by w [oc,c/groups,kh,kw].
struct Convolution {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t outputs = 0;
  int64_t groups = 1;
  Windows windows;
};

/// Throws: FormatError for shapes or attributes that do not fit.
Convolution convolution_of(const NodeContext& context, const Tensor& x,
                           const Tensor& weight);

/// Input 2, a number for each output, or null. Throws: FormatError for another
/// count.
const float* bias_of(const NodeContext& context, int64_t outputs);

/// Where a window is one cell at each cell of the image, rows need no
/// difference.
inline void join_rows(Windows& windows) {
  for (const Window& w : windows) {
    if (w.kernel != 1 || w.stride != 1 || w.before != 0 || w.out != w.in) {
      return;
    }
  }
  windows[1].in = windows[1].out = windows[0].in * windows[1].in;
  windows[0].in = windows[0].out = 1;
}

/// y [n,oc,oh,ow] = bias + x * w; `bias` [oc] may be null. A sum goes over
/// channels, rows and columns of the kernel, in this order.
template <class T>
void convolve(const NodeContext& context, Convolution g, const T* x, const T* w,
              const T* bias, T* y) {
  // Outputs that share what is read of the image.
  constexpr int64_t kBlock = 4;
  join_rows(g.windows);
  const Window& rows = g.windows[0];
  const Window& columns = g.windows[1];
  const int64_t depth = g.channels / g.groups;
  const int64_t image = rows.in * columns.in;
  const int64_t plane = rows.out * columns.out;
  const int64_t kernel = rows.kernel * columns.kernel;
  const int64_t per_group = g.outputs / g.groups;
  const int64_t blocks = (per_group + kBlock - 1) / kBlock;
  parallel_for(g.batch * g.groups * blocks, [&](int64_t task) {
    const int64_t group = task / blocks % g.groups;
    const int64_t n = task / blocks / g.groups;
    const int64_t first = group * per_group + task % blocks * kBlock;
    const int64_t last = std::min(first + kBlock, (group + 1) * per_group);
    T* planes = y + n * g.outputs * plane;
    Pace pace(context);
    for (int64_t oc = first; oc < last; ++oc) {
      std::fill_n(planes + oc * plane, plane, bias == nullptr ? T{} : bias[oc]);
    }
    for (int64_t c = 0; c < depth; ++c) {
      const T* from = x + (n * g.channels + group * depth + c) * image;
      for (int64_t k = 0; k < kernel; ++k) {
        const int64_t kh = k / columns.kernel, kw = k % columns.kernel;
        const Range down = rows.outputs_of(kh);
        const Range along = columns.outputs_of(kw);
        pace.add(1 + down.size() * along.size() * (last - first));
        if (along.size() == 0) continue;
        for (int64_t oh = down.first; oh < down.last; ++oh) {
          const T* row = from + rows.position(oh, kh) * columns.in +
                         columns.position(along.first, kw);
          for (int64_t oc = first; oc < last; ++oc) {
            add_scaled(planes + oc * plane + oh * columns.out + along.first,
                       row, w[(oc * depth + c) * kernel + k], along.size(),
                       columns.stride);
          }
        }
      }
    }
  });
}

/// y [m,n] = a [m,k] * b [k,n].
template <class T>
void multiply(const NodeContext& context, int64_t m, int64_t k, int64_t n,
              const T* a, const T* b, T* y) {
  constexpr int64_t kRows = 8, kColumns = 512;
  const int64_t row_blocks = (m + kRows - 1) / kRows;
  const int64_t column_blocks = (n + kColumns - 1) / kColumns;
  parallel_for(row_blocks * column_blocks, [&](int64_t task) {
    const int64_t top = task / column_blocks * kRows;
    const int64_t bottom = std::min(top + kRows, m);
    const int64_t left = task % column_blocks * kColumns;
    const int64_t width = std::min(kColumns, n - left);
    for (int64_t r = top; r < bottom; ++r) {
      std::fill_n(y + r * n + left, width, T{});
    }
    Pace pace(context);
    for (int64_t i = 0; i < k; ++i) {
      pace.add((bottom - top) * width);
      for (int64_t r = top; r < bottom; ++r) {
        add_scaled(y + r * n + left, b + i * n + left, a[r * k + i], width);
      }
    }
  });
}

/// A matrix, or a copy of it with rows and columns exchanged.
/// Throws: FormatError for other ranks.
Tensor oriented(const NodeContext& context, const Tensor& x, bool transposed);

/// The dimensions of a MatMul under NumPy's rules.
struct Product {
  Dims batch;      ///< broadcast
  Dims a_strides;  ///< under `batch`, in elements
  Dims b_strides;
  int64_t m = 1, k = 1, n = 1;
  Dims result;
};
/// Throws: FormatError for shapes that do not fit.
Product product_of(const NodeContext& context, const Tensor& a,
                   const Tensor& b);

/// One matrix product for each of the batch.
template <class T>
Tensor multiply(const NodeContext& context, const Product& p, const Tensor& a,
                const Tensor& b);

extern template Tensor multiply<float>(const NodeContext&, const Product&,
                                       const Tensor&, const Tensor&);
extern template Tensor multiply<int32_t>(const NodeContext&, const Product&,
                                         const Tensor&, const Tensor&);
extern template Tensor multiply<int64_t>(const NodeContext&, const Product&,
                                         const Tensor&, const Tensor&);

}  // namespace octet::io::run
