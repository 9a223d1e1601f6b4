// Changes of an OnnxGraph.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "graph.h"
#include "onnx/reference/constants.h"
#include "tensors.h"

namespace octet::io {
namespace {

// Constants with fewer elements are not freed early.
constexpr int64_t kLarge = 1 << 14;

// More than any real network has; bounds the import time.
constexpr int kMostNodes = 100'000;

// Distances between positions: of a file's nodes, and of inserted ones.
constexpr int64_t kSpacing = int64_t{1} << 34;
constexpr int64_t kStep = int64_t{1} << 14;

void check_node_count(size_t count) {
  if (count <= kMostNodes) return;
  throw FormatError("size_limit", "ONNX model",
                    fmt::format("graph must have at most {} nodes, got {}",
                                kMostNodes, count));
}

}  // namespace

void OnnxGraph::begin_import() {
  check_node_count(nodes_.size());
  onnx::GraphProto& graph = *model_.mutable_graph();
  for (const auto& tensor : graph.sparse_initializer()) {
    other_types_[tensor.values().name()] = "a sparse tensor";
  }
  for (auto& tensor : *graph.mutable_initializer()) {
    add_initializer(tensor.name(), tensor);
    initializers_.erase(tensor.name());
    tensor.Clear();  // frees the second copy
  }
}

const std::string& OnnxGraph::add_tensor(const std::string& name,
                                         onnx::TensorProto tensor) {
  auto& added = *model_.mutable_graph()->add_initializer();
  added = std::move(tensor);
  added.set_name(names_.add(name));
  initializers_[added.name()] = &added;
  return added.name();
}

std::string OnnxGraph::add_tensor(const std::string& name,
                                  const std::vector<int64_t>& dims,
                                  const std::vector<float>& values) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.mutable_dims()->Assign(dims.begin(), dims.end());
  tensor.mutable_float_data()->Assign(values.begin(), values.end());
  return add_tensor(name, std::move(tensor));
}

void OnnxGraph::remove_initializer(const std::string& value) {
  if (initializers_.erase(value) == 0) return;
  const auto remove_named = [&](auto& entries) {
    for (int i = entries.size() - 1; i >= 0; --i) {
      if (entries[i].name() == value) entries.DeleteSubrange(i, 1);
    }
  };
  types_.erase(value);
  remove_named(*model_.mutable_graph()->mutable_initializer());
  remove_named(*model_.mutable_graph()->mutable_input());
}

void OnnxGraph::set_constant(const std::string& value, OnnxConstant constant) {
  names_.insert(value);
  constants_[value] = std::move(constant);
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

void OnnxGraph::set_element_type(const std::string& value, int32_t type) {
  if (const auto known = types_.find(value); known != types_.end()) {
    known->second->mutable_tensor_type()->set_elem_type(type);
  }
  for (std::vector<OnnxTensorInfo>* infos : {&inputs_, &outputs_}) {
    for (OnnxTensorInfo& info : *infos) {
      if (info.name == value) info.type = type_name(type);
    }
  }
}

std::string OnnxGraph::unique_name(const std::string& base) {
  return names_.add(base);
}

// Positions only express the order: they are assigned anew when the space
// between two nodes is used up.
void OnnxGraph::number_nodes() {
  int64_t position = 0;
  for (OnnxNode& node : nodes_) node.position_ = position += kSpacing;
}

OnnxNode& OnnxGraph::insert(std::list<OnnxNode>::iterator before,
                            onnx::NodeProto proto, std::vector<size_t> origin) {
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
  node.name = printable(name_of(proto), 200);
  node.origin = std::move(origin);
  node.proto = std::move(proto);
  link(node);
  return node;
}

void OnnxGraph::link(OnnxNode& node) {
  for (const std::string& output : node.proto.output()) {
    if (output.empty()) continue;
    producers_[output] = &node;
    names_.insert(output);
  }
  count(node, 1);
}

void OnnxGraph::unlink(OnnxNode& node) {
  count(node, -1);
  for (const std::string& output : node.proto.output()) {
    const auto found = producers_.find(output);
    if (found != producers_.end() && found->second == &node) {
      producers_.erase(found);
    }
  }
}

void OnnxGraph::set_input(OnnxNode& node, int index, const std::string& value) {
  change(node, [&](onnx::NodeProto& proto) {
    while (proto.input_size() <= index) proto.add_input("");
    proto.set_input(index, value);
  });
}

// Iterations of a Loop may multiply large constants.
void OnnxGraph::check_inserted(const onnx::NodeProto& proto) {
  check_node_count(nodes_.size() + 1);
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
  const auto name_at = [&](size_t index) -> const std::string& {
    return report_.nodes[index].node;
  };
  const std::string& shortest = name_at(*std::ranges::min_element(
      node.origin, {}, [&](size_t index) { return name_at(index).size(); }));
  const bool common = std::ranges::all_of(node.origin, [&](size_t index) {
    const std::string& name = name_at(index);
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

}  // namespace octet::io
