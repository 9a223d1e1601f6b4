#include "model_program.h"

#include <cstring>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include <octet/layers/detail/clone_context.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "input.h"
#include "names.h"
#include "shapes_text.h"

namespace octet {
namespace {

std::vector<Shape> shapes_of(std::span<const SymbolicTensor> tensors) {
  std::vector<Shape> shapes;
  for (const SymbolicTensor& t : tensors) shapes.push_back(t.shape());
  return shapes;
}

// Creates and caches a copy of each layer.
class Copies {
 public:
  std::shared_ptr<const Layer> of(const GraphNode& node) {
    std::shared_ptr<Layer>& copy = made_[node.layer.get()];
    if (copy == nullptr) {
      copy = node.layer->clone(context_);
      copy->build_once(shapes_of(node.inputs));
      copy->copy_parameters(*node.layer);
    }
    return copy;
  }

 private:
  CloneContext context_;
  std::map<const Layer*, std::shared_ptr<Layer>> made_;
};

Program::Function forward_of(std::shared_ptr<const Layer> layer) {
  return [layer = std::move(layer)](std::span<const Variable> inputs) {
    return with_context(
        [&] {
          return fmt::format("{}, input {}", layer->describe(),
                             shapes_text(inputs));
        },
        [&] { return layer->forward({}, inputs); });
  };
}

}  // namespace

Program make_program(const Model& model, CalledLayers called,
                     const LayerCheck& check) {
  for (const auto& layer : model.layers()) {
    if (!layer->observing()) continue;
    throw ValueError(
        "invalid_state", subject_of(*layer),
        "is being calibrated, so the model is not ready for inference");
  }
  const NoGradGuard no_grad;
  ProgramCapture capture;
  Copies copies;
  std::unordered_map<const GraphNode*, Variable> values;
  std::unordered_map<const GraphNode*, int64_t> uses;
  for (const auto& node : model.nodes()) {
    for (const SymbolicTensor& input : node->inputs) ++uses[input.node.get()];
  }
  for (const SymbolicTensor& y : model.outputs()) ++uses[y.node.get()];
  for (const SymbolicTensor& input : model.inputs()) {
    values[input.node.get()] = capture.input(input.shape());
  }
  for (const auto& node : model.nodes()) {
    if (is_input(*node->layer)) continue;
    if (check) check();
    std::vector<Variable> inputs;
    for (const SymbolicTensor& input : node->inputs) {
      inputs.push_back(values.at(input.node.get()));
    }
    values[node.get()] = with_context(
        [&] { return node->layer->describe(); },
        [&] {
          return capture.call(node->layer->name(), inputs,
                              forward_of(node->layer), [&] {
                                return forward_of(called == CalledLayers::own
                                                      ? node->layer
                                                      : copies.of(*node));
                              });
        });
    for (const SymbolicTensor& input : node->inputs) {
      if (--uses.at(input.node.get()) > 0) continue;
      values.erase(input.node.get());
    }
  }
  std::vector<Variable> outputs;
  for (const SymbolicTensor& output : model.outputs()) {
    outputs.push_back(values.at(output.node.get()));
  }
  return capture.finish(outputs);
}

std::optional<bool> matches_bitwise(const Program& program, const Model& model,
                                    std::span<const Tensor> inputs,
                                    const LayerCheck& check) {
  const NoGradGuard no_grad;
  const ThreadLimit one(1);  // several samples in a chunk
  const std::vector<Variable> x(inputs.begin(), inputs.end());
  Model::Observer observer;
  if (check) observer = [&](const GraphNode&, const Variable&) { check(); };
  const std::vector<Variable> expected = model.run(x, observer);
  std::vector<Tensor> got;
  for (const Variable& y : expected) got.emplace_back(y.shape());
  if (!program.run(inputs, got)) return std::nullopt;
  for (size_t i = 0; i < got.size(); ++i) {
    const Tensor& y = expected[i].value();
    if (std::memcmp(y.raw(), got[i].raw(), static_cast<size_t>(y.bytes())) !=
        0) {
      return false;
    }
  }
  return true;
}

}  // namespace octet
