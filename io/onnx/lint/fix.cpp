// fix_onnx(): repairs rule by rule, each on the result of the previous repair.
#include "fix.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <octet/io/lint.h>
#include <octet/runtime/error.h>

#include "foreign_errors.h"
#include "limit_checks.h"
#include "onnx/check/check.h"
#include "onnx/check/conform.h"
#include "onnx/graph/qdq.h"
#include "rules.h"

namespace octet::io {
namespace lint {

std::string Repairer::add(const std::string& wish,
                          onnx::TensorProto::DataType type,
                          const std::vector<int64_t>& dims,
                          const std::vector<double>& values) {
  onnx::TensorProto tensor;
  tensor.set_data_type(type);
  tensor.mutable_dims()->Assign(dims.begin(), dims.end());
  for (const double value : values) {
    if (type == onnx::TensorProto::FLOAT) {
      tensor.add_float_data(static_cast<float>(value));
    } else {
      tensor.add_int32_data(static_cast<int32_t>(value));
    }
  }
  return after_.add_tensor(wish, std::move(tensor));
}

std::string Repairer::add_zeros(const Node& node) {
  const std::string& scale = node.input(1);
  const auto dims = graph_.dims(scale).value_or(std::vector<int64_t>());
  int64_t count = 1;
  for (const int64_t size : dims) count *= std::max<int64_t>(size, 0);
  return add(scale + "_zero_point", onnx::TensorProto::INT8, dims,
             std::vector<double>(static_cast<size_t>(count), 0));
}

void Repairer::set_zero_points(const Node& quantize, const std::string& zeros) {
  set_input(quantize, 2, zeros);
  for (const Node* dequantize : dequantizers_of(quantize)) {
    set_input(*dequantize, 2, zeros);
  }
}

std::vector<const Node*> Repairer::dequantizers_of(const Node& quantize) const {
  std::vector<const Node*> result;
  any_consumer(graph_, quantize.output(0), [&](const Node& consumer) {
    if (is_dequantize(consumer)) result.push_back(&consumer);
    return false;
  });
  return result;
}

namespace {

struct Repair {
  void (*run)(Repairer&);
  bool (*applies)(Target);
};

bool always(Target) { return true; }
bool for_tensorrt8(Target t) { return t == Target::tensorrt8; }
bool for_openvino(Target t) { return t == Target::openvino; }

constexpr Repair kRepairs[] = {
    {make_signed, is_tensorrt},        {add_zero_points, is_tensorrt},
    {match_zero_points, always},       {write_axes, always},
    {make_scales_scalar, is_tensorrt}, {raise_scales, always},
    {store_float_biases, is_tensorrt}, {store_floats, for_tensorrt8},
    {narrow_values, is_tensorrt},      {make_unsigned_at_concat, for_openvino},
    {join_equal_pairs, always},        {free_outputs, always},
};

std::vector<std::string> unused_initializers(const OnnxGraph& graph) {
  std::vector<std::string> unused;
  for (const auto& [name, tensor] : graph.initializers()) {
    if (graph.uses(name) == 0) unused.push_back(name);
  }
  return unused;
}

/// Removes Q and DQ without consumers, and initializers without consumers that
/// are not listed.
void drop_unused(OnnxGraph& graph, const std::vector<std::string>& kept) {
  for (OnnxNode& node : std::views::reverse(graph.nodes())) {
    const bool pair = is_quantize(node) || is_dequantize(node);
    if (pair && graph.uses(node.output(0)) == 0) graph.remove(node);
  }
  for (const std::string& name : unused_initializers(graph)) {
    if (std::ranges::find(kept, name) == kept.end()) {
      graph.remove_initializer(name);
    }
  }
}

}  // namespace
}  // namespace lint

namespace {

LintFix repaired(onnx::ModelProto model, Target target) {
  PackedConstants packed;
  check_onnx_without_qdq(model, &packed);
  LintFix fix;
  const auto unused = lint::unused_initializers(OnnxGraph(model));
  for (const lint::Repair& repair : lint::kRepairs) {
    if (!repair.applies(target)) continue;
    lint::Repairer repairer(std::move(model), fix.repairs);
    repair.run(repairer);
    model = std::move(repairer).model();
    // The shapes are outdated and miss new values.
    model.mutable_graph()->clear_value_info();
    check_onnx_without_qdq(model);
  }
  OnnxGraph graph(std::move(model));
  lint::drop_unused(graph, unused);
  model = std::move(graph).to_model();
  model.mutable_graph()->clear_value_info();
  restore_packed(*model.mutable_graph(), packed);
  fix.bytes = serialize_onnx(model);
  return fix;
}

}  // namespace

LintFix fix_onnx(const std::filesystem::path& path,
                 const LintOptions& options) {
  check_limits(options.limits);
  lint::expect_runtime(options.target);
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
  lint::expect_runtime(options.target);
  return without_foreign_errors("ONNX model", [&] {
    return repaired(parse_onnx(bytes), options.target);
  });
}

}  // namespace octet::io
