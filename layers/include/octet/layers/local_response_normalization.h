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

/// x / (bias + alpha / size * s)^beta, where s is the sum of squares over the
/// `size` channels of which each is the middle, as far as there are so many.
/// Shapes: [n,h,w,c] -> [n,h,w,c].
/// Throws: ValueError for a size that is even or < 1, a bias that is not
/// positive, or alpha < 0; ShapeError when called on anything but an image.
/// Source: Krizhevsky et al. 2012, section 3.3; ONNX LRN-13, which divides
/// alpha by the size.
class LocalResponseNormalization : public LayerHandle {
 public:
  explicit LocalResponseNormalization(
      const LocalResponseNormalizationOptions& options = {});
};

}  // namespace octet
