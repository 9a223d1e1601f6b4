// Terms of formulas. Internal to the lowerings.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "lowering.h"

namespace octet::io::lowering {

using Term = std::variant<double, Value, Integers, std::string>;
using Terms = std::vector<Term>;

/// Thrown by keep(): the node stays as it is.
struct Unchanged {};

/// Rounds toward zero, to the nearest integer of 64 bits.
int64_t whole(double number);

/// Sets the operator of a node. The domain "octet" has internal operators.
void set_operator(onnx::NodeProto& node, const std::string& name);

/// Numbers become float32 scalars, lists int64 constants.
Value value_of(Builder& graph, const Term& term);
Values values_of(Builder& graph, const Terms& terms, size_t first);

/// Returns a op b: a node, unless both are numbers or lists.
Term apply(Builder& graph, std::string_view op, const Term& a, const Term& b);

/// Calls a function other than the rows of the table.
Term call_function(Builder& graph, const std::string& name, const Terms& a);

/// Calls a row of the table.
Term call_row(Builder& graph, const Row& row, const Terms& arguments);

}  // namespace octet::io::lowering
