#include "graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "graph_view.h"
#include "proto_limits.h"
#include "run/constants.h"
#include "tensors.h"

namespace octet::io {
namespace {

// Constants with fewer elements are not freed early.
constexpr int64_t kLarge = 1 << 14;

// More than any real network has; bounds the import time.
constexpr int kMostNodes = 100'000;

// Distances between positions: of a file's nodes, and of inserted ones.
constexpr int64_t kSpacing = int64_t{1} << 40;
constexpr int64_t kStep = int64_t{1} << 20;

void check_node_count(size_t count) {
  if (count <= kMostNodes) return;
  throw FormatError("size_limit", "ONNX model",
                    fmt::format("graph must have at most {} nodes, got {}",
                                kMostNodes, count));
}

std::string name_of(const onnx::NodeProto& node) {
  return printable(node.name().empty() && node.output_size() > 0
                       ? node.output(0)
                       : node.name(),
                   200);
}

}  // namespace

OnnxGraph::OnnxGraph(onnx::ModelProto model, const FileLimits& limits)
    : opset_(opset_of(model)),
      name_(printable(model.graph().name())),
      budget_(limits) {
  onnx::GraphProto& graph = *model.mutable_graph();
  check_node_count(static_cast<size_t>(graph.node_size()));
  {
    const GraphView view(graph);
    inputs_ = view.inputs();
    file_inputs_ = inputs_.size();
    input_places_.resize(file_inputs_);
    std::iota(input_places_.begin(), input_places_.end(), size_t{0});
    outputs_ = view.outputs();
    const auto add_type = [&](const std::string& value) {
      if (auto dims = view.dims(value)) stated_[value] = std::move(*dims);
      element_types_[value] = view.element_type(value);
    };
    for (const auto& input : graph.input()) add_type(input.name());
    for (const auto& node : graph.node()) {
      for (const std::string& output : node.output()) add_type(output);
    }
  }
  for (const auto& input : graph.input()) names_.insert(input.name());
  for (const auto& tensor : graph.sparse_initializer()) {
    other_types_[tensor.values().name()] = "a sparse tensor";
    names_.insert(tensor.values().name());
  }
  for (auto& tensor : *graph.mutable_initializer()) {
    const std::string name = tensor.name();
    add_initializer(name, tensor);
    tensor.Clear();  // frees the second copy
  }
  for (const OnnxTensorInfo& output : outputs_) ++output_uses_[output.name];
  for (auto& proto : *graph.mutable_node()) {
    report_.nodes.push_back(
        {name_of(proto), printable(proto.op_type()), "", ""});
    onnx::NodeProto node;
    node.Swap(&proto);
    const std::vector<size_t> origin{report_.nodes.size() - 1};
    insert(nodes_.end(), std::move(node), origin);
  }
}

const OnnxConstant* OnnxGraph::constant(const std::string& value) const {
  const auto found = constants_.find(value);
  return found == constants_.end() ? nullptr : &found->second;
}

void OnnxGraph::set_constant(const std::string& value, OnnxConstant constant) {
  names_.insert(value);
  constants_[value] = std::move(constant);
}

std::string OnnxGraph::add_constant(const std::string& name,
                                    const Tensor& value) {
  std::string unique = unique_name(name);
  set_constant(unique, {.value = value, .source = unique});
  return unique;
}

void OnnxGraph::add_initializer(const std::string& value,
                                const onnx::TensorProto& tensor) {
  names_.insert(value);
  if (run::dtype_of(tensor.data_type())) {
    constants_[value] = {run::constant(tensor), {}, value};
  } else if (tensor.data_type() == onnx::TensorProto::DOUBLE) {
    constants_[value] = {run::constant(as_float32(tensor)), {}, value};
  } else {
    other_types_[value] = type_name(tensor.data_type());
  }
}

const std::string* OnnxGraph::other_type(const std::string& value) const {
  const auto found = other_types_.find(value);
  return found == other_types_.end() ? nullptr : &found->second;
}

OnnxNode* OnnxGraph::producer(const std::string& value) {
  const auto found = producers_.find(value);
  return found == producers_.end() || found->second->gone ? nullptr
                                                          : found->second;
}

int64_t OnnxGraph::uses(const std::string& value) const {
  int64_t uses = 0;
  const auto found = consumers_.find(value);
  if (found != consumers_.end()) {
    for (const auto& [node, count] : found->second) uses += count;
  }
  const auto output = output_uses_.find(value);
  return uses + (output == output_uses_.end() ? 0 : output->second);
}

std::vector<const OnnxNode*> OnnxGraph::consumers(
    const std::string& value) const {
  std::vector<const OnnxNode*> result;
  const auto found = consumers_.find(value);
  if (found == consumers_.end()) return result;
  for (const auto& [node, count] : found->second) result.push_back(node);
  return result;
}

bool OnnxGraph::is_output(const std::string& value) const {
  return output_uses_.contains(value);
}

bool OnnxGraph::is_consumed_only_by(const std::string& value,
                                    const std::vector<OnnxNode*>& nodes) const {
  if (is_output(value)) return false;
  const auto found = consumers_.find(value);
  return found == consumers_.end() ||
         std::ranges::all_of(found->second, [&](const auto& consumer) {
           return std::ranges::find(nodes, consumer.first) != nodes.end();
         });
}

std::optional<std::vector<int64_t>> OnnxGraph::stated(
    const std::string& value) const {
  const auto found = stated_.find(value);
  if (found == stated_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> OnnxGraph::drop_unused_inputs() {
  std::vector<std::string> dropped;
  std::vector<OnnxTensorInfo> inputs;
  std::vector<size_t> places;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (uses(inputs_[i].name) == 0) {
      dropped.push_back(inputs_[i].name);
      continue;
    }
    inputs.push_back(std::move(inputs_[i]));
    places.push_back(input_places_[i]);
  }
  inputs_ = std::move(inputs);
  input_places_ = std::move(places);
  return dropped;
}

int32_t OnnxGraph::element_type(const std::string& value) const {
  const auto found = element_types_.find(value);
  return found == element_types_.end() ? onnx::TensorProto::UNDEFINED
                                       : found->second;
}

std::string OnnxGraph::unique_name(std::string base) {
  while (!names_.insert(base).second) base += '_';
  return base;
}

// Positions only express the order: they are assigned anew when the space
// between two nodes is used up.
void OnnxGraph::number_nodes() {
  int64_t position = 0;
  for (OnnxNode& node : nodes_) node.position_ = position += kSpacing;
}

OnnxNode& OnnxGraph::insert(std::list<OnnxNode>::iterator before,
                            onnx::NodeProto proto, std::vector<size_t> origin) {
  check_node_count(nodes_.size() + 1);
  const auto place = nodes_.emplace(before);
  OnnxNode& node = *place;
  places_[&node] = place;
  const int64_t previous =
      place == nodes_.begin() ? 0 : std::prev(place)->position_;
  if (before == nodes_.end()) {
    node.position_ = previous + kSpacing;
  } else {
    const int64_t gap = before->position_ - previous;
    node.position_ = previous + std::min(kStep, gap / 2);
    if (gap < 2) number_nodes();
  }
  node.name = name_of(proto);
  node.origin = std::move(origin);
  node.proto = std::move(proto);
  for (const std::string& output : node.proto.output()) {
    if (output.empty()) continue;
    producers_[output] = &node;
    names_.insert(output);
  }
  count(node, 1);
  return node;
}

// Iterations of a Loop may multiply large constants.
void OnnxGraph::check_inserted(const onnx::NodeProto& proto) {
  inserted_bytes_ += static_cast<int64_t>(proto.ByteSizeLong());
  if (inserted_bytes_ <= budget_.limits().memory_limit) return;
  throw FormatError(
      "size_limit", "ONNX model",
      fmt::format("nodes of subgraphs must have at most {} bytes, the "
                  "memory_limit",
                  budget_.limits().memory_limit));
}

OnnxNode& OnnxGraph::insert_before(OnnxNode& node, onnx::NodeProto proto,
                                   std::vector<size_t> origin) {
  check_inserted(proto);
  return insert(places_.at(&node), std::move(proto), std::move(origin));
}

OnnxNode& OnnxGraph::insert_after(OnnxNode& node, onnx::NodeProto proto,
                                  std::vector<size_t> origin) {
  check_inserted(proto);
  return insert(std::next(places_.at(&node)), std::move(proto),
                std::move(origin));
}

void OnnxGraph::count(OnnxNode& node, int64_t by) {
  const auto add = [&](const std::string& value) {
    if (value.empty()) return;
    Consumers& consumers = consumers_[value];
    int64_t& uses = consumers[&node];
    uses += by;
    if (uses == 0) consumers.erase(&node);
  };
  for (const std::string& input : node.proto.input()) add(input);
  if (!has_subgraphs(node.proto)) return;
  std::vector<std::string> captured;
  append_captured(node.proto, captured);
  for (const std::string& value : captured) add(value);
}

/// Returns the name that all the other nodes' names extend ("norm",
/// "norm/mean", "norm_1"), if there is one.
std::string OnnxGraph::common_name(const OnnxNode& node) const {
  if (node.origin.empty()) return node.name;
  const auto name_of = [&](size_t index) -> const std::string& {
    return report_.nodes[index].node;
  };
  const std::string& shortest = name_of(*std::ranges::min_element(
      node.origin, {}, [&](size_t index) { return name_of(index).size(); }));
  const bool common = std::ranges::all_of(node.origin, [&](size_t index) {
    const std::string& name = name_of(index);
    return name.starts_with(shortest) &&
           (name.size() == shortest.size() || name[shortest.size()] == '/' ||
            name[shortest.size()] == '_');
  });
  return common ? shortest : node.name;
}

void OnnxGraph::replace(OnnxNode& anchor, const onnx::NodeProto& by,
                        const std::vector<OnnxNode*>& parts) {
  count(anchor, -1);
  for (OnnxNode* part : parts) {
    count(*part, -1);
    part->gone = true;
    anchor.origin.insert(anchor.origin.end(), part->origin.begin(),
                         part->origin.end());
  }
  const auto outputs = anchor.proto.output();
  anchor.proto = by;
  anchor.proto.clear_domain();
  *anchor.proto.mutable_output() = outputs;
  if (!by.name().empty()) anchor.name = printable(by.name(), 200);
  anchor.name = common_name(anchor);
  count(anchor, 1);
}

bool OnnxGraph::redirect(const std::string& value, const std::string& by) {
  const auto found = consumers_.find(value);
  if (found == consumers_.end()) return true;
  std::vector<OnnxNode*> nodes;
  for (const auto& [node, count] : found->second) {
    if (std::ranges::count(node->proto.input(), value) != count) return false;
    nodes.push_back(node);
  }
  for (OnnxNode* node : nodes) {
    count(*node, -1);
    std::ranges::replace(*node->proto.mutable_input(), value, by);
    count(*node, 1);
  }
  return true;
}

void OnnxGraph::remove(OnnxNode& node, const char* note) {
  count(node, -1);
  node.gone = true;
  for (const size_t index : node.origin) report_.nodes[index].note = note;
  for (const std::string& input : node.proto.input()) {
    const OnnxConstant* value = constant(input);
    if (value != nullptr && value->value.size() >= kLarge && uses(input) == 0) {
      constants_.erase(input);
    }
  }
}

void OnnxGraph::drop_constants(const OnnxNode& node) {
  for (const std::string& input : node.proto.input()) {
    const auto found = constants_.find(input);
    if (found == constants_.end() || found->second.value.size() < kLarge ||
        is_output(input)) {
      continue;
    }
    const auto& consumers = consumers_[input];
    const bool read =
        !consumers.empty() && InGraphOrder()(&node, consumers.rbegin()->first);
    if (!read) constants_.erase(found);
  }
}

bool has_subgraphs(const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const auto& attribute) {
    return attribute.has_g() || attribute.graphs_size() > 0;
  });
}

void append_captured(const onnx::NodeProto& node,
                     std::vector<std::string>& names) {
  const auto append_graph = [&](const onnx::GraphProto& graph) {
    for (const auto& inner : graph.node()) {
      names.insert(names.end(), inner.input().begin(), inner.input().end());
      append_captured(inner, names);
    }
    for (const auto& output : graph.output()) names.push_back(output.name());
  };
  for (const auto& attribute : node.attribute()) {
    append_graph(attribute.g());
    for (const auto& graph : attribute.graphs()) append_graph(graph);
  }
}

bool is_op(const OnnxNode& node, const char* op) {
  return !node.gone && is_standard_domain(node.proto.domain()) &&
         node.proto.op_type() == op;
}

}  // namespace octet::io
