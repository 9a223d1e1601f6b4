// Convolutions of floats and of quantized values.
#pragma once

#include <cstdint>

#include "node.h"
#include "window.h"

namespace octet::io::run {

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

/// Returns input 2, a number for each output, or null. Throws: FormatError for
/// another count.
const float* bias_of(const NodeContext& context, int64_t outputs);

/// y [n,oc,oh,ow] = bias + x * w, summed as in add_product(); `bias` [oc] may
/// be null.
template <class R>
void convolve(const NodeContext& context, Convolution g, const float* x,
              const float* w, const R* bias, R* y);

extern template void convolve<float>(const NodeContext&, Convolution,
                                     const float*, const float*, const float*,
                                     float*);
extern template void convolve<int32_t>(const NodeContext&, Convolution,
                                       const float*, const float*,
                                       const int32_t*, int32_t*);

}  // namespace octet::io::run
