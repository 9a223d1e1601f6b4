// Gemm and MatMul with a weight: Dense.
#include <utility>

#include <fmt/format.h>

#include <octet/layers/dense.h>
#include <octet/runtime/error.h>

#include "constant_values.h"
#include "converters.h"
#include "join.h"

namespace octet::io::importing {
namespace {

void multiply_by(const Conversion& c, ImportedWeight& weight, float factor) {
  if (factor == 1) return;
  if (weight.qparams) {
    c.keep_as_floats(weight, "multiplied by an alpha other than 1");
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
  c.expect_scales(kernel, outputs_axis);
}

/// Dense over an axis of an input, to whose result it adds the third input.
/// Features [n,c] may be in any order.
void set_dense(Conversion& c, int input, int axis, ImportedWeight kernel,
               int64_t outputs_axis, float beta = 1) {
  const ImportedValue& given = c.value(input);
  if (given.has_batch(axis)) {
    c.refuse(fmt::format("axis {} must be features, got the batch", axis));
  }
  const bool features = given.rank() == 2 && given.samples_lead();
  const LayerAxes rows(given, axis);
  const Operand x = features ? c.features(input) : c.operand(rows);
  check_kernel(c, kernel, x.tensor.shape()[-1], outputs_axis);
  if (features) kernel.value = rows_as_in(given, kernel.value);
  std::vector<ImportedWeight> weights{std::move(kernel)};
  const int64_t units = weights[0].value.shape()[1];
  if (c.has(2)) {
    const Shape shape = c.constant(2).shape();
    if (shape.size() > 1 && shape[-1] != units) {
      c.refuse(fmt::format("bias must have {} outputs, got {}", units,
                           shape.to_string()));
    }
    weights.push_back(c.channels(2, "bias", units, true));
    multiply_by(c, weights[1], beta);
  }
  const Dense layer({.units = units, .use_bias = weights.size() > 1});
  c.set_output(rows.back(c.add(layer, {x}, weights)));
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
/// mix tokens.
void convert_mixing(Conversion& c) {
  ImportedWeight kernel = matrix(c, 0);
  const ImportedValue& x = c.value(1);
  if (kernel.value.shape().rank() != 2 || x.rank() < 2) {
    c.refuse(
        fmt::format("a weight on the left must be a matrix, and the input "
                    "matrices, got {} and {}",
                    kernel.value.shape().to_string(), x.text()));
  }
  kernel.value = kernel.value.transposed({1, 0});
  set_dense(c, 1, x.rank() - 2, std::move(kernel), 0);
}

/// MatMul of two computed values.
void multiply(Conversion& c) {
  const ImportedValue a = c.value(0);
  const ImportedValue b = c.value(1);
  c.set_output(product_of(c, a, b));
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
  set_dense(c, 0, c.value(0).rank() - 1, std::move(kernel), transposed ? 0 : 1,
            c.number("beta", 1));
}

void convert_matmul(Conversion& c) {
  const int k = c.is_constant(0) ? 0 : 1;
  if (!c.is_constant(k)) return multiply(c);
  if (!is_matrix(c, k)) {
    make_values(c, {0, 1});
    return multiply(c);
  }
  if (k == 0) return convert_mixing(c);
  if (c.has(2)) add_leading_axes(c, {0, 2});
  set_dense(c, 0, c.value(0).rank() - 1, matrix(c, 1), 1);
}

}  // namespace octet::io::importing
