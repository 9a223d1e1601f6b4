// fix_onnx(): repairs rule by rule, each on the result of the previous repair.
#include "fix.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <octet/io/lint.h>
#include <octet/runtime/error.h>

#include "../check.h"
#include "../qdq.h"
#include "../tensors.h"
#include "foreign_errors.h"
#include "limit_checks.h"
#include "rules.h"

namespace octet::io {
namespace lint {

Repairer::Repairer(onnx::GraphProto& graph, std::vector<LintRepair>& repairs)
    : before_(graph),
      view_(before_),
      graph_(view_),
      after_(graph),
      repairs_(repairs) {
  for (const Node& node : before_.node()) {
    indices_.emplace(&node, static_cast<int>(indices_.size()));
    if (is_dequantize(node)) {
      if (const Node* quantize = graph_.quantizer(node)) {
        dequantizers_[quantize].push_back(&node);
      }
    }
    taken_.insert(node.output().begin(), node.output().end());
  }
  for (const auto& tensor : before_.initializer()) {
    taken_.insert(tensor.name());
  }
  for (const auto& input : before_.input()) taken_.insert(input.name());
}

Node& Repairer::changed(const Node& node) {
  const auto found = indices_.find(&node);
  if (found == indices_.end()) {
    throw InternalError("internal", "lint", "node belongs to another graph");
  }
  return *after_.mutable_node(found->second);
}

std::string Repairer::new_name(const std::string& wish) {
  return taken_.add(wish);
}

std::string Repairer::add_floats(const std::string& wish,
                                 const std::vector<int64_t>& dims,
                                 const std::vector<double>& values) {
  auto& tensor = *after_.add_initializer();
  tensor.set_name(new_name(wish));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.mutable_dims()->Assign(dims.begin(), dims.end());
  for (const double value : values) {
    tensor.add_float_data(static_cast<float>(value));
  }
  return tensor.name();
}

std::string Repairer::add_codes(const std::string& wish,
                                const std::vector<int64_t>& dims,
                                const std::vector<double>& values) {
  auto& tensor = *after_.add_initializer();
  tensor.set_name(new_name(wish));
  tensor.set_data_type(onnx::TensorProto::INT8);
  tensor.mutable_dims()->Assign(dims.begin(), dims.end());
  for (const double value : values) {
    tensor.add_int32_data(static_cast<int32_t>(value));
  }
  return tensor.name();
}

std::string Repairer::add_uint8(const std::string& wish,
                                const std::vector<int64_t>& dims,
                                const std::vector<double>& values) {
  const std::string name = add_codes(wish, dims, values);
  auto& all = *after_.mutable_initializer();
  all[all.size() - 1].set_data_type(onnx::TensorProto::UINT8);
  return name;
}

std::string Repairer::add_scalar(const onnx::TensorProto& tensor) {
  auto& scalar = *after_.add_initializer();
  scalar = tensor;
  scalar.set_name(new_name(tensor.name() + "_scalar"));
  scalar.clear_dims();
  return scalar.name();
}

std::string Repairer::add_zeros(const Node& node) {
  const std::string& scale = node.input(1);
  const auto dims = view_.dims(scale).value_or(std::vector<int64_t>());
  int64_t count = 1;
  for (const int64_t size : dims) count *= std::max<int64_t>(size, 0);
  return add_codes(scale + "_zero_point", dims,
                   std::vector<double>(static_cast<size_t>(count), 0));
}

void Repairer::tell(const char* id, const Node& node, std::string what) {
  repairs_.push_back({id, name_of(node), std::move(what)});
}

const std::vector<const Node*>& Repairer::dequantizers_of(
    const Node& quantize) const {
  static const std::vector<const Node*> kNone;
  const auto found = dequantizers_.find(&quantize);
  return found == dequantizers_.end() ? kNone : found->second;
}

bool Repairer::ends_in_dequantizers(const std::string& codes) const {
  return !graph_.is_output(codes) &&
         !any_consumer(graph_, codes, [&](const Node& consumer) {
           return !is_dequantize(consumer) &&
                  (!graph_.commutes(consumer) ||
                   graph_.is_output(consumer.output(0)));
         });
}

namespace {

/// Returns the number of consumers of each value: nodes and outputs.
std::unordered_map<std::string, int> readers_of(const onnx::GraphProto& graph) {
  std::unordered_map<std::string, int> consumers;
  for (const auto& output : graph.output()) ++consumers[output.name()];
  for (const Node& node : graph.node()) {
    for (const std::string& input : node.input()) ++consumers[input];
  }
  return consumers;
}

/// Removes the elements whose index is marked.
template <class Field>
void remove_marked(Field& field, const std::vector<bool>& marked) {
  Field rest;
  for (int i = 0; i < field.size(); ++i) {
    if (!marked[static_cast<size_t>(i)]) rest.Add()->Swap(&field[i]);
  }
  field.Swap(&rest);
}

/// Removes Q and DQ without consumers, and their inputs without other
/// consumers. Nodes come after their inputs, except for added ones.
void drop_unread(onnx::GraphProto& graph, const onnx::GraphProto& before) {
  auto consumers = readers_of(graph);
  std::unordered_map<std::string, int> producers;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      producers.emplace(output, i);
    }
  }
  std::vector<bool> unread(static_cast<size_t>(graph.node_size()));
  std::vector<int> open(static_cast<size_t>(graph.node_size()));
  std::iota(open.begin(), open.end(), 0);
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    const Node& node = graph.node(i);
    const bool pair = is_quantize(node) || is_dequantize(node);
    if (!pair || unread[static_cast<size_t>(i)] ||
        consumers[node.output(0)] > 0) {
      continue;
    }
    unread[static_cast<size_t>(i)] = true;
    for (const std::string& input : node.input()) {
      --consumers[input];
      if (const auto producer = producers.find(input);
          producer != producers.end()) {
        open.push_back(producer->second);
      }
    }
  }
  remove_marked(*graph.mutable_node(), unread);
  const auto was_read = readers_of(before);
  std::unordered_set<std::string> dropped;
  std::vector<bool> constants, inputs;
  for (const auto& tensor : graph.initializer()) {
    const bool drop =
        consumers[tensor.name()] == 0 && was_read.contains(tensor.name());
    if (drop) dropped.insert(tensor.name());
    constants.push_back(drop);
  }
  for (const auto& input : graph.input()) {
    inputs.push_back(dropped.contains(input.name()));
  }
  remove_marked(*graph.mutable_initializer(), constants);
  remove_marked(*graph.mutable_input(), inputs);
}

}  // namespace
}  // namespace lint

