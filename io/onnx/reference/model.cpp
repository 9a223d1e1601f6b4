// OnnxReference: the public interface of a program.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "file_kind.h"
#include "foreign_errors.h"
#include "limit_checks.h"
#include "onnx/check/check.h"
#include "program.h"

namespace octet::io {

struct OnnxReference::Graph {
  run::Program program;
  FileLimits limits;
};

OnnxReference::OnnxReference(std::shared_ptr<const Graph> graph)
    : graph_(std::move(graph)) {}

const std::vector<OnnxTensorInfo>& OnnxReference::inputs() const {
  return graph_->program.inputs;
}

const std::vector<OnnxTensorInfo>& OnnxReference::outputs() const {
  return graph_->program.outputs;
}

bool OnnxReference::has_control_flow() const {
  return std::ranges::any_of(
      graph_->program.steps,
      [](const run::PreparedNode& step) { return !step.subgraphs.empty(); });
}

std::vector<Tensor> OnnxReference::predict(
    std::span<const Tensor> inputs) const {
  run::check_inputs(graph_->program, inputs);
  return run::run(graph_->program, inputs, graph_->limits);
}

Tensor OnnxReference::predict(const Tensor& input) const {
  if (inputs().size() != 1 || outputs().size() != 1) {
    throw ValueError("count_mismatch", "ONNX model",
                     fmt::format("must have one input and one output, got {} "
                                 "and {}",
                                 inputs().size(), outputs().size()));
  }
  return predict(std::span(&input, 1)).front();
}

bool is_onnx_file(const std::filesystem::path& path) {
  try {
    const std::string bytes = read_file(path);
    if (kind_of(bytes) == FileKind::onnx) return true;
    const onnx::ModelProto model = parse_onnx(bytes);
    return model.ir_version() > 0 && model.has_graph();
  } catch (const Error&) {
    return false;
  }
}

OnnxReference onnx_reference_from_bytes(const std::string& bytes,
                                        const FileLimits& limits) {
  check_limits(limits);
  return without_foreign_errors("ONNX model", [&] {
    onnx::ModelProto model = parse_onnx(bytes);
    check_onnx(model);
    return OnnxReference(std::make_shared<const OnnxReference::Graph>(
        OnnxReference::Graph{run::program_of(std::move(model)), limits}));
  });
}

OnnxReference load_onnx_reference(const std::filesystem::path& path,
                                  const FileLimits& limits) {
  check_limits(limits);
  return without_foreign_errors("ONNX model", [&] {
    onnx::ModelProto model = read_onnx(path, limits.memory_limit);
    return with_context(
        [&] { return fmt::format("in file '{}'", path.string()); },
        [&] {
          return OnnxReference(std::make_shared<const OnnxReference::Graph>(
              OnnxReference::Graph{run::program_of(std::move(model)), limits}));
        });
  });
}

}  // namespace octet::io
