
#include <utility>

#include <octet/runtime/detail/program_capture.h>

#include "model/input.h"
#include "model/model_program.h"

namespace octet {
namespace {

// Frees layers of a graph that nothing but its nodes owns.
class OwnedLayers {
 public:
  OwnedLayers(std::span<const std::shared_ptr<const GraphNode>> nodes,
              std::span<const SymbolicTensor> inputs,
              std::span<const SymbolicTensor> outputs) {
    for (const auto& node : nodes) {
      ++owners_[node.get()];
      ++calls_[node->layer.get()];
      for (const SymbolicTensor& x : node->inputs) ++owners_[x.node.get()];
    }
    for (const auto& ends : {inputs, outputs}) {
      for (const SymbolicTensor& x : ends) ++owners_[x.node.get()];
    }
  }

  // Frees the layer of a node that needs it no more. The layers of nodes that
  // others own stay, and with them layers that several nodes share.
  void free(const std::shared_ptr<const GraphNode>& node) {
    if (node.use_count() != owners_.at(node.get())) return;
    if (node->layer.use_count() != calls_.at(node->layer.get())) return;
    --calls_[node->layer.get()];
    std::const_pointer_cast<GraphNode>(node)->layer = nullptr;
  }

 private:
  std::unordered_map<const GraphNode*, int64_t> owners_;
  std::unordered_map<const Layer*, int64_t> calls_;
};

}  // namespace

CheckedProgram make_owned_program(Model&& model,
                                  std::span<const Tensor> samples,
                                  const LayerCheck& check) {
  expect_not_observing(model);
  const std::vector<std::shared_ptr<const GraphNode>> nodes(
      model.nodes().begin(), model.nodes().end());
  const std::vector<SymbolicTensor> inputs(model.inputs().begin(),
                                           model.inputs().end());
  const std::vector<SymbolicTensor> outputs(model.outputs().begin(),
                                            model.outputs().end());
  { const Model gone = std::move(model); }
  OwnedLayers layers(nodes, inputs, outputs);

  const NoGradGuard no_grad;
  ProgramCapture capture;
  LayerCopies copies;
  NodeValues traced(nodes, outputs), computed(nodes, outputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    traced.set(*inputs[i].node, capture.input(inputs[i].shape()));
    computed.set(*inputs[i].node, Variable(samples[i]));
  }
  for (const auto& node : nodes) {
    if (is_input(*node->layer)) continue;
    if (check) check();
    traced.set(*node, capture_call(capture, *node, traced.of(node->inputs),
                                   [&] { return copies.of(*node); }));
    computed.set(*node, forward_of(node->layer)(computed.of(node->inputs)));
    layers.free(node);
  }
  CheckedProgram result{capture.finish(traced.of(outputs)), true};
  const std::vector<Variable> expected = computed.of(outputs);
  result.matches = matches_bitwise(result.program, samples, expected);
  return result;
}

}  // namespace octet
