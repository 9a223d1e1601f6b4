// Inputs and outputs of a graph during export: names, element types and axis
// order according to OnnxOptions. Internal to io/onnx.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <octet/io/onnx.h>
#include <octet/layers/model.h>

#include "builder.h"

namespace octet::io {

class Ports {
 public:
  /// Reserves the names; layers of the same names get other ones.
  /// Throws: ValueError for names that are empty, equal or too many.
  Ports(const Model& model, const OnnxOptions& options, GraphBuilder& builder);

  /// Adds input `index` of the graph and its conversion for layers, which take
  /// float32 and, with `ncl`, channels-first sequences.
  OnnxValue add_input(size_t index, const GraphNode& input, bool ncl);
  /// Adds the conversions of `values` and the outputs.
  void add_outputs(std::span<const OnnxValue> values);

  /// Layouts for the metadata: "NCHW", "NLC, NHWC"; "" without images or
  /// sequences.
  std::string input_layout() const { return layouts_text(input_layouts_); }
  std::string output_layout() const { return layouts_text(output_layouts_); }

 private:
  static std::string layouts_text(const std::vector<std::string>& layouts);

  GraphBuilder& builder_;
  OnnxLayout layout_;
  std::vector<OnnxPort> inputs_, outputs_;
  std::vector<std::string> input_layouts_, output_layouts_;
};

/// Returns the axis order of a value within the graph, as in OnnxPort::axes.
std::vector<int> stored_axes(const OnnxValue& value);

}  // namespace octet::io
