// The inputs and outputs of a graph that is being written: names, element types
// and axis order as OnnxOptions ask for them. Internal to io/onnx.
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
  /// Reserves the names, so that the names of layers make way.
  /// Throws: ValueError for names that are empty, equal or too many.
  Ports(const Model& model, const OnnxOptions& options, GraphBuilder& builder);

  /// Adds input `index` of the graph and the nodes that convert it for layers,
  /// which take it as float32 and, with `ncl`, a sequence channels first.
  OnnxValue add_input(size_t index, const GraphNode& input, bool ncl);
  /// Adds the outputs behind the nodes that convert `values` for them.
  void add_outputs(std::span<const OnnxValue> values);

  /// Layouts for the metadata: "NCHW", "NLC, NHWC"; "" without images and
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

/// The axis order of a value as layers store it, as in OnnxPort::axes.
std::vector<int> stored_axes(const OnnxValue& value);

}  // namespace octet::io
