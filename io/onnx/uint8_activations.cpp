#include "uint8_activations.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "concat_pairs.h"
#include "graph_view.h"
#include "qdq.h"

namespace octet::io {
namespace {

/// Stores an int8 zero point of 0 as the uint8 zero point of the same values.
void store_uint8(onnx::TensorProto& zero_point) {
  zero_point.set_data_type(onnx::TensorProto::UINT8);
  zero_point.set_raw_data(
      std::string(zero_point.raw_data().size(), static_cast<char>(128)));
}

/// Adds a uint8 copy of each zero point to the graph.
class Uint8ZeroPoints {
 public:
  explicit Uint8ZeroPoints(onnx::GraphProto& graph) : graph_(graph) {
    for (const auto& initializer : graph.initializer()) {
      names_.insert(initializer.name());
    }
    for (const auto& node : graph.node()) {
      names_.insert(node.output().begin(), node.output().end());
    }
  }

  const std::string& of(const std::string& zero_point) {
    std::string& copy = copies_[zero_point];
    if (!copy.empty()) return copy;
    onnx::TensorProto tensor;
    for (const auto& initializer : graph_.initializer()) {
      if (initializer.name() == zero_point) tensor = initializer;
    }
    copy = zero_point + "/uint8";
    while (!names_.insert(copy).second) copy += "_";
    tensor.set_name(copy);
    store_uint8(tensor);
    *graph_.add_initializer() = std::move(tensor);
    return copy;
  }

  /// Removes originals without consumers.
  void drop_unread() {
    std::unordered_set<std::string> read;
    for (const auto& node : graph_.node()) {
      read.insert(node.input().begin(), node.input().end());
    }
    for (int i = graph_.initializer_size() - 1; i >= 0; --i) {
      const std::string& name = graph_.initializer(i).name();
      if (!copies_.contains(name) || read.contains(name)) continue;
      graph_.mutable_initializer()->DeleteSubrange(i, 1);
    }
  }

 private:
  onnx::GraphProto& graph_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, std::string> copies_;
};

}  // namespace

void store_uint8_activations(onnx::GraphProto& graph) {
  std::unordered_set<std::string> constants;
  for (const auto& initializer : graph.initializer()) {
    constants.insert(initializer.name());
  }
  std::unordered_set<std::string> zero_points;
  for (const auto& node : graph.node()) {
    if (is_quantize(node) && !constants.contains(node.input(0))) {
      zero_points.insert(node.input(2));
    }
  }
  for (onnx::TensorProto& initializer : *graph.mutable_initializer()) {
    if (!zero_points.contains(initializer.name()) ||
        initializer.data_type() != onnx::TensorProto::INT8) {
      continue;
    }
    store_uint8(initializer);
  }
}

void store_uint8_at_concat(onnx::GraphProto& graph) {
  std::unordered_set<std::string> quantized;
  {
    const GraphView view(graph);
    for (const ConcatPair& pair : int8_pairs_at_concat(view)) {
      quantized.insert(pair.quantize->output(0));
    }
  }
  if (quantized.empty()) return;
  Uint8ZeroPoints zero_points(graph);
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if ((is_quantize(node) && quantized.contains(node.output(0))) ||
        (is_dequantize(node) && quantized.contains(node.input(0)))) {
      node.set_input(2, zero_points.of(node.input(2)));
    }
  }
  zero_points.drop_unread();
}

}  // namespace octet::io