namespace {

LintFix repaired(onnx::ModelProto model, LintTarget target) {
  check_onnx_without_qdq(model);
  LintFix fix;
  const onnx::GraphProto before = model.graph();
  const auto repair = [&](void (*with)(lint::Repairer&)) {
    lint::Repairer repairer(*model.mutable_graph(), fix.repairs);
    with(repairer);
    // The shapes are outdated and miss new values.
    model.mutable_graph()->clear_value_info();
    check_onnx_without_qdq(model);
  };
  const bool tensorrt = lint::is_tensorrt(target);
  if (tensorrt) repair(lint::make_signed);
  if (tensorrt) repair(lint::add_zero_points);
  repair(lint::match_zero_points);
  repair(lint::write_axes);
  if (tensorrt) repair(lint::make_scales_scalar);
  repair(lint::raise_scales);
  if (tensorrt) repair(lint::store_float_biases);
  if (target == LintTarget::tensorrt8) repair(lint::store_floats);
  if (tensorrt) repair(lint::narrow_codes);
  if (target == LintTarget::openvino) repair(lint::make_unsigned_at_concat);
  repair(lint::join_equal_pairs);
  repair(lint::free_outputs);
  lint::drop_unread(*model.mutable_graph(), before);
  model.mutable_graph()->clear_value_info();
  fix.bytes = serialize_onnx(model);
  return fix;
}

}  // namespace

LintFix fix_onnx(const std::filesystem::path& path,
                 const LintOptions& options) {
  check_limits(options.limits);
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        return without_foreign_errors("ONNX model", [&] {
          return repaired(
              lint::read_as_stored(path, options.limits.memory_limit),
              options.target);
        });
      });
}

LintFix fix_onnx_bytes(const std::string& bytes, const LintOptions& options) {
  check_limits(options.limits);
  return without_foreign_errors("ONNX model", [&] {
    return repaired(parse_onnx(bytes), options.target);
  });
}

}  // namespace octet::io
