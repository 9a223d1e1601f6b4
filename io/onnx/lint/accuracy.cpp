// A01, A02, A04 to A06, A08: accuracy rules that need no data.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "../qdq.h"
#include "../tensors.h"
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
               "scale is 6/127, the initial value before training",
               "calibrate or train the model before exporting it");
}

void check_half_grid(const LintGraph& graph, const Node& quantize,
                     Findings& findings) {
  const Node* producer = graph.view().producer(quantize.input(0));
  while (producer != nullptr && graph.commutes(*producer)) {
    producer = graph.view().producer(producer->input(0));
  }
  if (producer == nullptr || graph.view().element_type(quantize.output(0)) !=
                                 onnx::TensorProto::INT8) {
    return;
  }
  bool positive =
      is_op(*producer, {"Relu", "Sigmoid", "Softmax", "HardSigmoid"});
  if (is_op(*producer, {"Clip"}) && producer->input_size() > 1) {
    const auto low = graph.numbers(producer->input(1));
    positive = low && low->size() == 1 && low->front() >= 0;
  }
  if (!positive) return;
  findings.add(
      "A05", quantize,
      fmt::format("{} '{}' has no negative outputs",
                  printable(producer->op_type()),
                  printable(name_of(*producer))),
      findings.tensorrt()
          ? "none: a symmetric range leaves 7 of 8 bits"
          : "quantize it to uint8: octet quantize --target openvino does");
}

void check_weight_values(const LintGraph& graph, const Node& layer,
                         Findings& findings) {
  const auto index = graph.weight_index(layer);
  if (!index || !graph.is_constant(layer.input(*index))) return;
  const Node* dequantize = graph.dequantizer(layer.input(*index));
  const auto dims = graph.view().dims(layer.input(*index));
  if (dequantize == nullptr || !dims || dims->empty()) return;
  if (is_convolution(layer) && graph.is_per_tensor(*dequantize) &&
      (*dims)[is_op(layer, {"ConvTranspose"}) ? 1 : 0] > 1) {
    findings.add("A02", *dequantize,
                 fmt::format("weight of '{}' has a single scale",
                             printable(name_of(layer))),
                 "quantize it per output channel");
  }
  const Node* quantize = graph.quantizer(*dequantize);
  const auto values = graph.numbers(quantize == nullptr ? dequantize->input(0)
                                                        : quantize->input(0));
  if (!values || !is_op(layer, {"Conv"}) || (*dims)[0] < 1 ||
      values->size() % static_cast<size_t>((*dims)[0]) != 0) {
    return;
  }
  const size_t channels = static_cast<size_t>((*dims)[0]);
  const size_t size = values->size() / channels;
  std::vector<size_t> dead;
  for (size_t c = 0; size > 0 && c < channels; ++c) {
    const auto begin = values->begin() + static_cast<std::ptrdiff_t>(c * size);
    if (std::all_of(begin, begin + static_cast<std::ptrdiff_t>(size),
                    [](double v) { return v == 0; })) {
      dead.push_back(c);
    }
  }
  if (dead.empty()) return;
  findings.add("A04", layer,
               fmt::format("{} of {} output channels have only zero weights, "
                           "the first is {}",
                           dead.size(), channels, dead[0]),
               "prune them, or check why training left them at 0");
}

void check_ends(const LintGraph& graph, Findings& findings) {
  for (const Node* node : graph.nodes()) {
    if (!is_weighted(*node) || !graph.weight_index(*node) ||
        !graph.reads_int8(*node)) {
      continue;
    }
    const bool first = !graph.fusions().has_linear_predecessor(*node);
    if (!first && graph.fusions().has_linear_successor(*node)) continue;
    findings.add("A06", *node,
                 fmt::format("{} layer is quantized", first ? "first" : "last"),
                 "if accuracy is too low, leave it float first");
  }
}

// A single finding for the whole file.
void check_depthwise(const LintGraph& graph, Findings& findings) {
  int64_t count = 0;
  for (const Node& node : graph.proto().node()) {
    if (!is_op(node, {"Conv"}) || !graph.reads_int8(node)) continue;
    const auto shape = graph.convolution(node);
    if (shape && quant::is_depthwise(*shape)) ++count;
  }
  if (count == 0) return;
  findings.add("A08",
               fmt::format("{} depthwise convolutions are quantized", count),
               "if accuracy is too low, train with quantizers (QAT)");
}

}  // namespace

void check_accuracy(const LintGraph& graph, Findings& findings) {
  for (const Node& node : graph.proto().node()) {
    if (is_quantize(node)) {
      check_first_scale(graph, node, findings);
      if (!graph.is_constant(node.input(0))) {
        check_half_grid(graph, node, findings);
      }
    }
    if (is_weighted(node)) check_weight_values(graph, node, findings);
  }
  check_ends(graph, findings);
  check_depthwise(graph, findings);
}

}  // namespace octet::io::lint
