// (x - mean) / sqrt(variance + epsilon) * gamma + beta over the last axis, and
// x / max(|x|, epsilon).
#include <algorithm>
#include <string>
#include <vector>

#include "../graph_view.h"
#include "forms.h"

namespace octet::io::importing {
namespace {

/// Returns the axis of a reduction over a single axis with keepdims.
std::optional<int64_t> one_axis(const ImportGraph& graph,
                                const ImportNode& node) {
  if (integer_of(node.proto, "keepdims", 1) == 0) return std::nullopt;
  std::vector<int64_t> axes = integers_of(node.proto, "axes");
  if (node.proto.input_size() > 1) {
    const Constant* constant = graph.constant(node.proto.input(1));
    if (constant == nullptr || constant->value.dtype() != DType::i64) {
      return std::nullopt;
    }
    const auto values = constant->value.data<int64_t>();
    axes.assign(values.begin(), values.end());
  }
  if (axes.size() != 1) return std::nullopt;
  return axes[0];
}

/// x / sqrt(mean(x^2) + epsilon), x = v - mean(v).
struct Normalized {
  std::string value;
  std::string centred;
  int64_t axis = -1;
  float epsilon = 0;
};

std::optional<Normalized> squares_of(FormMatch& form, const ImportNode& mean,
                                     const std::string& centred) {
  const std::string& squares = FormMatch::input(mean, 0);
  const ImportNode* pow = form.part(squares, "Pow");
  const ImportNode* mul = form.part(squares, "Mul");
  const bool square = (pow != nullptr && FormMatch::input(*pow, 0) == centred &&
                       form.is_number(FormMatch::input(*pow, 1), 2)) ||
                      (mul != nullptr && FormMatch::input(*mul, 0) == centred &&
                       FormMatch::input(*mul, 1) == centred);
  if (!square) return std::nullopt;
  // The square consumes it once or twice, the division once.
  const ImportNode* sub = form.part(centred, "Sub", mul != nullptr ? 3 : 2);
  if (sub == nullptr) return std::nullopt;
  const ImportNode* first = form.part(FormMatch::input(*sub, 1), "ReduceMean");
  const std::string& value = FormMatch::input(*sub, 0);
  if (first == nullptr || FormMatch::input(*first, 0) != value) {
    return std::nullopt;
  }
  const auto axis = one_axis(form.graph(), *first);
  if (!axis || axis != one_axis(form.graph(), mean)) return std::nullopt;
  return Normalized{value, centred, *axis};
}

std::optional<Normalized> normalized_by(FormMatch& form,
                                        const ImportNode& div) {
  const ImportNode* sqrt = form.part(FormMatch::input(div, 1), "Sqrt");
  if (sqrt == nullptr) return std::nullopt;
  const ImportNode* sum = form.part(FormMatch::input(*sqrt, 0), "Add");
  if (sum == nullptr || sum->proto.input_size() != 2) return std::nullopt;
  for (const int at : {1, 0}) {
    const std::optional<float> epsilon =
        form.number(FormMatch::input(*sum, at));
    if (!epsilon || !(*epsilon > 0)) continue;
    const ImportNode* mean =
        form.part(FormMatch::input(*sum, 1 - at), "ReduceMean");
    if (mean == nullptr) return std::nullopt;
    auto found = squares_of(form, *mean, FormMatch::input(div, 0));
    if (found) found->epsilon = *epsilon;
    return found;
  }
  return std::nullopt;
}

/// Whether the value is a constant that varies along a single axis.
bool is_vector(const ImportGraph& graph, const std::string& value) {
  const Constant* constant = graph.constant(value);
  if (constant == nullptr || constant->value.dtype() != DType::f32) {
    return false;
  }
  const auto dims = constant->value.shape().dims();
  return std::ranges::count_if(dims, [](int64_t d) { return d != 1; }) == 1;
}

onnx::NodeProto node_for(const ImportNode& anchor, const Normalized& found) {
  onnx::NodeProto node;
  node.set_name(anchor.proto.name());
  node.set_op_type("LayerNormalization");
  node.add_input(found.value);
  auto* axis = node.add_attribute();
  axis->set_name(kOverOneAxis);
  axis->set_type(onnx::AttributeProto::INT);
  axis->set_i(found.axis);
  auto* epsilon = node.add_attribute();
  epsilon->set_name("epsilon");
  epsilon->set_type(onnx::AttributeProto::FLOAT);
  epsilon->set_f(found.epsilon);
  return node;
}

}  // namespace

// Replaces the Div; a following Mul and Add of vectors become scale and bias.
bool match_layer_normalization(ImportGraph& graph, ImportNode& node) {
  if (is_op(node, "Div")) {
    FormMatch form(graph, node);
    const auto found = normalized_by(form, node);
    if (!found) return false;
    form.replace_by(node_for(node, *found));
    return true;
  }
  const bool mul = is_op(node, "Mul");
  if ((!mul && !is_op(node, "Add")) || node.proto.input_size() != 2) {
    return false;
  }
  for (const int vector : {1, 0}) {
    if (!is_vector(graph, node.proto.input(vector))) continue;
    FormMatch form(graph, node);
    const ImportNode* norm =
        form.part(node.proto.input(1 - vector), "LayerNormalization");
    // Only nodes created here lack a scale or bias.
    if (norm == nullptr) return false;
    onnx::NodeProto by = norm->proto;
    if (by.input_size() != (mul ? 1 : 2) && !(by.input_size() == 1 && !mul)) {
      return false;
    }
    if (!mul && by.input_size() == 1) by.add_input("");
    by.add_input(node.proto.input(vector));
    form.replace_by(by);
    return true;
  }
  return false;
}

namespace {

/// Returns the y of max(y, 1e-12), consumed once; otherwise null.
const std::string* least(FormMatch& form, const std::string& value) {
  for (const char* op : {"Clip", "Max"}) {
    const ImportNode* node = form.part(value, op);
    if (node == nullptr || node->proto.input_size() < 2) continue;
    const bool open =
        node->proto.input_size() == 2 || FormMatch::input(*node, 2).empty();
    for (const int at : {1, 0}) {
      if (at == 0 && is_op(*node, "Clip")) break;
      if (open && form.is_number(FormMatch::input(*node, at), 1e-12)) {
        return &node->proto.input(1 - at);
      }
    }
  }
  return nullptr;
}

}  // namespace

// PyTorch's F.normalize: Div(x, Expand(Clip(ReduceL2(x)))).
bool match_unit_normalization(ImportGraph& graph, ImportNode& node) {
  if (!is_op(node, "Div")) return false;
  FormMatch form(graph, node);
  const std::string& x = FormMatch::input(node, 0);
  const std::string* value = &FormMatch::input(node, 1);
  std::string sizes;  // of the Expand
  if (const ImportNode* expand = form.part(*value, "Expand")) {
    sizes = FormMatch::input(*expand, 1);
    value = &expand->proto.input(0);
  }
  const std::string* length = least(form, *value);
  const ImportNode* norm =
      length == nullptr ? nullptr : form.part(*length, "ReduceL2");
  if (norm == nullptr || FormMatch::input(*norm, 0) != x) return false;
  const std::optional<int64_t> axis = one_axis(graph, *norm);
  if (!axis) return false;
  onnx::NodeProto by;
  by.set_name(node.proto.name());
  by.set_op_type("UnitNormalization");
  by.add_input(x);
  if (!sizes.empty()) by.add_input(sizes);
  auto* attribute = by.add_attribute();
  attribute->set_name("axis");
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(*axis);
  form.replace_by(by);
  return true;
}

}  // namespace octet::io::importing
