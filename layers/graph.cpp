#include <atomic>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/graph.h>
#include <octet/runtime/error.h>

#include "input.h"
#include "shapes_text.h"

namespace octet {
namespace {

// Long chains must not overflow the stack when they go: nodes whose last owner
// lets go hand their inputs to this list, which is emptied one after another.
thread_local std::vector<SymbolicTensor>* dying = nullptr;

void release(const GraphNode* node) {
  std::vector<SymbolicTensor> inputs =
      std::move(const_cast<GraphNode*>(node)->inputs);
  delete node;
  if (dying != nullptr) {
    for (SymbolicTensor& input : inputs) dying->push_back(std::move(input));
    return;
  }
  dying = &inputs;
  while (!inputs.empty()) {
    const SymbolicTensor last = std::move(inputs.back());
    inputs.pop_back();
  }
  dying = nullptr;
}

}  // namespace

const Shape& SymbolicTensor::shape() const {
  if (node == nullptr) {
    throw ValueError(
        "symbolic tensor: expected the output of a layer, got "
        "none");
  }
  return node->shape;
}

SymbolicTensor call(const std::shared_ptr<Layer>& layer,
                    std::vector<SymbolicTensor> inputs) {
  // Ids only order nodes; their values never reach a result.
  static std::atomic<uint64_t> next_id{0};
  if (layer == nullptr) throw ValueError("call: expected a layer, got none");
  std::vector<Shape> shapes;
  for (const SymbolicTensor& input : inputs) shapes.push_back(input.shape());
  const std::string text = shapes_text(inputs);
  return with_context(
      [&] {
        return text.empty()
                   ? layer->describe()
                   : fmt::format("{}, input {}", layer->describe(), text);
      },
      [&] {
        const Shape shape = layer->output_shape(shapes);
        // Refuses samples that no tensor could hold.
        if (shape.rank() > 0) (void)shape.slice(1, shape.rank()).size();
        layer->build_once(shapes);
        return SymbolicTensor{std::shared_ptr<GraphNode>(
            new GraphNode{next_id++, layer, std::move(inputs), shape},
            release)};
      });
}

SymbolicTensor input(const Shape& shape, std::string name) {
  return call(make_input(shape, std::move(name)), {});
}

}  // namespace octet
