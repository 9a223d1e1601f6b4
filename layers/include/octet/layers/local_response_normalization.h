#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: size, alpha, beta, bias, name
struct LocalResponseNormalizationOptions {
  int64_t size = 5;  ///< odd
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1;
  std::string name = "";
};

/// Computes x / (bias + alpha / size * s)^beta, s being the sum of squares over
/// the window of `size` channels centered on x, clipped at the first and last
/// channel.
/// Shapes: [n,h,w,c] -> [n,h,w,c].
/// Throws: ValueError for an even size or size < 1, bias <= 0, or alpha < 0;
/// ShapeError for inputs other than images.
/// Source: Krizhevsky et al. 2012, section 3.3; ONNX LRN-13, which divides
/// alpha by the size.
class LocalResponseNormalization : public LayerHandle {
 public:
  explicit LocalResponseNormalization(
      const LocalResponseNormalizationOptions& options = {});
};

}  // namespace octet
