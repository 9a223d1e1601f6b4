// P21, P23 to P26: layers with shapes that are slow in INT8.
//
// Source: TensorRT's tools (trex: alignment of channels); the convolutions and
// products that Model-Optimizer leaves float.
#include <algorithm>

#include <fmt/format.h>

#include "../tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

bool reorders_images(const Node& node) {
  const auto* perm = find_attribute(node, "perm");
  if (!is_op(node, {"Transpose"}) || perm == nullptr) return false;
  const std::vector<int64_t> order(perm->ints().begin(), perm->ints().end());
  return order == std::vector<int64_t>{0, 2, 3, 1} ||
         order == std::vector<int64_t>{0, 3, 1, 2};
}

// Whether at most a few nodes that quantize or pad are in between.
bool reaches_convolution(const LintGraph& graph, const std::string& value,
                         int steps) {
  if (steps == 0) return false;
  return std::ranges::any_of(
      graph.view().consumers(value), [&](const Node* consumer) {
        return is_convolution(*consumer) ||
               (is_op(*consumer,
                      {"QuantizeLinear", "DequantizeLinear", "Pad"}) &&
                reaches_convolution(graph, consumer->output(0), steps - 1));
      });
}

void check_transpose(const LintGraph& graph, const Node& node,
                     Findings& findings) {
  if (!reaches_convolution(graph, node.output(0), 4)) return;
  findings.add("P21", node, "transposes images before a convolution",
               "export channels first throughout (tf2onnx: "
               "--inputs-as-nchw)");
}

void check_convolution(const LintGraph& graph, const Node& conv,
                       Findings& findings) {
  const auto shape = graph.convolution(conv);
  if (!shape) return;
  const bool transposed = is_op(conv, {"ConvTranspose"});
  if (transposed || shape->groups > 1) {
    findings.add("P26", conv,
                 transposed ? std::string("transposed convolution in INT8")
                            : fmt::format("convolution with {} groups in INT8",
                                          shape->groups),
                 "measure it; if it is slower than FP16, remove its Q/DQ");
  }
  if (shape->groups == 1 && (shape->in % 16 != 0 || shape->out % 16 != 0)) {
    findings.add("P23", conv,
                 fmt::format("{} channels in, {} out", shape->in, shape->out),
                 "multiples of 16 use the tensor cores fully");
  }
  if (quant::is_narrow(*shape, !graph.fusions().has_linear_predecessor(conv))) {
    findings.add("P24", conv,
                 fmt::format("{} channels in, {} out", shape->in, shape->out),
                 "leave it float if accuracy matters more than time");
  }
}

void check_product(const LintGraph& graph, const Node& node,
                   Findings& findings) {
  const auto index = graph.weight_index(node);
  if (!index) return;
  const auto dims = graph.view().dims(node.input(*index));
  if (!dims || dims->size() < 2) return;
  const auto [least, most] =
      std::minmax((*dims)[dims->size() - 2], (*dims)[dims->size() - 1]);
  if (least < 0 || !quant::is_tiny_product(least, most)) return;
  findings.add("P25", node, fmt::format("weight is {} by {}", least, most),
               "leave it float: such a product is memory-bound");
}

}  // namespace

void check_forms(const LintGraph& graph, Findings& findings) {
  for (const Node& node : graph.proto().node()) {
    if (reorders_images(node) && !graph.is_constant(node.output(0))) {
      check_transpose(graph, node, findings);
    }
    if (!is_weighted(node) || !graph.reads_int8(node)) continue;
    is_convolution(node) ? check_convolution(graph, node, findings)
                         : check_product(graph, node, findings);
  }
}

}  // namespace octet::io::lint
