// If, Loop and Scan: operators whose attributes are graphs. Internal to the
// reference executor.
#pragma once

#include <string_view>
#include <vector>

#include "program.h"

namespace octet::io::run {

/// Returns the attributes that are a node's graphs; none for operators that
/// are not If, Loop or Scan.
std::vector<std::string_view> subgraphs_of(const onnx::NodeProto& node);

/// Throws: FormatError unless the graphs have the inputs and outputs that the
/// node requires.
void check_subgraphs(const PreparedNode& step);

/// Runs the subgraphs of a step.
/// Throws: FormatError; UnsupportedError for stacked outputs of no iteration.
Values run_subgraphs(const PreparedNode& step, const NodeContext& context);

}  // namespace octet::io::run
