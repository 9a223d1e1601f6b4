#include "detector.h"

#include <vector>

#include <octet/layers/convolution.h>
#include <octet/layers/ops.h>
#include <octet/layers/pooling.h>
#include <octet/layers/preprocessing.h>
#include <octet/layers/reshaping.h>

namespace octet::bench {
namespace {

constexpr int64_t kBins = 64;  // 16 per side of a box
constexpr int64_t kClasses = 80;

SymbolicTensor conv(const SymbolicTensor& x, int64_t filters, int64_t size = 1,
                    int64_t stride = 1) {
  const SymbolicTensor y = Conv2D({.filters = filters,
                                   .kernel_size = size,
                                   .strides = stride,
                                   .padding = Padding::same,
                                   .use_bias = false})(x);
  return silu(BatchNormalization()(y));
}

// Half of the channels pass through `blocks` pairs of convolutions; all
// intermediate results are joined (C2f).
SymbolicTensor partial_stage(const SymbolicTensor& x, int64_t filters,
                             int blocks, bool residual) {
  std::vector<SymbolicTensor> parts = split(conv(x, filters), 2);
  for (int i = 0; i < blocks; ++i) {
    const SymbolicTensor& last = parts.back();
    const SymbolicTensor y = conv(conv(last, filters / 2, 3), filters / 2, 3);
    parts.push_back(residual ? last + y : y);
  }
  return conv(concatenate(parts), filters);
}

// Joins the results of repeated pooling (SPPF).
SymbolicTensor pyramid_pooling(const SymbolicTensor& x, int64_t filters) {
  std::vector<SymbolicTensor> parts{conv(x, filters / 2)};
  for (int i = 0; i < 3; ++i) {
    parts.push_back(
        MaxPooling2D({.pool_size = 5, .strides = 1, .padding = Padding::same})(
            parts.back()));
  }
  return conv(concatenate(parts), filters);
}

SymbolicTensor joined(const SymbolicTensor& x, const SymbolicTensor& other,
                      int64_t filters) {
  return partial_stage(concatenate({x, other}), filters, 1, false);
}

SymbolicTensor predictions(const SymbolicTensor& x, int64_t filters,
                           int64_t outputs) {
  return Conv2D({.filters = outputs, .kernel_size = 1})(
      conv(conv(x, filters, 3), filters, 3));
}

// Returns a row per pixel.
SymbolicTensor head(const SymbolicTensor& x) {
  return reshape(concatenate({predictions(x, kBins, kBins),
                              predictions(x, kClasses, kClasses)}),
                 {-1, x.shape()[1] * x.shape()[2], kBins + kClasses});
}

}  // namespace

Model detector() {
  const SymbolicTensor image = input({320, 320, 3});
  SymbolicTensor x = conv(conv(image, 16, 3, 2), 32, 3, 2);
  x = partial_stage(x, 32, 1, true);
  const SymbolicTensor fine = partial_stage(conv(x, 64, 3, 2), 64, 2, true);
  const SymbolicTensor middle =
      partial_stage(conv(fine, 128, 3, 2), 128, 2, true);
  const SymbolicTensor coarse = pyramid_pooling(
      partial_stage(conv(middle, 256, 3, 2), 256, 1, true), 256);

  const SymbolicTensor up = joined(UpSampling2D()(coarse), middle, 128);
  const SymbolicTensor top = joined(UpSampling2D()(up), fine, 64);
  const SymbolicTensor down = joined(conv(top, 64, 3, 2), up, 128);
  const SymbolicTensor bottom = joined(conv(down, 128, 3, 2), coarse, 256);
  return Model(image, concatenate({head(top), head(down), head(bottom)}, 1));
}

}  // namespace octet::bench
