// Common code of repairs: the original graph and the graph to change. Internal
// to io/onnx/lint.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/io/lint.h>

#include "graph.h"
#include "onnx/graph/qdq.h"

namespace octet::io::lint {

class Repairer {
 public:
  /// REQUIRES: shapes have been inferred.
  Repairer(onnx::ModelProto model, std::vector<LintRepair>& repairs)
      : graph_(model), after_(std::move(model)), repairs_(repairs) {}

  /// The original graph.
  const LintGraph& graph() const { return graph_; }
  const auto& nodes() const { return graph_.all_nodes(); }
  /// The graph to change.
  OnnxGraph& after() { return after_; }
  onnx::ModelProto model() && { return std::move(after_).to_model(); }

  /// Returns the node of the new graph.
  Node& changed(const Node& node) { return *after_.producer(node.output(0)); }
  void set_input(const Node& node, int index, const std::string& value) {
    after_.set_input(changed(node), index, value);
  }
  /// Adds an initializer of float32, int8 or uint8; returns its name.
  std::string add(const std::string& wish, onnx::TensorProto::DataType type,
                  const std::vector<int64_t>& dims,
                  const std::vector<double>& values);
  /// Adds int8 zero points for the scales of a node.
  std::string add_zeros(const Node& node);
  /// Sets the zero points of a Q and its DQs.
  void set_zero_points(const Node& quantize, const std::string& zeros);

  /// Returns the DQs of a Q in graph order.
  std::vector<const Node*> dequantizers_of(const Node& quantize) const;
  /// Whether only DQs, also after commuting operators, consume the output of a
  /// Q and all satisfy `holds`.
  template <class Holds>
  bool all_dequantizers(const Node& quantize, const Holds& holds) const;

  void tell(const char* id, const Node& node, std::string what) {
    repairs_.push_back({id, name_of(node), std::move(what)});
  }

 private:
  const LintGraph graph_;
  OnnxGraph after_;
  std::vector<LintRepair>& repairs_;
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
    for (const Node* consumer : graph.consumers(next)) {
      if (holds(*consumer)) return true;
      if (graph.commutes(*consumer)) open.push_back(&consumer->output(0));
    }
  }
  return false;
}

template <class Holds>
bool Repairer::all_dequantizers(const Node& quantize,
                                const Holds& holds) const {
  return !graph_.is_output(quantize.output(0)) &&
         !any_consumer(graph_, quantize.output(0), [&](const Node& consumer) {
           return is_dequantize(consumer)
                      ? !holds(consumer)
                      : !graph_.commutes(consumer) ||
                            graph_.is_output(consumer.output(0));
         });
}

// In order of application.

/// E02, E04: uint8 with zero point 128 becomes int8.
void make_signed(Repairer& repairer);
/// E03
void add_zero_points(Repairer& repairer);
/// E05
void match_zero_points(Repairer& repairer);
/// E09
void write_axes(Repairer& repairer);
/// P31
void make_scales_scalar(Repairer& repairer);
/// E06: scales of channels with only zero weights.
void raise_scales(Repairer& repairer);
/// E17
void store_float_biases(Repairer& repairer);
/// E19
void store_floats(Repairer& repairer);
/// E20: quantized values of -128 become -127.
void narrow_values(Repairer& repairer);
/// E22: int8 between a Concat and a convolution becomes uint8.
void make_unsigned_at_concat(Repairer& repairer);
/// P19
void join_equal_pairs(Repairer& repairer);
/// P16
void free_outputs(Repairer& repairer);

}  // namespace octet::io::lint
