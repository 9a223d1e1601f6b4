#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: patch_size, dim, kernel_initializer, kernel_regularizer,
/// name
struct PatchEmbeddingOptions {
  Size2 patch_size{16, 16};
  int64_t dim = 0;  ///< features per token
  Initializer kernel_initializer = glorot_uniform();
  Regularizer kernel_regularizer = {};
  std::string name = "";
};

/// Embeds image patches as tokens: a Conv2D `<name>` with strides equal to its
/// window, and a Reshape `<name>/tokens`.
/// Shapes: [n,h,w,c] -> [n,(h/ph)*(w/pw),dim], in row-major order.
/// Throws: ShapeError for images that patches do not divide; ValueError for
/// sizes < 1.
/// Source: Dosovitskiy et al., arXiv 2010.11929, section 3.1.
SymbolicTensor patch_embedding(const SymbolicTensor& x,
                               const PatchEmbeddingOptions& options);

}  // namespace octet
