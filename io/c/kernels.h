// Text of the C functions in generated code.
#pragma once

#include <set>
#include <string>

#include "source.h"

namespace octet::io::c {

enum class Kernel {
  value,        ///< real value of an element
  quantized,    ///< quantized value
  put,          ///< stores a value
  dots,         ///< sums of products of integers
  accumulate,   ///< products of integers, added to sums
  rounding,     ///< rounded products and shifts of integers
  scaled,       ///< products with fixed-point factors
  epilogue,     ///< epilogue and store
  finish,       ///< bias, factors and epilogue of sums
  convolution,  ///< parameters
  pool,         ///< parameters
  conv_s8,      ///< convolution of int8 or int16 values
  depthwise_s8,
  conv_f32,
  depthwise_f32,
  evaluate,  ///< epilogue of a buffer
  max_pool_s8,
  max_pool_f32,
  average_pool,
  nearest_s8,
  nearest_f32,
  table_s8,  ///< int8 results
  table_f32,
  image_sum,
  softmax,
  cmsis_linear,  ///< parameters
  cmsis_conv,    ///< calls of CMSIS-NN
  cmsis_depthwise,
  cmsis_dense,
  cmsis_pool,  ///< parameters
  cmsis_max_pool,
  cmsis_average_pool,
};

/// Returns the structures and functions of kernels and of their dependencies,
/// with `prefix` before their names.
std::string kernel_text(const std::set<Kernel>& kernels,
                        const std::string& prefix, const CForm& form);

}  // namespace octet::io::c
