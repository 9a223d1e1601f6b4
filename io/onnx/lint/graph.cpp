#include "graph.h"

#include <algorithm>
#include <utility>

#include <octet/runtime/error.h>

#include "../operator_traits.h"
#include "../proto_limits.h"
#include "../qdq.h"
#include "../run/constants.h"
#include "../tensors.h"

namespace octet::io::lint {
namespace {

FusionKind kind_of_operator(const Node& node) {
  if (!is_standard_domain(node.domain())) return FusionKind::other;
  return traits_of(node.op_type()).fusion;
}

}  // namespace

bool is_op(const Node& node, std::initializer_list<std::string_view> names) {
  return is_standard_domain(node.domain()) &&
         std::ranges::find(names, node.op_type()) != names.end();
}

bool is_weighted(const Node& node) {
  return kind_of_operator(node) == FusionKind::linear;
}

bool is_convolution(const Node& node) {
  return is_op(node, {"Conv", "ConvTranspose"});
}

std::string name_of(const Node& node) {
  return node.name().empty() && node.output_size() > 0 ? node.output(0)
                                                       : node.name();
}

LintGraph::LintGraph(const GraphView& view) : view_(view) {
  for (const auto& output : proto().output()) outputs_.insert(output.name());
  // Nodes come after their producers.
  for (const auto& tensor : proto().initializer()) {
    constants_.insert(tensor.name());
  }
  for (const Node& node : proto().node()) {
    const bool all = std::ranges::all_of(node.input(), [&](const auto& input) {
      return input.empty() || constants_.contains(input);
    });
    // A subgraph may consume other values than the inputs.
    const bool nested = std::ranges::any_of(
        node.attribute(), [](const auto& a) { return a.has_g(); });
    const bool draws =
        node.op_type().starts_with("Random") || node.op_type() == "Bernoulli";
    if (all && !draws && !nested) {
      constants_.insert(node.output().begin(), node.output().end());
    }
  }
  follow_pairs();
  find_fusions();
}

bool LintGraph::is_output(const std::string& value) const {
  return outputs_.contains(value);
}

bool LintGraph::is_input(const std::string& value) const {
  return view_.producer(value) == nullptr && !is_constant(value);
}

bool LintGraph::is_constant(const std::string& value) const {
  return constants_.contains(value);
}

const onnx::TensorProto* LintGraph::constant(const std::string& value) const {
  const std::string* source = &value;
  while (true) {
    if (const auto* tensor = view_.constant(*source)) return tensor;
    const Node* producer = view_.producer(*source);
    if (producer == nullptr || !is_op(*producer, {"Cast", "Identity"})) {
      return nullptr;
    }
    source = &producer->input(0);
  }
}

std::optional<std::vector<double>> LintGraph::numbers(
    const std::string& value) const {
  const auto* tensor = constant(value);
  if (tensor == nullptr) return std::nullopt;
  if (is_float(*tensor)) {
    const std::vector<float> values = float_values(*tensor);
    return std::vector<double>(values.begin(), values.end());
  }
  const auto type = run::dtype_of(tensor->data_type());
  if (!type) return std::nullopt;
  const Tensor values = run::constant(*tensor);
  std::vector<double> result(static_cast<size_t>(values.size()));
  const auto copy = [&](const auto& from) {
    std::ranges::transform(from, result.begin(),
                           [](auto v) { return static_cast<double>(v); });
  };
  switch (*type) {
    case DType::i8:
      copy(values.data<int8_t>());
      break;
    case DType::u8:
      copy(values.data<uint8_t>());
      break;
    case DType::i32:
      copy(values.data<int32_t>());
      break;
    case DType::i64:
      copy(values.data<int64_t>());
      break;
    default:
      return std::nullopt;
  }
  return result;
}

std::optional<std::vector<double>> LintGraph::scales(const Node& node) const {
  return numbers(node.input(1));
}

bool LintGraph::is_per_tensor(const Node& node) const {
  const auto dims = view_.dims(node.input(1));
  return dims && (dims->empty() || *dims == std::vector<int64_t>{1});
}

std::optional<std::vector<double>> LintGraph::zero_points(
    const Node& node) const {
  if (node.input_size() < 3 || node.input(2).empty()) {
    return std::vector<double>{0};
  }
  return numbers(node.input(2));
}

bool LintGraph::has_qparams(const Node& node) const {
  return scales(node).has_value() && zero_points(node).has_value();
}

bool LintGraph::same_qparams(const Node& a, const Node& b) const {
  const auto all_zero = [](const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double v) { return v == 0; });
  };
  const auto first = scales(a), second = scales(b);
  const auto zero = zero_points(a), other = zero_points(b);
  return first && second && *first == *second && zero && other &&
         (*zero == *other || (all_zero(*zero) && all_zero(*other)));
}

