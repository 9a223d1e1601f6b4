// Gemm and MatMul with a weight: Dense.
#include <fmt/format.h>

#include <octet/layers/dense.h>
#include <octet/runtime/error.h>

#include "attention.h"
#include "constant_values.h"
#include "converters.h"

namespace octet::io::importing {
namespace {

void multiply_by(const Conversion& c, ImportedWeight& weight, float factor) {
  if (factor == 1) return;
  if (weight.qparams) {
    c.drop_codes(weight, "multiplied by an alpha other than 1");
  }
  weight.value = weight.value.clone();
  for (float& v : weight.value.f32()) v *= factor;
}

/// Checks that the weight is [in,out] with the scales on `outputs_axis`.
void check_kernel(const Conversion& c, ImportedWeight& kernel, int64_t in,
                  int64_t outputs_axis) {
  const Shape& shape = kernel.value.shape();
  if (shape.rank() != 2 || shape[0] != in) {
    c.refuse(fmt::format("weight must have {} input features, got {}", in,
                         shape.to_string()));
  }
  if (kernel.qparams && kernel.qparams->per_channel &&
      kernel.qparams->axis != outputs_axis) {
    c.drop_codes(kernel, fmt::format("scales are on axis {}, but a layer needs "
                                     "them on axis {}, the outputs",
                                     kernel.qparams->axis, outputs_axis));
  }
}

/// Bias added to each row: [out], [1,out] or a single number.
ImportedWeight bias_of(const Conversion& c, int input, int64_t units) {
  ImportedWeight bias{"bias", c.floats(input)};
  const Shape shape = bias.value.shape();
  if (bias.value.size() == 1) {
    bias.value = Tensor::full({units}, bias.value.f32()[0]);
    return bias;
  }
  if (bias.value.size() != units || shape[-1] != units) {
    c.refuse(fmt::format("bias must have {} outputs, got {}", units,
                         shape.to_string()));
  }
  bias.value = bias.value.reshaped({units});
  return bias;
}

LayerHandle dense_for(const std::vector<ImportedWeight>& weights) {
  return Dense(
      {.units = weights[0].value.shape()[1], .use_bias = weights.size() > 1});
}

/// Dense over the last axis, with any leading axes.
void convert_tokens(Conversion& c, ImportedWeight kernel, int64_t outputs_axis,
                    float beta) {
  const ImportedValue& given = c.value(0);
  if (given.has_batch(given.rank() - 1)) {
    c.refuse("last axis must be features, got the batch");
  }
  const LayerAxes rows(given, given.rank() - 1);
  const Operand x = c.operand(rows);
  check_kernel(c, kernel, x.tensor.shape()[-1], outputs_axis);
  std::vector<ImportedWeight> weights{kernel};
  if (c.has(2)) {
    weights.push_back(bias_of(c, 2, kernel.value.shape()[1]));
    multiply_by(c, weights[1], beta);
  }
  c.set_output(rows.back(c.add(dense_for(weights), {x}, weights)));
}

/// Whether the input is a single matrix for all matrices of the other input.
bool is_matrix(const Conversion& c, int input) {
  const Shape& shape = c.constant(input).shape();
  const int rank = shape.rank();
  return rank <= 2 || (rank <= c.value(1 - input).rank() &&
                       shape[-1] * shape[-2] == shape.size());
}

/// Removes leading axes of size 1.
ImportedWeight matrix(const Conversion& c, int input) {
  ImportedWeight kernel = c.weight(input, "kernel");
  const Shape shape = kernel.value.shape();
  if (shape.rank() > 2) {
    kernel.value = kernel.value.reshaped({shape[-2], shape[-1]});
    if (kernel.qparams) kernel.qparams->axis -= shape.rank() - 2;
  }
  return kernel;
}

/// A weight on the left, W x: Dense over the second last axis, as in MLPs that
/// mix tokens, or over a vector.
void convert_mixing(Conversion& c) {
  ImportedWeight kernel = matrix(c, 0);
  const ImportedValue& given = c.value(1);
  const int axis = given.rank() == 1 ? 0 : given.rank() - 2;
  if (kernel.value.shape().rank() != 2 || axis < 0) {
    c.refuse(
        fmt::format("a weight on the left must be a matrix, and the input "
                    "matrices, got {} and {}",
                    kernel.value.shape().to_string(), given.text()));
  }
  if (given.has_batch(axis)) {
    c.refuse("second last axis must be features, got the batch");
  }
  kernel.value = kernel.value.transposed({1, 0});
  const LayerAxes rows(given, axis);
  const Operand x = c.operand(rows);
  check_kernel(c, kernel, x.tensor.shape()[-1], 0);
  c.set_output(rows.back(c.add(dense_for({kernel}), {x}, {kernel})));
}

/// Dense over features in any order.
void convert_features(Conversion& c, ImportedWeight kernel,
                      int64_t outputs_axis, float beta) {
  const Operand x = c.features(0);
  check_kernel(c, kernel, x.tensor.shape()[1], outputs_axis);
  kernel.value = rows_as_in(c.value(0), kernel.value);
  std::vector<ImportedWeight> weights{kernel};
  if (c.has(2)) {
    weights.push_back(bias_of(c, 2, kernel.value.shape()[1]));
    multiply_by(c, weights[1], beta);
  }
  const SymbolicTensor y = c.add(dense_for(weights), {x}, weights);
  c.set_output(value_of(y, file_order(2)));
}

}  // namespace

void convert_gemm(Conversion& c) {
  if (c.integer("transA", 0) != 0) c.refuse("transA must be 0, got 1");
  ImportedWeight kernel = c.weight(1, "kernel");
  const bool transposed = c.integer("transB", 0) != 0;
  if (kernel.value.shape().rank() != 2) {
    c.refuse(fmt::format("weight must be a matrix, got {}",
                         kernel.value.shape().to_string()));
  }
  if (transposed) kernel.value = kernel.value.transposed({1, 0});
  multiply_by(c, kernel, c.number("alpha", 1));
  const int64_t outputs_axis = transposed ? 0 : 1;
  const float beta = c.number("beta", 1);
  if (c.value(0).samples_lead()) {
    return convert_features(c, std::move(kernel), outputs_axis, beta);
  }
  convert_tokens(c, std::move(kernel), outputs_axis, beta);
}

void convert_matmul(Conversion& c) {
  const int k = c.is_constant(0) ? 0 : 1;
  if (!c.is_constant(k)) return convert_product(c);
  if (!is_matrix(c, k)) {
    make_values(c, {0, 1});
    return convert_product(c);
  }
  if (k == 0) return convert_mixing(c);
  if (c.has(2)) add_leading_axes(c, {0, 2});
  ImportedWeight kernel = matrix(c, 1);
  if (c.value(0).rank() == 2 && c.value(0).samples_lead()) {
    return convert_features(c, std::move(kernel), 1, 1);
  }
  convert_tokens(c, kernel, 1, 1);
}

}  // namespace octet::io::importing
