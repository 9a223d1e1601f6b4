// P04 to P08, P14, P15, P22: operators with several branches.
#include <algorithm>

#include "onnx/graph/qdq.h"
#include "onnx/graph/tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

/// Whether the result of an Add is quantized, possibly after an activation.
bool is_quantized_sum(const LintGraph& graph, const Node& add) {
  const Node* next = graph.only_consumer(add.output(0));
  const bool active =
      next != nullptr && quant::is_activation(graph.kind(*next));
  return graph.is_quantized(active ? next->output(0) : add.output(0));
}

/// Returns the quantized layer whose kernel produces a value, or null.
const Node* int8_layer(const LintGraph& graph, const std::string& value) {
  const Node* producer = graph.producer(value);
  if (producer == nullptr) return nullptr;
  const Node* layer = graph.fused_with(*producer);
  return layer != nullptr && graph.reads_int8(*layer) ? layer : nullptr;
}

/// Returns the layer whose result a pair quantizes for a single consumer, or
/// null.
const Node* layer_behind(const LintGraph& graph, const Node& dequantize) {
  const Node* quantize = graph.quantizer(dequantize);
  if (quantize == nullptr) return nullptr;
  const Node* layer = int8_layer(graph, quantize->input(0));
  const bool alone = graph.consumers(quantize->input(0)).size() == 1 &&
                     graph.consumers(quantize->output(0)).size() == 1 &&
                     graph.consumers(dequantize.output(0)).size() == 1;
  const bool active =
      layer != nullptr && graph.has_fused(*layer, [](FusionKind kind) {
        return quant::is_activation(kind) || kind == FusionKind::add;
      });
  return alone && !active ? layer : nullptr;
}

void check_quantized_add(const LintGraph& graph, const Node& add,
                         Findings& findings) {
  for (const auto& input : add.input()) {
    const Node* layer = layer_behind(graph, *graph.dequantizer(input));
    if (layer == nullptr) continue;
    findings.add("P05", add,
                 "remove the Q/DQ pair between the layer and the Add",
                 "both branches are quantized; the output of '{}' could stay "
                 "float and fuse with it",
                 *layer);
    break;
  }
  const auto a = graph.dims(add.input(0));
  const auto b = graph.dims(add.input(1));
  if (!a || !b) return;
  const bool same = a->size() == b->size() &&
                    std::equal(a->begin() + (a->empty() ? 0 : 1), a->end(),
                               b->begin() + (b->empty() ? 0 : 1));
  if (!same) {
    findings.add("P22", add, "broadcasting does not fuse in INT8",
                 "branches are {} and {}", dims_text(*a), dims_text(*b));
  }
}

void check_half_quantized_add(const LintGraph& graph, const Node& add,
                              const std::string& branch, Findings& findings) {
  const Node* layer = int8_layer(graph, branch);
  if (layer == nullptr) {
    findings.add("P04", add, "put Q/DQ at that branch, too",
                 "'{}' is float and not the output of a quantized layer",
                 branch);
  } else if (graph.consumers(branch).size() > 1) {
    findings.add("P08", add,
                 "put Q/DQ at that branch and leave the other branch float, or "
                 "quantize both",
                 "output of '{}' has other consumers", *layer);
  }
}

void check_float_add(const LintGraph& graph, const Node& add,
                     Findings& findings) {
  // A branch with other consumers is the source of a residual. Sums of products
  // remain float between the blocks of a transformer.
  const bool quantized = is_quantized_sum(graph, add);
  const auto branch = [&](int i) -> const Node* {
    if (graph.consumers(add.input(i)).size() != 1) return nullptr;
    const Node* layer = int8_layer(graph, add.input(i));
    return layer != nullptr && (quantized || is_convolution(*layer)) ? layer
                                                                     : nullptr;
  };
  const Node* first = branch(0);
  const Node* second = branch(1);
  if (first != nullptr && second != nullptr && first != second) {
    const size_t longest = quant::longest_branch(
        {0, 1}, quant::paths_to_ancestor(graph, add).layers);
    findings.add("P07", add,
                 fmt::format("put Q/DQ at the shorter branch, '{}'",
                             printable(graph.input(add, 1 - longest))),
                 "outputs of '{}' and '{}' are added unquantized", *first,
                 *second);
  } else if (first != nullptr || second != nullptr) {
    findings.add("P04", add,
                 "put Q/DQ at the branch that is not a quantized layer",
                 "branch '{}' is float", add.input(first != nullptr ? 1 : 0));
  } else if (graph.is_quantized(add.output(0))) {
    findings.add("P06", add, "put Q/DQ at both branches",
                 "branches are float, consumers are INT8");
  }
}

