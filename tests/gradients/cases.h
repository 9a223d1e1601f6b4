// Test cases, per op and shape: the op, its double-precision reference, its
// inputs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reference.h"

namespace octet {

struct GradientCase {
  std::string op;       // the function's name; empty for a block of several
  std::string variant;  // distinguishes cases of an op
  std::vector<Shape> inputs;
  std::function<Variable(const std::vector<Variable>&)> compute;
  std::function<reference::Array(const std::vector<reference::Array>&)>
      reference;

  std::string name() const { return op.empty() ? variant : op + "_" + variant; }
};

// A source per family of ops, as in runtime/ops/*.h.
void add_activation_cases(std::vector<GradientCase>& cases);
void add_arithmetic_cases(std::vector<GradientCase>& cases);
void add_block_cases(std::vector<GradientCase>& cases);
void add_convolution_cases(std::vector<GradientCase>& cases);
void add_dense_cases(std::vector<GradientCase>& cases);
void add_layout_cases(std::vector<GradientCase>& cases);
void add_loss_cases(std::vector<GradientCase>& cases);
void add_normalization_cases(std::vector<GradientCase>& cases);
void add_pooling_cases(std::vector<GradientCase>& cases);
void add_random_cases(std::vector<GradientCase>& cases);
void add_recurrent_cases(std::vector<GradientCase>& cases);
void add_reduction_cases(std::vector<GradientCase>& cases);
void add_sequence_cases(std::vector<GradientCase>& cases);
void add_softmax_cases(std::vector<GradientCase>& cases);

std::vector<GradientCase> gradient_cases();

// Shared helpers.
/// "2x3x4".
std::string dims(const Shape& shape);
/// "s22_d11_p0101".
std::string text(const WindowOptions& options);
/// Shapes for elementwise and channelwise ops.
const std::vector<Shape>& pointwise_shapes();

}  // namespace octet