bool LintGraph::commutes(const Node& node) const {
  if (is_op(node, {"Pad"})) {
    const auto* mode = find_attribute(node, "mode");
    const auto* before_opset_11 = find_attribute(node, "value");
    const auto value = node.input_size() > 2 && !node.input(2).empty()
                           ? numbers(node.input(2))
                           : std::vector<double>{0};
    return (mode == nullptr || mode->s() == "constant") &&
           (before_opset_11 == nullptr || before_opset_11->f() == 0) && value &&
           value->size() == 1 && value->front() == 0;
  }
  return kind_of_operator(node) == FusionKind::movement;
}

// In one pass forward and one back, so that chains of commuting operators take
// linear time.
void LintGraph::follow_pairs() {
  const auto find = [](const auto& nodes, const std::string& value) {
    const auto found = nodes.find(value);
    return found == nodes.end() ? nullptr : found->second;
  };
  for (const Node& node : proto().node()) {
    const bool passes = node.input_size() > 0 && commutes(node);
    const Node* dequantize = is_dequantize(node) ? &node
                             : passes ? find(dequantizers_, node.input(0))
                                      : nullptr;
    const Node* quantize = is_quantize(node) ? &node
                           : passes          ? find(quantizers_, node.input(0))
                                             : nullptr;
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      if (dequantize != nullptr) dequantizers_[output] = dequantize;
      if (quantize != nullptr) quantizers_[output] = quantize;
    }
  }
  const auto add_if_quantized = [&](const std::string& value) {
    const auto& consumers = view_.consumers(value);
    if (is_output(value) || consumers.empty()) return;
    const bool all = std::ranges::all_of(consumers, [&](const Node* consumer) {
      return is_quantize(*consumer) ||
             (commutes(*consumer) && consumer->output_size() > 0 &&
              quantized_.contains(consumer->output(0)));
    });
    if (all) quantized_.insert(value);
  };
  for (int i = proto().node_size() - 1; i >= 0; --i) {
    for (const std::string& output : proto().node(i).output()) {
      add_if_quantized(output);
    }
  }
  for (const auto& input : proto().input()) add_if_quantized(input.name());
  for (const auto& tensor : proto().initializer()) {
    add_if_quantized(tensor.name());
  }
}

const Node* LintGraph::dequantizer(const std::string& value) const {
  const auto found = dequantizers_.find(value);
  return found == dequantizers_.end() ? nullptr : found->second;
}

const Node* LintGraph::quantizer(const Node& dequantize) const {
  const auto found = quantizers_.find(dequantize.input(0));
  return found == quantizers_.end() ? nullptr : found->second;
}

std::vector<const Node*> LintGraph::quantizers_of(
    const std::string& value) const {
  std::vector<const Node*> result;
  for (const Node* consumer : view_.consumers(value)) {
    if (is_quantize(*consumer)) result.push_back(consumer);
  }
  return result;
}

bool LintGraph::is_quantized(const std::string& value) const {
  return quantized_.contains(value);
}

bool LintGraph::reads_int8(const Node& layer) const {
  return layer.input_size() > 1 && dequantizer(layer.input(0)) != nullptr &&
         dequantizer(layer.input(1)) != nullptr;
}

