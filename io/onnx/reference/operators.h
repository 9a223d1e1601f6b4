// The operators: a function each, in tables by name. The ONNX operator
// specification of the node's opset defines their results. All throw
// FormatError naming the node for inputs or attributes that do not fit, and
// UnsupportedError for unsupported cases.
#pragma once

#include <span>

#include "node.h"
#include "onnx/normalize/formulas.h"

namespace octet::io::run {

using Operator = Values (*)(const NodeContext&);

/// Returns the operator of a node; null if it is not supported.
Operator find_operator(const onnx::NodeProto& node);

/// Evaluates a formula; returns nothing if the operator stays as it is.
Values run_formula(const NodeContext& context, const formula::Formula& found);

struct NamedOperator {
  const char* name;
  Operator run;
};
using Operators = std::span<const NamedOperator>;

// Operators that have no formula, or none in recent opsets.
Operators arithmetic_operators();
Operators convolution_operators();
Operators indexing_operators();
Operators logic_operators();
Operators matrix_operators();
Operators movement_operators();
Operators pooling_operators();
Operators quantization_operators();
Operators recurrent_operators();
Operators reduction_operators();
Operators shape_operators();
Operators unary_operators();

Values conv_transpose(const NodeContext& context);
Values einsum(const NodeContext& context);
Values grid_sample(const NodeContext& context);
Values pad(const NodeContext& context);
Values resize(const NodeContext& context);

}  // namespace octet::io::run
