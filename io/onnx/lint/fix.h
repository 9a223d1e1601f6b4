// Common code of repairs: the original graph and the graph to change. Internal
// to io/onnx/lint.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/io/lint.h>

#include "graph.h"
#include "unique_names.h"

namespace octet::io::lint {

class Repairer {
 public:
  /// REQUIRES: shapes have been inferred. `graph` outlives it.
  Repairer(onnx::GraphProto& graph, std::vector<LintRepair>& repairs);
  Repairer(const Repairer&) = delete;
  Repairer& operator=(const Repairer&) = delete;

  /// The original graph.
  const LintGraph& graph() const { return graph_; }
  const auto& nodes() const { return before_.node(); }

  /// Returns the node of the new graph, for changes.
  Node& changed(const Node& node);
  void add_node(Node node) { *after_.add_node() = std::move(node); }
  std::string new_name(const std::string& wish);
  /// Add initializers and return their names.
  std::string add_floats(const std::string& wish,
                         const std::vector<int64_t>& dims,
                         const std::vector<double>& values);
  std::string add_codes(const std::string& wish,
                        const std::vector<int64_t>& dims,
                        const std::vector<double>& values);
  std::string add_uint8(const std::string& wish,
                        const std::vector<int64_t>& dims,
                        const std::vector<double>& values);
  /// Adds a constant of one element as a scalar.
  std::string add_scalar(const onnx::TensorProto& tensor);
  /// Adds int8 zero points for the scales of a node.
  std::string add_zeros(const Node& node);

  /// Returns the DQs of a Q in graph order.
  const std::vector<const Node*>& dequantizers_of(const Node& quantize) const;
  bool ends_in_dequantizers(const std::string& codes) const;

  void tell(const char* id, const Node& node, std::string what);

 private:
  const onnx::GraphProto before_;
  const GraphView view_;
  const LintGraph graph_;
  onnx::GraphProto& after_;
  std::vector<LintRepair>& repairs_;
  UniqueNames taken_;
  std::unordered_map<const Node*, int> indices_;
  std::unordered_map<const Node*, std::vector<const Node*>> dequantizers_;
};

/// Whether `holds` is true for a consumer of a value, directly or after
/// operators that commute with quantization.
template <class Holds>
bool any_consumer(const LintGraph& graph, const std::string& value,
                  const Holds& holds) {
  std::vector<const std::string*> open{&value};
  while (!open.empty()) {
    const std::string& next = *open.back();
    open.pop_back();
    for (const Node* consumer : graph.view().consumers(next)) {
      if (holds(*consumer)) return true;
      if (graph.commutes(*consumer)) open.push_back(&consumer->output(0));
    }
  }
  return false;
}

/// Returns the float32 output of a DQ of constants; nothing if it is computed
/// or the scales do not fit.
std::optional<std::vector<double>> dequantized(const LintGraph& graph,
                                               const Node& dequantize);

/// E02, E04: uint8 with zero point 128 becomes int8.
void make_signed(Repairer& repairer);
/// E22: int8 between a Concat and a convolution becomes uint8.
void make_unsigned_at_concat(Repairer& repairer);
/// E03
void add_zero_points(Repairer& repairer);
/// E05
void match_zero_points(Repairer& repairer);
/// P31
void make_scales_scalar(Repairer& repairer);
/// E09
void write_axes(Repairer& repairer);
/// E17
void store_float_biases(Repairer& repairer);
/// E19
void store_floats(Repairer& repairer);
/// P19
void join_equal_pairs(Repairer& repairer);
/// P16
void free_outputs(Repairer& repairer);
/// E06: scales of channels with only zero weights.
void raise_scales(Repairer& repairer);
/// E20: quantized values of -128 become -127.
void narrow_codes(Repairer& repairer);

}  // namespace octet::io::lint