void check_add(const LintGraph& graph, const Node& add, Findings& findings) {
  const bool first = graph.dequantizer(add.input(0)) != nullptr;
  const bool second = graph.dequantizer(add.input(1)) != nullptr;
  if (first && second) {
    check_quantized_add(graph, add, findings);
  } else if (first || second) {
    check_half_quantized_add(graph, add, add.input(first ? 1 : 0), findings);
  } else {
    check_float_add(graph, add, findings);
  }
}

void check_concat(const LintGraph& graph, const Node& concat,
                  Findings& findings) {
  const Node* qparams = nullptr;
  int quantized = 0, read = 0;
  bool equal = true;
  for (const auto& input : concat.input()) {
    if (graph.is_constant(input)) continue;
    ++read;
    // Direct pairs only: a pair before a MaxPool belongs to the MaxPool.
    const Node* dequantize = graph.producer(input);
    if (dequantize == nullptr || !is_dequantize(*dequantize)) continue;
    ++quantized;
    equal = equal &&
            (qparams == nullptr || graph.same_qparams(*qparams, *dequantize));
    qparams = dequantize;
  }
  if (quantized == 0) return;
  for (const Node* quantize : graph.quantizers_of(concat.output(0))) {
    equal = equal && graph.same_qparams(*qparams, *quantize);
  }
  const char* hint =
      "quantize only its output, or use one scale for all inputs and the "
      "output";
  if (quantized < read) {
    findings.add("P14", concat, hint, "{} of {} inputs have Q/DQ", quantized,
                 read);
  } else if (!equal) {
    findings.add("P14", concat, hint,
                 "inputs and output have different scales");
  }
}

// Reports Q/DQ inside a Swish; returns whether `mul` is its product.
bool check_swish(const LintGraph& graph, const Node& mul, Findings& findings) {
  const auto quantizer_of = [&](const std::string& value) {
    const Node* dequantize = graph.dequantizer(value);
    return dequantize == nullptr ? nullptr : graph.quantizer(*dequantize);
  };
  const auto before_pair = [&](const std::string& value) {
    const Node* quantize = quantizer_of(value);
    return quantize == nullptr ? value : quantize->input(0);
  };
  const Node* gate = quant::silu_gate(graph, mul, before_pair);
  if (gate == nullptr) return false;
  const bool second = graph.producer(before_pair(graph.input(mul, 1))) == gate;
  const Node* layer_pair = quantizer_of(graph.input(mul, second ? 0 : 1));
  if (graph.dequantizer(graph.input(mul, second ? 1 : 0)) != nullptr ||
      (layer_pair != nullptr &&
       int8_layer(graph, layer_pair->input(0)) != nullptr)) {
    findings.add("P15", mul,
                 "leave x and its gate float; quantize the product for its "
                 "consumer",
                 "Q/DQ inside a Swish");
  }
  return true;
}

void check_mul(const LintGraph& graph, const Node& mul, Findings& findings) {
  if (graph.input_count(mul) != 2 || check_swish(graph, mul, findings)) return;
  const Node* pairs[] = {graph.dequantizer(mul.input(0)),
                         graph.dequantizer(mul.input(1))};
  if ((pairs[0] == nullptr) == (pairs[1] == nullptr)) return;
  findings.add("P15", mul, "put Q/DQ at both inputs, or at neither",
               "'{}' is float, the other input is quantized",
               mul.input(pairs[0] == nullptr ? 0 : 1));
}

}  // namespace

void check_merges(const LintGraph& graph, Findings& findings) {
  for (const Node& node : graph.all_nodes()) {
    const FusionKind kind = graph.kind(node);
    if (kind == FusionKind::add) check_add(graph, node, findings);
    if (kind == FusionKind::concatenation) check_concat(graph, node, findings);
    if (kind == FusionKind::multiply) check_mul(graph, node, findings);
  }
}

}  // namespace octet::io::lint
