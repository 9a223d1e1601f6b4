#include "model/model_program.h"

#include <cstring>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include <octet/layers/layer.h>
#include <octet/runtime/detail/program_capture.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "base/names.h"
#include "base/shapes_text.h"
#include "model/input.h"

namespace octet {

std::shared_ptr<const Layer> LayerCopies::of(const GraphNode& node) {
  std::shared_ptr<Layer>& copy = made_[node.layer.get()];
  if (copy == nullptr) {
    copy = node.layer->clone(context_);
    copy->build_once(shapes_of(node.inputs));
    copy->copy_parameters(*node.layer);
  }
  return copy;
}

std::vector<Shape> shapes_of(std::span<const SymbolicTensor> tensors) {
  std::vector<Shape> shapes;
  for (const SymbolicTensor& t : tensors) shapes.push_back(t.shape());
  return shapes;
}

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

void expect_not_observing(const Model& model) {
  for (const auto& layer : model.layers()) {
    if (!layer->observing()) continue;
    throw ValueError(
        "invalid_state", subject_of(*layer),
        "is being calibrated, so the model is not ready for inference");
  }
}

NodeValues::NodeValues(std::span<const std::shared_ptr<const GraphNode>> nodes,
                       std::span<const SymbolicTensor> outputs) {
  for (const auto& node : nodes) {
    for (const SymbolicTensor& input : node->inputs) ++uses_[input.node.get()];
  }
  for (const SymbolicTensor& y : outputs) ++uses_[y.node.get()];
}

std::vector<Variable> NodeValues::of(
    std::span<const SymbolicTensor> tensors) const {
  std::vector<Variable> values;
  for (const SymbolicTensor& t : tensors) {
    values.push_back(values_.at(t.node.get()));
  }
  return values;
}

void NodeValues::set(const GraphNode& node, Variable value) {
  values_[&node] = std::move(value);
  for (const SymbolicTensor& input : node.inputs) {
    if (--uses_.at(input.node.get()) == 0) values_.erase(input.node.get());
  }
}

Program make_program(const Model& model, CalledLayers called,
                     const LayerCheck& check) {
  expect_not_observing(model);
  const NoGradGuard no_grad;
  ProgramCapture capture;
  LayerCopies copies;
  NodeValues values(model.nodes(), model.outputs());
  for (const SymbolicTensor& input : model.inputs()) {
    values.set(*input.node, capture.input(input.shape()));
  }
  for (const auto& node : model.nodes()) {
    if (is_input(*node->layer)) continue;
    if (check) check();
    values.set(
        *node, capture_call(capture, *node, values.of(node->inputs), [&] {
          return called == CalledLayers::own ? node->layer : copies.of(*node);
        }));
  }
  return capture.finish(values.of(model.outputs()));
}

Variable capture_call(
    ProgramCapture& capture, const GraphNode& node,
    const std::vector<Variable>& inputs,
    const std::function<std::shared_ptr<const Layer>()>& lasting) {
  const Layer& layer = *node.layer;
  return with_context([&] { return layer.describe(); },
                      [&] {
                        return capture.call(
                            layer.name(), inputs, forward_of(node.layer),
                            [&] { return forward_of(lasting()); });
                      });
}

std::optional<bool> matches_bitwise(const Program& program,
                                    std::span<const Tensor> inputs,
                                    std::span<const Variable> expected) {
  const ThreadLimit one(1);  // several samples in a chunk
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

std::optional<bool> matches_bitwise(const Program& program, const Model& model,
                                    std::span<const Tensor> inputs,
                                    const LayerCheck& check) {
  const NoGradGuard no_grad;
  const std::vector<Variable> x(inputs.begin(), inputs.end());
  Model::Observer observer;
  if (check) observer = [&](const GraphNode&, const Variable&) { check(); };
  return matches_bitwise(program, inputs, model.run(x, observer));
}

}  // namespace octet
