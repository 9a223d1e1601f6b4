// A01, A02, A04 to A06, A08: accuracy rules that need no data.
#include <algorithm>
#include <cmath>

#include "onnx/graph/qdq.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

// Initial range of NVIDIA's toolkit: +-6.
constexpr double kFirstScale = 6.0 / 127;

void check_first_scale(const LintGraph& graph, const Node& quantize,
                       Findings& findings) {
  const auto scales = graph.scales(quantize);
  if (!scales || !std::ranges::any_of(*scales, [](double scale) {
        return std::abs(scale - kFirstScale) < 1e-7 * kFirstScale;
      })) {
    return;
  }
  findings.add("A01", quantize,
               "calibrate or train the model before exporting it",
               "scale is 6/127, the initial value before training");
}

void check_half_grid(const LintGraph& graph, const Node& quantize,
                     Findings& findings) {
  const Node* producer = graph.producer(quantize.input(0));
  while (producer != nullptr && graph.commutes(*producer)) {
    producer = graph.producer(producer->input(0));
  }
  if (producer == nullptr ||
      graph.quantized_type(quantize) != onnx::TensorProto::INT8) {
    return;
  }
  bool positive =
      is_op(*producer, {"Relu", "Sigmoid", "Softmax", "HardSigmoid"});
  if (is_op(*producer, "Clip")) {
    const auto low = graph.numbers(producer->input(1));
    positive = low && low->size() == 1 && low->front() >= 0;
  }
  if (!positive) return;
  findings.add(
      "A05", quantize,
      findings.tensorrt()
          ? "none: a symmetric range leaves 7 of 8 bits"
          : "quantize it to uint8: octet quantize --target openvino does",
      "{} '{}' has no negative outputs", producer->op_type(), *producer);
}

void check_weight_values(const LintGraph& graph, const Node& layer,
                         Findings& findings) {
  const Node* dequantize = graph.weight_dequantizer(layer);
  if (dequantize == nullptr) return;
  const auto dims = graph.dims(layer.input(*graph.weight_index(layer)));
  if (!dims || dims->empty()) return;
  if (is_convolution(layer) && graph.is_per_tensor(*dequantize) &&
      (*dims)[is_op(layer, "ConvTranspose") ? 1 : 0] > 1) {
    findings.add("A02", *dequantize, "quantize it per output channel",
                 "weight of '{}' has a single scale", layer);
  }
  const Node* quantize = graph.quantizer(*dequantize);
  const auto values = graph.numbers(quantize == nullptr ? dequantize->input(0)
                                                        : quantize->input(0));
  if (!values || !is_op(layer, "Conv") || (*dims)[0] < 1 ||
      values->size() % static_cast<size_t>((*dims)[0]) != 0) {
    return;
  }
  const size_t channels = static_cast<size_t>((*dims)[0]);
  const size_t size = values->size() / channels;
  std::vector<size_t> dead;
  for (size_t c = 0; size > 0 && c < channels; ++c) {
    if (std::ranges::all_of(std::span(*values).subspan(c * size, size),
                            [](double v) { return v == 0; })) {
      dead.push_back(c);
    }
  }
  if (dead.empty()) return;
  findings.add("A04", layer, "prune them, or check why training left them at 0",
               "{} of {} output channels have only zero weights, the first is "
               "{}",
               dead.size(), channels, dead[0]);
}

void check_ends(const LintGraph& graph, Findings& findings) {
  for (const Node* node : graph.nodes()) {
    if (!is_weighted(*node) || !graph.weight_index(*node) ||
        !graph.reads_int8(*node)) {
      continue;
    }
    const bool first = !graph.fusions().has_linear_predecessor(*node);
    if (!first && graph.fusions().has_linear_successor(*node)) continue;
    findings.add("A06", *node, "if accuracy is too low, leave it float first",
                 "{} layer is quantized", first ? "first" : "last");
  }
}

// A single finding for the whole file.
void check_depthwise(const LintGraph& graph, Findings& findings) {
  const auto count =
      std::ranges::count_if(graph.all_nodes(), [&](const Node& node) {
        if (!is_op(node, "Conv") || !graph.reads_int8(node)) return false;
        const auto shape = graph.convolution(node);
        return shape && quant::is_depthwise(*shape);
      });
  if (count == 0) return;
  findings.add("A08", "if accuracy is too low, train with quantizers (QAT)",
               "{} depthwise convolutions are quantized", count);
}

}  // namespace

void check_accuracy(const LintGraph& graph, Findings& findings) {
  for (const Node& node : graph.all_nodes()) {
    if (is_quantize(node)) {
      check_first_scale(graph, node, findings);
      if (!graph.is_constant(node.input(0))) {
        check_half_grid(graph, node, findings);
      }
    }
    check_weight_values(graph, node, findings);
  }
  check_ends(graph, findings);
  check_depthwise(graph, findings);
}

}  // namespace octet::io::lint
