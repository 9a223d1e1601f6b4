#include "forms.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace octet::io::importing {

ImportNode* FormMatch::part(const std::string& value, const char* op,
                            int64_t uses) {
  ImportNode* node = graph_.producer(value);
  if (node == nullptr || !is_op(*node, op) || graph_.uses(value) != uses ||
      node->proto.output_size() != 1) {
    return nullptr;
  }
  if (std::ranges::find(parts_, node) == parts_.end()) parts_.push_back(node);
  return node;
}

const std::string& FormMatch::input(const ImportNode& node, int number) {
  static const std::string kNone;
  return number < node.proto.input_size() ? node.proto.input(number) : kNone;
}

std::optional<float> FormMatch::number(const std::string& value) const {
  const Constant* constant = graph_.constant(value);
  if (constant == nullptr || constant->value.size() != 1 ||
      constant->value.dtype() != DType::f32) {
    return std::nullopt;
  }
  return std::as_const(constant->value).f32()[0];
}

bool FormMatch::is_number(const std::string& value, double expected) const {
  const std::optional<float> found = number(value);
  return found && std::abs(static_cast<double>(*found) - expected) <=
                      1e-6 * std::abs(expected);
}

int FormMatch::number_input(const ImportNode& node, double expected) const {
  if (node.proto.input_size() != 2) return -1;
  if (is_number(node.proto.input(1), expected)) return 1;
  return is_number(node.proto.input(0), expected) ? 0 : -1;
}

void FormMatch::replace_by(const char* op, std::vector<std::string> inputs) {
  onnx::NodeProto node;
  node.set_name(anchor_.proto.name());
  node.set_op_type(op);
  for (std::string& name : inputs) node.add_input(std::move(name));
  replace_by(node);
}

void FormMatch::replace_by(const onnx::NodeProto& node) {
  graph_.replace(anchor_, node, parts_);
}

// Visits nodes in graph order, so that parts that are forms themselves are
// replaced first. The second pass finds forms whose parts the first replaced.
void recognize_forms(ImportGraph& graph) {
  // Before opset 7, binary operators broadcast along an `axis` attribute, which
  // the matchers do not check.
  if (graph.opset() < 7) return;
  for (int pass = 0; pass < 2; ++pass) {
    for (ImportNode& node : graph.nodes()) {
      if (node.gone) continue;
      (void)(match_layer_normalization(graph, node) ||
             match_group_normalization(graph, node) ||
             match_gelu(graph, node) || match_gated(graph, node) ||
             match_hard_sigmoid(graph, node) ||
             match_unit_normalization(graph, node) ||
             match_not_equal(graph, node) || match_bias(graph, node) ||
             match_affine(graph, node));
    }
  }
}

}  // namespace octet::io::importing
