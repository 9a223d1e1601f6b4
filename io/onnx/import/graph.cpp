#include "graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "../graph_view.h"
#include "../proto_limits.h"
#include "../run/constants.h"
#include "../tensors.h"

namespace octet::io::importing {
namespace {

// Constants with fewer elements are not freed early.
constexpr int64_t kLarge = 1 << 14;

}  // namespace
namespace {

// More than any real network has; bounds the import time.
constexpr int kMostNodes = 100'000;

const onnx::AttributeProto* attribute_of(const onnx::NodeProto& node,
                                         const char* name) {
  return find_attribute(node, name);
}

}  // namespace

ImportGraph::ImportGraph(onnx::ModelProto model, const FileLimits& limits)
    : opset_(opset_of(model)),
      name_(printable(model.graph().name())),
      budget_(limits) {
  onnx::GraphProto& graph = *model.mutable_graph();
  if (graph.node_size() > kMostNodes) {
    throw FormatError("size_limit", "ONNX model",
                      fmt::format("graph must have at most {} nodes, got {}",
                                  kMostNodes, graph.node_size()));
  }
  {
    const GraphView view(graph);
    inputs_ = view.inputs();
    file_inputs_ = inputs_.size();
    input_places_.resize(file_inputs_);
    std::iota(input_places_.begin(), input_places_.end(), size_t{0});
    outputs_ = view.outputs();
    for (const auto& node : graph.node()) {
      for (const std::string& output : node.output()) {
        if (auto dims = view.dims(output)) stated_[output] = std::move(*dims);
      }
    }
  }
  for (const auto& tensor : graph.sparse_initializer()) {
    other_types_[tensor.values().name()] = "a sparse tensor";
  }
  for (auto& tensor : *graph.mutable_initializer()) {
    if (run::dtype_of(tensor.data_type())) {
      constants_[tensor.name()] = {run::constant(tensor), {}, tensor.name()};
    } else {
      other_types_[tensor.name()] = type_name(tensor.data_type());
    }
    tensor.Clear();  // frees the second copy
  }
  for (const OnnxTensorInfo& output : outputs_) ++output_uses_[output.name];
  nodes_.reserve(static_cast<size_t>(graph.node_size()));
  for (auto& proto : *graph.mutable_node()) {
    ImportNode node;
    node.name = printable(proto.name().empty() && proto.output_size() > 0
                              ? proto.output(0)
                              : proto.name(),
                          200);
    node.origin = {nodes_.size()};
    report_.nodes.push_back({node.name, printable(proto.op_type()), "", ""});
    node.proto.Swap(&proto);
    for (const std::string& output : node.proto.output()) {
      if (!output.empty()) producers_[output] = nodes_.size();
    }
    nodes_.push_back(std::move(node));
    count(nodes_.back(), 1);
  }
}

const Constant* ImportGraph::constant(const std::string& value) const {
  const auto found = constants_.find(value);
  return found == constants_.end() ? nullptr : &found->second;
}

void ImportGraph::set_constant(const std::string& value, Constant constant) {
  constants_[value] = std::move(constant);
}

const std::string* ImportGraph::other_type(const std::string& value) const {
  const auto found = other_types_.find(value);
  return found == other_types_.end() ? nullptr : &found->second;
}

ImportNode* ImportGraph::producer(const std::string& value) {
  const auto found = producers_.find(value);
  if (found == producers_.end() || nodes_[found->second].gone) return nullptr;
  return &nodes_[found->second];
}

int64_t ImportGraph::uses(const std::string& value) const {
  int64_t uses = 0;
  const auto found = consumers_.find(value);
  if (found != consumers_.end()) {
    for (const auto& [node, count] : found->second) uses += count;
  }
  const auto output = output_uses_.find(value);
  return uses + (output == output_uses_.end() ? 0 : output->second);
}

std::vector<const ImportNode*> ImportGraph::consumers(
    const std::string& value) const {
  std::vector<const ImportNode*> result;
  const auto found = consumers_.find(value);
  if (found == consumers_.end()) return result;
  for (const auto& [node, count] : found->second) {
    result.push_back(&nodes_[node]);
  }
  return result;
}

bool ImportGraph::is_output(const std::string& value) const {
  return output_uses_.contains(value);
}

std::optional<std::vector<int64_t>> ImportGraph::stated(
    const std::string& value) const {
  const auto found = stated_.find(value);
  if (found == stated_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> ImportGraph::drop_unused_inputs() {
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

void ImportGraph::add_batch_axis(const std::string& value) {
  added_batch_.insert(value);
  const auto stated = stated_.find(value);
  if (stated != stated_.end()) stated->second.insert(stated->second.begin(), 1);
  for (std::vector<OnnxTensorInfo>* infos : {&inputs_, &outputs_}) {
    for (OnnxTensorInfo& info : *infos) {
      if (info.name != value || !info.shape) continue;
      info.shape->insert(info.shape->begin(), int64_t{1});
    }
  }
}

void ImportGraph::count(const ImportNode& node, int64_t by) {
  const auto index = static_cast<size_t>(&node - nodes_.data());
  for (const std::string& input : node.proto.input()) {
    if (input.empty()) continue;
    auto& consumers = consumers_[input];
    if ((consumers[index] += by) == 0) consumers.erase(index);
  }
}

/// Returns the name that all the other nodes' names extend ("norm",
/// "norm/mean", "norm_1"), if there is one.
std::string ImportGraph::common_name(const ImportNode& node) const {
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

void ImportGraph::replace(ImportNode& anchor, const onnx::NodeProto& by,
                          const std::vector<ImportNode*>& parts) {
  count(anchor, -1);
  for (ImportNode* part : parts) {
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

void ImportGraph::remove(ImportNode& node, const char* note) {
  count(node, -1);
  node.gone = true;
  for (const size_t index : node.origin) report_.nodes[index].note = note;
  for (const std::string& input : node.proto.input()) {
    const Constant* value = constant(input);
    if (value != nullptr && value->value.size() >= kLarge && uses(input) == 0) {
      constants_.erase(input);
    }
  }
}

void ImportGraph::drop_constants(const ImportNode& node) {
  const auto index = static_cast<size_t>(&node - nodes_.data());
  for (const std::string& input : node.proto.input()) {
    const auto found = constants_.find(input);
    if (found == constants_.end() || found->second.value.size() < kLarge ||
        is_output(input)) {
      continue;
    }
    const auto& consumers = consumers_[input];
    const bool read = !consumers.empty() && consumers.rbegin()->first > index;
    if (!read) constants_.erase(found);
  }
}

int64_t integer_of(const onnx::NodeProto& node, const char* name,
                   int64_t otherwise) {
  const auto* attribute = attribute_of(node, name);
  return attribute == nullptr ? otherwise : attribute->i();
}

float number_of(const onnx::NodeProto& node, const char* name,
                float otherwise) {
  const auto* attribute = attribute_of(node, name);
  return attribute == nullptr ? otherwise : attribute->f();
}

std::string text_of(const onnx::NodeProto& node, const char* name,
                    const std::string& otherwise) {
  const auto* attribute = attribute_of(node, name);
  return attribute == nullptr ? otherwise : attribute->s();
}

std::vector<int64_t> integers_of(const onnx::NodeProto& node,
                                 const char* name) {
  const auto* attribute = attribute_of(node, name);
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

bool is_op(const ImportNode& node, const char* op) {
  return !node.gone && is_standard_domain(node.proto.domain()) &&
         node.proto.op_type() == op;
}

}  // namespace octet::io::importing
