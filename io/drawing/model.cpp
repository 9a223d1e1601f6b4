// draw() for models.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <octet/io/onnx.h>
#include <octet/io/report.h>
#include <octet/quant/post_training.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "onnx/check/check.h"
#include "onnx/export/export.h"
#include "onnx/lint/rules.h"
#include "sketch.h"

namespace octet::io {
namespace {

std::string pair_text(const quant::Quantizer& quantizer) {
  std::string text = to_string(quantizer.config());
  const std::vector<float> scales = quantizer.scales();
  if (scales.size() == 1) text += fmt::format(", scale {:.6g}", scales[0]);
  return text;
}

/// "Conv2D, relu".
std::string op_of(const Layer& layer) {
  const std::string function = layer.facts().activation;
  const bool is_said = layer.facts().role == LayerRole::activation &&
                       layer.class_name() != "Activation";
  return function.empty() || function == "linear" || is_said
             ? layer.class_name()
             : fmt::format("{}, {}", layer.class_name(), function);
}

/// Returns the type of a layer's quantizers at `kind`, or at input `index`;
/// empty if there are none.
std::string pair_at(const Layer& layer, quant::SiteKind kind, int index = 0) {
  const quant::BaseQuantizeWrapper* wrapper = quant::as_wrapper(layer);
  if (wrapper == nullptr) return "";
  std::string text;
  for (const quant::PlacedQuantizer& placed : wrapper->quantizers()) {
    const quant::QdqSite& site = placed.site;
    if (site.kind != kind) continue;
    if (kind == quant::SiteKind::input && site.index != index) continue;
    const std::string one = pair_text(*placed.quantizer);
    if (text.find(one) != std::string::npos) continue;
    text += (text.empty() ? "" : "; ") + one;
  }
  return text;
}

Sketch sketch_of(const Model& model) {
  Sketch sketch;
  std::unordered_map<const GraphNode*, size_t> where;
  const auto inputs_of = [&](std::span<const SymbolicTensor> inputs,
                             const Layer* consumer) {
    std::vector<SketchNode::Read> reads;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const GraphNode& from = *inputs[i].node;
      std::string pair = pair_at(*from.layer, quant::SiteKind::output);
      if (pair.empty() && consumer != nullptr) {
        pair = pair_at(*consumer, quant::SiteKind::input, static_cast<int>(i));
      }
      reads.push_back({where.at(&from), std::move(pair)});
    }
    return reads;
  };
  for (const auto& node : model.nodes()) {
    const Layer& layer = *node->layer;
    const Layer& inner = quant::float_layer(layer);
    where[node.get()] = sketch.nodes.size();
    sketch.nodes.push_back(
        {{inner.name(), op_of(inner), node->shape.to_string(),
          pair_at(layer, quant::SiteKind::weight)},
         inputs_of(node->inputs, &layer)});
  }
  for (const SymbolicTensor& output : model.outputs()) {
    sketch.nodes.push_back({{"", "Output", output.shape().to_string()},
                            inputs_of(std::span(&output, 1), nullptr)});
  }
  return sketch;
}

/// Predicts kernels from the ONNX nodes of each layer, after folding if the
/// target folds.
std::vector<SketchKernel> kernels_of(const Model& model, Target target) {
  OnnxExportOptions form;
  if (target == Target::onnxruntime) {
    form = OnnxExportOptions::for_target(Target::onnxruntime);
    form.fold_batch_norm = false;
  } else if (target == Target::openvino) {
    form.target = Target::openvino;
  }
  ExportedGraph exported = build_onnx(model, form);
  fill_in(*exported.model.mutable_graph(), exported.large);
  check_onnx(exported.model);
  const lint::LintGraph graph(std::move(exported.model));
  std::vector<SketchKernel> kernels;
  for (const lint::Kernel& kernel : lint::kernels(graph, target)) {
    SketchKernel made{{}, kernel.precision, kernel.reason};
    for (const lint::Node* node : kernel.nodes) {
      const auto producer = exported.producers.find(node->proto.name());
      if (producer != exported.producers.end())
        made.nodes.push_back(producer->second);
    }
    std::ranges::sort(made.nodes);
    const auto rest = std::ranges::unique(made.nodes);
    made.nodes.erase(rest.begin(), rest.end());
    if (!made.nodes.empty()) kernels.push_back(std::move(made));
  }
  return kernels;
}

}  // namespace

Drawing draw(const Model& given, const DrawOptions& options) {
  std::optional<Model> folded;
  if (options.target == Target::onnxruntime) {
    folded = quant::fold_batch_norm(given);
  }
  const Model& model = folded ? *folded : given;
  Sketch sketch = sketch_of(model);
  std::string note;
  try {
    sketch.kernels = kernels_of(model, options.target);
  } catch (const Error& error) {
    note = "no forecast: " + error.message();
  }
  Drawing drawing = drawing_of(sketch, options.fuse);
  drawing.title = model.name();
  drawing.target = options.target;
  drawing.note = std::move(note);
  return drawing;
}

}  // namespace octet::io
