// Results of the terms of a formula. Internal to the formulas.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "formulas.h"

namespace octet::io::formula {

using Argument = std::variant<double, GraphValue, Integers, std::string>;
using Arguments = std::vector<Argument>;

/// Thrown by keep(): the node stays as it is.
struct Unchanged {};

/// Rounds toward zero, to the nearest integer of 64 bits.
int64_t whole(double number);

/// Sets the operator of a node. The domain "octet" has internal operators.
void set_operator(onnx::NodeProto& node, const std::string& name);

/// Numbers become float32 scalars, lists int64 constants.
GraphValue value_of(FormulaGraph& graph, const Argument& term);
GraphValues values_of(FormulaGraph& graph, const Arguments& terms,
                      size_t first);

/// Returns a op b: a node, unless both are numbers or lists.
Argument apply(FormulaGraph& graph, std::string_view op, const Argument& a,
               const Argument& b);

/// Calls a function other than the formulas of the table.
Argument call_function(FormulaGraph& graph, const std::string& name,
                       const Arguments& a);

/// Calls a formula of the table.
Argument call_formula(FormulaGraph& graph, const Formula& formula,
                      const Arguments& arguments);

}  // namespace octet::io::formula
