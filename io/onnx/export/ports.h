// Inputs and outputs of a graph during export: names, element types and axis
// order according to OnnxExportOptions. Internal to io/onnx.
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include <octet/io/onnx.h>
#include <octet/layers/model.h>

#include "builder.h"

namespace octet::io {

/// Metadata of a file in which only some sequences are NCL: their names.
inline constexpr const char* kSequencesKey = "channels_first";

class Ports {
 public:
  /// Reserves the names; layers of the same names get other ones.
  /// Throws: ValueError for names that are empty, equal or too many.
  Ports(const Model& model, const OnnxExportOptions& options,
        GraphBuilder& builder);

  /// Adds input `index` of the graph and its conversion for layers, which take
  /// float32 and the axes of Keras.
  OnnxValue add_input(size_t index, const GraphNode& input);
  /// Adds the conversions of `values` and the outputs.
  void add_outputs(std::span<const OnnxValue> values);

  /// Names of the ports of rank 3 whose order is not given.
  const std::unordered_set<std::string>& open() const { return open_; }
  /// Sets the layouts of sequences: NCL if their order is not given, else NLC.
  void set_sequence_layouts(const std::unordered_set<std::string>& sequences);

  /// Layouts for the metadata: "NCHW", "NLC, NHWC"; "" without images or
  /// sequences.
  std::string input_layout() const { return layouts_text(input_layouts_); }
  std::string output_layout() const { return layouts_text(output_layouts_); }
  /// Names of the sequences that are NCL if others of rank 3 are not; else
  /// empty.
  std::vector<std::string> mixed_sequences() const;

 private:
  static std::string layouts_text(const std::vector<std::string>& layouts);
  /// Returns the axis order of a port, as in OnnxPort::axes, and notes its
  /// layout.
  std::vector<int> axes_of(const OnnxPort& port, int rank,
                           std::vector<std::string>& layouts);

  GraphBuilder& builder_;
  OnnxLayout layout_;
  std::unordered_set<std::string> open_, rank_3_;  ///< names
  std::vector<OnnxPort> inputs_, outputs_;
  std::vector<std::string> input_layouts_, output_layouts_;
};

}  // namespace octet::io
