#include "model_text.h"

#include <utility>
#include <vector>

namespace octet::program {

Config to_config(const Shape& shape) {
  Config::List dims;
  for (const int64_t dim : shape.dims()) {
    dims.push_back(dim == Shape::kAnySize ? Config("N") : Config(dim));
  }
  return dims;
}

Config to_config(const Model& model) {
  NodeSize total;
  Config::List layers;
  const std::vector<NodeSize> sizes = model.sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const GraphNode& node = *model.nodes()[i];
    total.parameters += sizes[i].parameters;
    total.trainable += sizes[i].trainable;
    total.multiply_adds += sizes[i].multiply_adds;
    layers.push_back(Config()
                         .set("name", node.layer->name())
                         .set("class", node.layer->class_name())
                         .set("output", to_config(node.shape))
                         .set("parameters", sizes[i].parameters)
                         .set("multiply_adds", sizes[i].multiply_adds));
  }
  const auto shapes = [](std::span<const SymbolicTensor> tensors) {
    Config::List list;
    for (const SymbolicTensor& tensor : tensors) {
      list.push_back(to_config(tensor.shape()));
    }
    return list;
  };
  return Config()
      .set("name", model.name())
      .set("input", to_config(model.inputs()[0].shape()))
      .set("inputs", shapes(model.inputs()))
      .set("outputs", shapes(model.outputs()))
      .set("layers", std::move(layers))
      .set("parameters", total.parameters)
      .set("trainable", total.trainable)
      .set("multiply_adds", total.multiply_adds);
}

}  // namespace octet::program
