// draw_onnx() for the nodes of a file.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <octet/io/report.h>
#include <octet/runtime/error.h>

#include "foreign_errors.h"
#include "limit_checks.h"
#include "onnx/check/check.h"
#include "onnx/graph/qdq.h"
#include "onnx/lint/rules.h"
#include "sketch.h"

namespace octet::io {
namespace {

using lint::LintGraph;
using lint::Node;

/// "int8, scale 0.02", "int8, 16 scales".
std::string pair_text(const Node& node, const OnnxGraph& graph) {
  const std::string codes =
      graph.type(is_quantize(node) ? node.output(0) : node.input(0));
  const QdqParams qparams = qdq_params(node, graph);
  if (qparams.scales.size() == 1) {
    return fmt::format("{}, scale {:.6g}", codes, qparams.scales[0]);
  }
  return qparams.scales.empty()
             ? codes + ", scale computed"
             : fmt::format("{}, {} scales", codes, qparams.scales.size());
}

class OnnxSketch {
 public:
  explicit OnnxSketch(const LintGraph& graph) : graph_(graph) {
    for (const OnnxTensorInfo& input : graph_.inputs()) {
      made_[input.name] = {add({input.name, "Input", to_string(input.shape)}),
                           ""};
    }
    for (const Node& node : graph.all_nodes()) add(node);
    for (const OnnxTensorInfo& output : graph_.outputs()) {
      const size_t box = add({output.name, "Output", to_string(output.shape)});
      add_read(box, output.name);
    }
  }

  Sketch sketch(Target target) && {
    for (const lint::Kernel& kernel : lint::kernels(graph_, target)) {
      SketchKernel made{{}, kernel.precision, kernel.reason};
      for (const Node* node : kernel.nodes) {
        const auto found = where_.find(node);
        if (found != where_.end()) made.nodes.push_back(found->second);
      }
      std::ranges::sort(made.nodes);
      if (!made.nodes.empty()) sketch_.kernels.push_back(std::move(made));
    }
    return std::move(sketch_);
  }

 private:
  size_t add(DrawnLayer layer) {
    sketch_.nodes.push_back({std::move(layer)});
    return sketch_.nodes.size() - 1;
  }

  void add_read(size_t consumer, const std::string& value) {
    const auto found = made_.find(value);
    if (found != made_.end()) {
      sketch_.nodes[consumer].reads.push_back(found->second);
    }
  }

  void add(const Node& node) {
    if (node.output_size() == 0 || graph_.is_constant(node.output(0))) return;
    if (is_quantize(node) || is_dequantize(node)) {
      const auto found = made_.find(node.input(0));
      if (found == made_.end()) return;
      made_[node.output(0)] = {found->second.from, pair_text(node, graph_)};
      return;
    }
    const size_t at =
        add({name_of(node), node.op_type(),
             to_string(graph_.shape(node.output(0))), weights_of(node)});
    where_[&node] = at;
    for (const std::string& input : node.input()) add_read(at, input);
    for (const std::string& output : node.output()) {
      if (!output.empty()) made_[output] = {at, ""};
    }
  }

  std::string weights_of(const Node& node) const {
    std::string text;
    for (const std::string& input : node.input()) {
      const Node* producer = graph_.producer(input);
      if (producer == nullptr || !is_dequantize(*producer)) continue;
      if (!graph_.is_constant(input)) continue;
      const std::string one = pair_text(*producer, graph_);
      text += (text.empty() ? "" : "; ") + one;
    }
    return text;
  }

  const LintGraph& graph_;
  Sketch sketch_;
  std::unordered_map<std::string, SketchNode::Read> made_;
  std::unordered_map<const Node*, size_t> where_;
};

}  // namespace

Drawing draw_onnx(const std::filesystem::path& path,
                  const DrawOptions& options) {
  check_limits(options.limits);
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        Drawing drawing = without_foreign_errors("ONNX model", [&] {
          const LintGraph graph(read_onnx(path, options.limits.memory_limit));
          return drawing_of(OnnxSketch(graph).sketch(options.target),
                            options.fuse);
        });
        drawing.title = path.filename().string();
        drawing.target = options.target;
        return drawing;
      });
}

}  // namespace octet::io