const Fusion& LintGraph::fusion(const Node& layer) const {
  static const Fusion kNone;
  const auto found = kernels_.find(&layer);
  return found == kernels_.end() ? kNone : found->second;
}

const Node* LintGraph::fused_with(const Node& node) const {
  return positions_.contains(&node) ? fusions_->kernel(node) : nullptr;
}

std::optional<int> LintGraph::weight_index(const Node& layer) const {
  if (layer.input_size() < 2) return std::nullopt;
  if (!is_op(layer, {"MatMul", "Gemm"})) return 1;
  if (is_constant(layer.input(1))) return 1;
  if (is_constant(layer.input(0))) return 0;
  return std::nullopt;
}

std::optional<ConvolutionShape> LintGraph::convolution(
    const Node& layer) const {
  const auto weight = view_.dims(layer.input(1));
  if (!weight || weight->size() < 3 ||
      std::ranges::any_of(*weight, [](int64_t size) { return size < 1; })) {
    return std::nullopt;
  }
  const auto* group = find_attribute(layer, "group");
  ConvolutionShape shape{.kernel = {(*weight)[2], weight->back()},
                         .in = (*weight)[1],
                         .out = (*weight)[0],
                         .groups = group == nullptr ? 1 : group->i()};
  if (weight->size() == 3) shape.kernel.w = 1;
  if (is_op(layer, {"ConvTranspose"})) std::swap(shape.in, shape.out);
  (is_op(layer, {"ConvTranspose"}) ? shape.out : shape.in) *= shape.groups;
  return shape;
}

std::vector<const Node*> LintGraph::nodes() const {
  std::vector<const Node*> result;
  for (const Node& node : proto().node()) {
    if (positions_.contains(&node)) result.push_back(&node);
  }
  return result;
}

FusionKind LintGraph::kind(const Node& node) const {
  if (!positions_.contains(&node)) return FusionKind::other;
  if (commutes(node)) return FusionKind::movement;
  const FusionKind kind = kind_of_operator(node);
  return kind == FusionKind::add && input_count(node) == 1 ? FusionKind::bias
                                                           : kind;
}

size_t LintGraph::input_count(const Node& node) const {
  return static_cast<size_t>(
      std::ranges::count_if(node.input(), [&](const std::string& value) {
        return !value.empty() && !is_constant(value);
      }));
}

const std::string& LintGraph::input(const Node& node, size_t index) const {
  for (const std::string& value : node.input()) {
    if (!value.empty() && !is_constant(value) && index-- == 0) return value;
  }
  throw InternalError("internal", "lint", "node has fewer inputs");
}

int64_t LintGraph::uses(const Node& node) const {
  const std::string& value = node.output(0);
  int64_t uses = is_output(value) ? 1 : 0;
  for (const Node* consumer : view_.consumers(value)) {
    uses += std::ranges::count(consumer->input(), value);
  }
  return uses;
}

// A batch of size 1 may stand beside a dynamic one.
bool LintGraph::broadcasts(const Node& node) const {
  std::optional<std::vector<int64_t>> first;
  for (size_t i = 0; i < input_count(node); ++i) {
    auto dims = view_.dims(input(node, i));
    if (!dims) continue;
    if (!dims->empty()) dims->front() = -1;
    if (first && *first != *dims) return true;
    first = std::move(dims);
  }
  return false;
}

void LintGraph::find_fusions() {
  for (const Node& node : proto().node()) {
    if (node.output_size() == 0 || is_constant(node.output(0))) continue;
    positions_.emplace(&node, positions_.size());
  }
  fusions_.emplace(*this);
  for (const Node* node : nodes()) {
    const Node* layer = fusions_->kernel(*node);
    if (layer == nullptr) continue;
    Fusion& fusion = kernels_[layer];
    fusion.nodes.push_back(node);
    fusion.output = node->output(0);
  }
}

}  // namespace octet::io::lint
