#include <atomic>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/graph.h>
#include <octet/runtime/error.h>

#include "base/shapes_text.h"
#include "model/input.h"

namespace octet {
namespace {

// Releases long chains without recursion, which would overflow the stack: a
// released node moves its inputs to this list, which is then emptied.
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
    throw ValueError("missing_value", "symbolic tensor",
                     "is empty, not the output of a layer");
  }
  return node->shape;
}

LayerFacts GraphNode::facts() const {
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const SymbolicTensor& input : inputs) shapes.push_back(input.shape());
  return layer->facts(shapes);
}

SymbolicTensor call(const std::shared_ptr<Layer>& layer,
                    std::vector<SymbolicTensor> inputs) {
  // Ids only order nodes; results do not depend on their values.
  static std::atomic<uint64_t> next_id{0};
  if (layer == nullptr) {
    throw ValueError("missing_value", "call", "no layer given");
  }
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
        // Throws if a sample is too large for a tensor.
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
