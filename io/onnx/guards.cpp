#include "guards.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "bounds.h"
#include "graph_view.h"
#include "tensors.h"

namespace octet::io {
namespace {

using Dims = std::vector<int64_t>;

constexpr int64_t kFirstSafeGemm = 7;

// Shapes that the file states, seen through nodes that keep them. -1 stands
// for an unknown dimension.
class Scope {
 public:
  Scope(const onnx::GraphProto& graph, const Scope* outer) : outer_(outer) {
    for (const auto* values :
         {&graph.input(), &graph.output(), &graph.value_info()}) {
      for (const auto& value : *values) add(value);
    }
    for (const auto& tensor : graph.initializer()) {
      dims_[tensor.name()] = {tensor.dims().begin(), tensor.dims().end()};
    }
    for (const auto& node : graph.node()) add(node);
  }

  std::optional<Dims> dims(std::string value) const {
    // The graph has no cycles: the checker has seen to it.
    for (auto next = same_.find(value); next != same_.end();
         next = same_.find(value)) {
      value = next->second;
    }
    if (const auto found = dims_.find(value); found != dims_.end()) {
      return found->second;
    }
    return outer_ == nullptr ? std::nullopt : outer_->dims(value);
  }

 private:
  void add(const onnx::ValueInfoProto& value) {
    if (!value.type().has_tensor_type() ||
        !value.type().tensor_type().has_shape()) {
      return;
    }
    Dims& dims = dims_[value.name()];
    dims.clear();
    for (const auto& dim : value.type().tensor_type().shape().dim()) {
      dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    }
  }

  void add(const onnx::NodeProto& node) {
    static constexpr std::string_view kKeepShape[] = {
        "QuantizeLinear", "DequantizeLinear", "Identity", "Cast", "Clip"};
    if (node.input_size() == 0 || node.output_size() == 0) return;
    if (std::find(std::begin(kKeepShape), std::end(kKeepShape),
                  node.op_type()) != std::end(kKeepShape)) {
      same_[node.output(0)] = node.input(0);
    }
  }

  const Scope* outer_;
  std::unordered_map<std::string, Dims> dims_;
  std::unordered_map<std::string, std::string> same_;
};

// The input that holds a convolution's weights, or -1 for other nodes.
int weight_input(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  if (op == "Conv" || op == "ConvTranspose" || op == "ConvInteger") return 1;
  return op == "QLinearConv" ? 3 : -1;
}

void complete_convolution(onnx::NodeProto& node, const Scope& scope) {
  const int input = weight_input(node);
  if (input < 0 || input >= node.input_size() ||
      find_attribute(node, "kernel_shape") != nullptr) {
    return;
  }
  const auto dims = scope.dims(node.input(input));
  if (!dims || std::count(dims->begin(), dims->end(), -1) > 0) {
    throw FormatError(fmt::format(
        "{}: expected an attribute kernel_shape or weights of known shape, got "
        "neither",
        describe(node)));
  }
  auto* attribute = node.add_attribute();
  attribute->set_name("kernel_shape");
  attribute->set_type(onnx::AttributeProto::INTS);
  for (size_t i = 2; i < dims->size(); ++i) attribute->add_ints((*dims)[i]);
}

void check_layer_normalization(const onnx::NodeProto& node,
                               const Scope& scope) {
  if (node.op_type() != "LayerNormalization" || node.output_size() < 2) return;
  const auto dims = scope.dims(node.input(0));
  if (!dims) {
    throw FormatError(fmt::format(
        "{}: expected an input of known rank for a node with {} outputs, got "
        "one without a shape; infer shapes before saving",
        describe(node), node.output_size()));
  }
  const auto* attribute = find_attribute(node, "axis");
  const int64_t axis = attribute == nullptr ? -1 : attribute->i();
  const int64_t rank = static_cast<int64_t>(dims->size());
  if (axis < -rank || axis >= rank) {
    throw FormatError(fmt::format("{}: expected an axis from {} to {}, got {}",
                                  describe(node), -rank, rank - 1, axis));
  }
}

void check_old_gemm(const onnx::NodeProto& node, const Scope& scope) {
  if (node.op_type() != "Gemm") return;
  for (const int input : {0, 1}) {
    const auto dims = scope.dims(node.input(input));
    if (dims && dims->size() == 2) continue;
    throw FormatError(
        fmt::format("{}: expected inputs of rank 2, got {}; before opset {} "
                    "they must be stated",
                    describe(node),
                    dims ? dims_text(*dims) : std::string("an unknown shape"),
                    kFirstSafeGemm));
  }
}

void guard(onnx::GraphProto& graph, int64_t opset, const Scope* outer) {
  const Scope scope(graph, outer);
  for (auto& node : *graph.mutable_node()) {
    if (is_standard_domain(node.domain())) {
      complete_convolution(node, scope);
      check_layer_normalization(node, scope);
      if (opset < kFirstSafeGemm) check_old_gemm(node, scope);
    }
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) guard(*attribute.mutable_g(), opset, &scope);
      for (auto& inner : *attribute.mutable_graphs())
        guard(inner, opset, &scope);
    }
  }
}

}  // namespace

void guard_inference(onnx::ModelProto& model) {
  guard(*model.mutable_graph(), opset_of(model), nullptr);
}

}  // namespace octet::io
