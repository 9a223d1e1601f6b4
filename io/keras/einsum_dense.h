// The equation of Keras' EinsumDense as a product of matrices. Internal to
// io/keras.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <octet/runtime/config.h>
#include <octet/runtime/shape.h>

namespace octet::io {

/// EinsumDense as Permute, Reshape, Dense, Reshape and Permute.
struct EinsumPlan {
  std::vector<int64_t> order_in;    ///< of the input's axes, from 1 on
  std::vector<int64_t> rows;        ///< sizes before the contracted axes
  std::vector<int64_t> contracted;  ///< sizes
  std::vector<int64_t> units;       ///< sizes of the kernel's other axes
  std::vector<int64_t> order_out;   ///< of the result's axes, from 1 on
  std::vector<int> kernel_order;    ///< contracted axes, then the others
  Shape kernel;                     ///< in Keras
  Shape bias;                       ///< in Keras, of rank 0 if there is none
};

/// Throws: UnsupportedError for an equation that is not such a product;
/// FormatError for a malformed equation.
/// Source: keras/src/layers/core/einsum_dense.py, _analyze_split_string.
EinsumPlan einsum_plan(const Config& config, const Shape& input);

}  // namespace octet::io
