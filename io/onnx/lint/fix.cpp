// fix_onnx(): repairs one rule after the other, each on a graph of its own.
#include "fix.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <octet/io/lint.h>
#include <octet/runtime/error.h>

#include "../check.h"
#include "../qdq.h"
#include "../tensors.h"
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
    taken_.insert(node.output().begin(), node.output().end());
  }
  for (const auto& tensor : before_.initializer()) {
    taken_.insert(tensor.name());
  }
  for (const auto& input : before_.input()) taken_.insert(input.name());
}

Node& Repairer::changed(const Node& node) {
  for (int i = 0; i < before_.node_size(); ++i) {
    if (&before_.node(i) == &node) return *after_.mutable_node(i);
  }
  throw InternalError("lint: a node of another graph");
}

std::string Repairer::new_name(const std::string& wish) {
  std::string name = wish;
  for (int i = 1; !taken_.insert(name).second; ++i) {
    name = fmt::format("{}_{}", wish, i);
  }
  return name;
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

std::vector<const Node*> Repairer::dequantizers_of(const Node& quantize) const {
  std::vector<const Node*> result;
  for (const Node& node : before_.node()) {
    if (is_dequantize(node) && graph_.quantizer(node) == &quantize) {
      result.push_back(&node);
    }
  }
  return result;
}

bool Repairer::ends_in_dequantizers(const std::string& codes) const {
  return !graph_.is_output(codes) &&
         std::ranges::all_of(view_.readers(codes), [&](const Node* reader) {
           return is_dequantize(*reader) ||
                  (graph_.commutes(*reader) &&
                   ends_in_dequantizers(reader->output(0)));
         });
}

namespace {

// Q and DQ that nobody reads any more, and what only they read.
void drop_unread(onnx::GraphProto& graph, const onnx::GraphProto& before) {
  std::set<std::string> outputs;
  for (const auto& output : graph.output()) outputs.insert(output.name());
  const auto read_by = [&](const onnx::GraphProto& of) {
    std::set<std::string> names = outputs;
    for (const Node& node : of.node()) {
      names.insert(node.input().begin(), node.input().end());
    }
    return names;
  };
  for (bool again = true; again;) {
    again = false;
    const auto read = read_by(graph);
    for (int i = graph.node_size() - 1; i >= 0; --i) {
      const Node& node = graph.node(i);
      const bool pair = is_quantize(node) || is_dequantize(node);
      if (!pair || read.contains(node.output(0))) continue;
      graph.mutable_node()->DeleteSubrange(i, 1);
      again = true;
    }
  }
  const auto read = read_by(graph), was_read = read_by(before);
  for (int i = graph.initializer_size() - 1; i >= 0; --i) {
    const std::string name = graph.initializer(i).name();
    if (read.contains(name) || !was_read.contains(name)) continue;
    graph.mutable_initializer()->DeleteSubrange(i, 1);
    for (int k = graph.input_size() - 1; k >= 0; --k) {
      if (graph.input(k).name() == name) {
        graph.mutable_input()->DeleteSubrange(k, 1);
      }
    }
  }
}

}  // namespace
}  // namespace lint

namespace {

LintFix repaired(onnx::ModelProto model, LintTarget target) {
  check_onnx_but_qdq(model);
  LintFix fix;
  const onnx::GraphProto before = model.graph();
  const auto repair = [&](void (*with)(lint::Repairer&)) {
    lint::Repairer repairer(*model.mutable_graph(), fix.repairs);
    with(repairer);
    // Shapes are of the graph as it was; what is new has none yet.
    model.mutable_graph()->clear_value_info();
    check_onnx_but_qdq(model);
  };
  const bool tensorrt = lint::is_tensorrt(target);
  if (tensorrt) repair(lint::make_signed);
  if (tensorrt) repair(lint::add_zero_points);
  repair(lint::match_zero_points);
  repair(lint::write_axes);
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
        return repaired(lint::read_as_stored(path, options.limits.memory_limit),
                        options.target);
      });
}

LintFix fix_onnx_bytes(const std::string& bytes, const LintOptions& options) {
  check_limits(options.limits);
  return repaired(parse_onnx(bytes), options.target);
}

}  // namespace octet::io
