// Attention in one step: products of queries and keys, pointwise ops on these
// scores, softmax over the keys, products with the values. A block of rows of
// scores stays in cache. The arithmetic is that of the separate ops.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet {

/// Places of the matrices of a tensor: element (r, c) of matrix i of a sample
/// is at sample * n + offsets[i] + row * r + column * c.
struct MatrixLayout {
  std::vector<int64_t> offsets;
  int64_t sample = 0;  // 0: the same for all samples
  int64_t row = 0, column = 0;
};

/// A pointwise op on the scores.
struct ScoreOp {
  enum class Kind {
    scale_shift,
    add,
    multiply,
    divide,     ///< scores / operand
    where,      ///< condition != 0 ? scores : operand
    where_not,  ///< condition != 0 ? operand : scores
  };
  Kind kind = Kind::scale_shift;
  float scale = 1, shift = 0;  // of scale_shift
  int operand = -1;            // inputs of the step
  int condition = -1;
};

/// Matrices [queries][depth], [keys][depth], [keys][channels] and
/// [queries][channels], for each head of a sample.
struct Attention {
  int64_t heads = 0;
  int64_t queries = 0, keys = 0, depth = 0, channels = 0;
  std::vector<float> rescale;  // factors of the scores before `ops`, or empty
  std::vector<ScoreOp> ops;
  float scale = 1;  // of the softmax, after `ops`
  /// Of query, key, value and the operands of `ops`; column: 1 for the query;
  /// row or column: 1 for key and value.
  std::vector<MatrixLayout> inputs;
  MatrixLayout output;  // column: 1
};

/// Computes any number of samples into y.
void attend(const Attention& attention, std::span<const Tensor> inputs,
            Tensor& y);

}  // namespace octet
