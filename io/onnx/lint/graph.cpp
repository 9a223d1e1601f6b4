#include "graph.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include <octet/runtime/error.h>

#include "elements.h"
#include "onnx/check/proto_limits.h"
#include "onnx/graph/operator_traits.h"
#include "onnx/graph/qdq.h"
#include "onnx/graph/tensors.h"
#include "onnx/reference/constants.h"

namespace octet::io::lint {
namespace {

FusionKind kind_of_operator(const Node& node) {
  if (!is_standard_domain(node.domain())) return FusionKind::other;
  return traits_of(node.op_type()).fusion;
}

}  // namespace

bool is_weighted(const Node& node) {
  return kind_of_operator(node) == FusionKind::linear;
}

bool is_convolution(const Node& node) {
  return is_op(node, {"Conv", "ConvTranspose"});
}

int64_t axis_of(const Node& node, size_t rank) {
  const int64_t axis = integer_of(node, "axis", 1);
  return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
}

LintGraph::LintGraph(onnx::ModelProto model) : OnnxGraph(std::move(model)) {
  // Nodes come after their producers.
  for (const auto& [name, tensor] : initializers()) constants_.insert(name);
  for (const Node& node : all_nodes()) {
    const bool all = std::ranges::all_of(node.input(), [&](const auto& input) {
      return input.empty() || constants_.contains(input);
    });
    // A subgraph may consume other values than the inputs.
    const bool nested = has_subgraphs(node);
    const bool draws =
        node.op_type().starts_with("Random") || node.op_type() == "Bernoulli";
    if (all && !draws && !nested) {
      constants_.insert(node.output().begin(), node.output().end());
    }
  }
  follow_pairs();
  find_fusions();
}

bool LintGraph::is_input(const std::string& value) const {
  return producer(value) == nullptr && !is_constant(value);
}

bool LintGraph::is_constant(const std::string& value) const {
  return constants_.contains(value);
}

const onnx::TensorProto* LintGraph::moved_constant(
    const std::string& value) const {
  const std::string* source = &value;
  while (true) {
    if (const auto* found = tensor(*source)) return found;
    const Node* from = producer(*source);
    if (from == nullptr || !is_op(*from, {"Cast", "Identity"})) return nullptr;
    source = &from->input(0);
  }
}

std::optional<std::vector<double>> LintGraph::numbers(
    const std::string& value) const {
  const auto* tensor = moved_constant(value);
  if (tensor == nullptr) return std::nullopt;
  if (is_float(*tensor)) {
    const std::vector<float> values = float_values(*tensor);
    return std::vector<double>(values.begin(), values.end());
  }
  const auto type = run::dtype_of(tensor->data_type());
  if (!type || type == DType::boolean) return std::nullopt;
  const Tensor values = run::constant(*tensor);
  return visit_elements(values, [](auto elements) {
    return std::optional(std::vector<double>(elements.begin(), elements.end()));
  });
}

std::optional<std::vector<double>> LintGraph::scales(const Node& node) const {
  return numbers(node.input(1));
}

std::optional<QuantizedConstant> LintGraph::quantized_constant(
    const Node& node) const {
  const auto values = numbers(node.input(0));
  const auto scales = this->scales(node);
  const auto sizes = dims(node.input(0));
  if (!values || !scales || scales->empty() || !sizes ||
      integer_of(node, "block_size", 0) != 0) {
    return std::nullopt;
  }
  QuantizedConstant constant{&node, *sizes, *values, *scales};
  if (scales->size() == 1) return constant;
  const auto axis = static_cast<size_t>(axis_of(node, sizes->size()));
  if (axis >= sizes->size() || (*sizes)[axis] != std::ssize(*scales)) {
    return std::nullopt;
  }
  for (size_t d = axis + 1; d < sizes->size(); ++d) {
    constant.inner *= static_cast<size_t>((*sizes)[d]);
  }
  return constant;
}

int32_t LintGraph::quantized_type(const Node& node) const {
  return element_type(node.op_type() == "QuantizeLinear" ? node.output(0)
                                                         : node.input(0));
}

bool LintGraph::is_per_tensor(const Node& node) const {
  const auto sizes = dims(node.input(1));
  return sizes && (sizes->empty() || *sizes == std::vector<int64_t>{1});
}

std::optional<std::vector<double>> LintGraph::zero_points(
    const Node& node) const {
  if (node.input(2).empty()) return std::vector<double>{0};
  return numbers(node.input(2));
}

bool LintGraph::is_symmetric(const Node& node) const {
  const auto zero = zero_points(node);
  return zero && std::ranges::all_of(*zero, [](double z) { return z == 0; });
}

bool LintGraph::has_qparams(const Node& node) const {
  return scales(node).has_value() && zero_points(node).has_value();
}

bool LintGraph::same_qparams(const Node& a, const Node& b) const {
  const auto first = scales(a), second = scales(b);
  const auto zero = zero_points(a), other = zero_points(b);
  return first && second && *first == *second && zero && other &&
         (*zero == *other || (is_symmetric(a) && is_symmetric(b)));
}

bool LintGraph::commutes(const Node& node) const {
  if (is_op(node, {"Pad"})) {
    const auto value =
        node.input(2).empty() ? std::vector<double>{0} : numbers(node.input(2));
    return text_of(node, "mode", "constant") == "constant" &&
           number_of(node, "value", 0) == 0 &&  // before opset 11
           value && value->size() == 1 && value->front() == 0;
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
  for (const Node& node : all_nodes()) {
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
    const auto readers = consumers(value);
    if (is_output(value) || readers.empty()) return;
    const bool all = std::ranges::all_of(readers, [&](const Node* consumer) {
      return is_quantize(*consumer) ||
             (commutes(*consumer) && consumer->output_size() > 0 &&
              quantized_.contains(consumer->output(0)));
    });
    if (all) quantized_.insert(value);
  };
  for (const Node& node : std::views::reverse(all_nodes())) {
    for (const std::string& output : node.output()) add_if_quantized(output);
  }
  for (const auto& input : inputs()) add_if_quantized(input.name);
  for (const auto& [name, tensor] : initializers()) add_if_quantized(name);
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
  for (const Node* consumer : consumers(value)) {
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

const Node* LintGraph::weight_dequantizer(const Node& layer) const {
  const auto index = weight_index(layer);
  return is_weighted(layer) && index && is_constant(layer.input(*index))
             ? dequantizer(layer.input(*index))
             : nullptr;
}

std::optional<ConvolutionShape> LintGraph::convolution(
    const Node& layer) const {
  const auto weight = dims(layer.input(1));
  if (!weight || weight->size() < 3 ||
      std::ranges::any_of(*weight, [](int64_t size) { return size < 1; })) {
    return std::nullopt;
  }
  ConvolutionShape shape{.kernel = {(*weight)[2], weight->back()},
                         .in = (*weight)[1],
                         .out = (*weight)[0],
                         .groups = integer_of(layer, "group", 1)};
  if (weight->size() == 3) shape.kernel.w = 1;
  if (is_op(layer, {"ConvTranspose"})) std::swap(shape.in, shape.out);
  (is_op(layer, {"ConvTranspose"}) ? shape.out : shape.in) *= shape.groups;
  return shape;
}

std::vector<const Node*> LintGraph::nodes() const {
  std::vector<const Node*> result;
  for (const Node& node : all_nodes()) {
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

// A batch of size 1 may stand beside a dynamic one.
bool LintGraph::broadcasts(const Node& node) const {
  std::optional<std::vector<int64_t>> first;
  for (size_t i = 0; i < input_count(node); ++i) {
    auto sizes = dims(input(node, i));
    if (!sizes) continue;
    if (!sizes->empty()) sizes->front() = -1;
    if (first && *first != *sizes) return true;
    first = std::move(sizes);
  }
  return false;
}

void LintGraph::find_fusions() {
  for (const Node& node : all_nodes()) {
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
