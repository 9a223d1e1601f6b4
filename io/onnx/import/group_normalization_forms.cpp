// InstanceNormalization over groups of channels, as PyTorch writes GroupNorm.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../graph_view.h"
#include "forms.h"

namespace octet::io::importing {
namespace {

/// Returns the sizes of a Reshape if they are constants.
std::optional<std::vector<int64_t>> target_of(const ImportGraph& graph,
                                              const ImportNode& reshape) {
  const Constant* constant = graph.constant(FormMatch::input(reshape, 1));
  if (constant == nullptr || constant->value.dtype() != DType::i64) {
    return std::nullopt;
  }
  const auto sizes = std::as_const(constant->value).data<int64_t>();
  return std::vector<int64_t>(sizes.begin(), sizes.end());
}

/// Returns the stated shape of a value or input.
std::optional<std::vector<int64_t>> shape_of(const ImportGraph& graph,
                                             const std::string& value) {
  if (auto stated = graph.stated(value)) return stated;
  for (const OnnxTensorInfo& input : graph.inputs()) {
    if (input.name != value || !input.shape) continue;
    std::vector<int64_t> dims;
    for (const OnnxDim& dim : *input.shape) {
      const int64_t* size = std::get_if<int64_t>(&dim);
      dims.push_back(size == nullptr ? -1 : *size);
    }
    return dims;
  }
  return std::nullopt;
}

bool all_are(FormMatch& form, const std::string& value, float number) {
  const Constant* constant = form.graph().constant(value);
  return constant != nullptr && constant->value.dtype() == DType::f32 &&
         std::ranges::all_of(std::as_const(constant->value).f32(),
                             [&](float v) { return v == number; });
}

/// Whether a Reshape restores the shape of `x`.
bool leads_back(ImportGraph& graph, const ImportNode& reshape,
                const std::string& x, const std::vector<int64_t>& shape) {
  const ImportNode* sizes = graph.producer(FormMatch::input(reshape, 1));
  if (sizes != nullptr) {
    return is_op(*sizes, "Shape") && FormMatch::input(*sizes, 0) == x &&
           integer_of(sizes->proto, "start", 0) == 0 &&
           find_attribute(sizes->proto, "end") == nullptr;
  }
  const auto target = target_of(graph, reshape);
  if (!target || target->size() != shape.size()) return false;
  // At most one size may be inferred, and the batch may be dynamic.
  int open = 0;
  for (size_t i = 1; i < shape.size(); ++i) {
    const int64_t size = (*target)[i];
    if (size == -1) ++open;
    const bool kept = size == -1 || (size == shape[i] && size > 0);
    if (!kept) return false;
  }
  const int64_t batch = (*target)[0];
  return open + (batch == -1 ? 1 : 0) <= 1 &&
         (batch == 0 || batch == -1 || batch == shape[0]);
}

void set_attribute(onnx::NodeProto& node, const char* name, int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

bool match_groups(ImportGraph& graph, ImportNode& node) {
  FormMatch form(graph, node);
  const ImportNode* norm =
      form.part(FormMatch::input(node, 0), "InstanceNormalization");
  if (norm == nullptr || !all_are(form, FormMatch::input(*norm, 1), 1) ||
      !all_are(form, FormMatch::input(*norm, 2), 0)) {
    return false;
  }
  const ImportNode* split = form.part(FormMatch::input(*norm, 0), "Reshape");
  if (split == nullptr) return false;
  const std::string& x = FormMatch::input(*split, 0);
  const auto shape = shape_of(graph, x);
  const auto groups = target_of(graph, *split);
  const Constant* ones = graph.constant(FormMatch::input(*norm, 1));
  if (!shape || shape->size() < 2 || !groups || groups->size() != 3 ||
      (*groups)[1] < 1 || (*groups)[1] != ones->value.size() ||
      (*groups)[2] != -1 ||
      ((*groups)[0] != 0 && (*groups)[0] != (*shape)[0]) ||
      !leads_back(graph, node, x, *shape)) {
    return false;
  }
  onnx::NodeProto by;
  by.set_name(norm->proto.name());
  by.set_op_type("GroupNormalization");
  by.add_input(x);
  set_attribute(by, "num_groups", (*groups)[1]);
  set_attribute(by, kFromParts, 1);
  auto* epsilon = by.add_attribute();
  epsilon->set_name("epsilon");
  epsilon->set_type(onnx::AttributeProto::FLOAT);
  epsilon->set_f(number_of(norm->proto, "epsilon", 1e-5f));
  form.replace_by(by);
  return true;
}

/// Whether a constant has a number for each channel of a value of that rank.
bool is_for_channels(const ImportGraph& graph, const std::string& value,
                     int rank) {
  const Constant* constant = graph.constant(value);
  if (constant == nullptr || constant->value.dtype() != DType::f32) {
    return false;
  }
  const Shape& shape = constant->value.shape();
  const int axis = 1 - (rank - shape.rank());
  return axis >= 0 && axis < shape.rank() && shape.rank() <= rank &&
         shape[axis] == shape.size();
}

}  // namespace

bool match_group_normalization(ImportGraph& graph, ImportNode& node) {
  if (is_op(node, "Reshape")) return match_groups(graph, node);
  const bool mul = is_op(node, "Mul");
  if ((!mul && !is_op(node, "Add")) || node.proto.input_size() != 2) {
    return false;
  }
  for (const int vector : {1, 0}) {
    FormMatch form(graph, node);
    const ImportNode* norm =
        form.part(node.proto.input(1 - vector), "GroupNormalization");
    if (norm == nullptr || integer_of(norm->proto, kFromParts, 0) == 0) {
      continue;
    }
    const auto shape = shape_of(graph, FormMatch::input(*norm, 0));
    if (!shape || !is_for_channels(graph, node.proto.input(vector),
                                   static_cast<int>(shape->size()))) {
      return false;
    }
    onnx::NodeProto by = norm->proto;
    if (by.input_size() > (mul ? 1 : 2)) return false;
    if (!mul && by.input_size() == 1) by.add_input("");
    by.add_input(node.proto.input(vector));
    form.replace_by(by);
    return true;
  }
  return false;
}

}  // namespace octet::io::importing
