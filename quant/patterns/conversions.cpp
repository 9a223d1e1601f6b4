#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/quant/patterns.h>

#include "graph/graph_index.h"
#include "placement/split_activations.h"

namespace octet::quant {
namespace {

using Replacement = std::optional<SymbolicTensor>;

// For images and sequences.
bool is_one_pixel(const Shape& shape) {
  const int rank = shape.rank();
  return (rank == 3 || rank == 4) && shape.slice(1, rank - 1).size() == 1;
}

// Files name several outputs after their layers, which must therefore remain.
bool names_an_output(const GraphNode& node, const Model& model) {
  return model.outputs().size() > 1 &&
         std::ranges::any_of(model.outputs(), [&](const SymbolicTensor& x) {
           return x.node.get() == &node;
         });
}

Replacement remove_identity(const GraphNode& node, Rebuild& rebuild) {
  if (node.inputs.size() != 1 || node.facts().identity != Identity::always ||
      names_an_output(node, rebuild.model())) {
    return std::nullopt;
  }
  return rebuild.at(node.inputs[0]);
}

bool has_one_cell(const Config& pool_size) {
  return std::ranges::all_of(pool_size.as_list(), [](const Config& size) {
    return size.as_int() == 1;
  });
}

Replacement remove_identity_pool(const GraphNode& node, Rebuild& rebuild) {
  const Layer& layer = *node.layer;
  const std::string name = layer.class_name();
  const auto is = [&](std::string_view stem) {
    return is_spatial_class(name, stem);
  };
  const bool global = is("GlobalAveragePooling") || is("GlobalMaxPooling");
  if (!global && !is("AveragePooling") && !is("MaxPooling")) {
    return std::nullopt;
  }
  const SymbolicTensor& x = node.inputs[0];
  const bool identity = global
                            ? is_one_pixel(x.shape())
                            : node.shape == x.shape() &&
                                  has_one_cell(layer.config().at("pool_size"));
  if (!identity) return std::nullopt;
  if (node.shape == x.shape()) {
    return names_an_output(node, rebuild.model()) ? std::nullopt
                                                  : Replacement(rebuild.at(x));
  }
  if (!rebuild.stands_alone(layer)) return std::nullopt;
  return Flatten({.name = layer.name()})(rebuild.at(x));
}

// Returns whether the layer acts on a pixel as on a row.
bool is_elementwise(const GraphNode& node) {
  if (node.inputs.size() != 1) return false;
  const Layer& layer = *node.layer;
  switch (layer.facts().role) {
    case LayerRole::activation:
      return layer.parameters().empty();
    case LayerRole::identity: {
      const Config config = layer.config();
      const Config* noise = config.find("noise_shape");
      return noise == nullptr || noise->is_null();
    }
    default:
      return false;
  }
}

bool flattens_one_pixel(const GraphNode& node) {
  const std::string name = node.layer->class_name();
  return (name == "Flatten" || name == "Reshape") && node.shape.rank() == 2 &&
         is_one_pixel(node.inputs[0].shape());
}

// Returns a 1x1 convolution with the weights of a Dense layer, called on x.
SymbolicTensor convolve(const Layer& dense, const SymbolicTensor& x) {
  const bool image = x.shape().rank() == 4;
  Config config = dense.config();
  config.set("filters", config.at("units")).set("kernel_size", 1);
  const std::shared_ptr<Layer> conv =
      create_layer(image ? "Conv2D" : "Conv1D", config);
  conv->set_name(dense.name());
  SymbolicTensor y = call(conv, {x});
  std::vector<Tensor> values;
  for (const Parameter& p : dense.parameters()) {
    const Tensor& value = p.variable.value();
    const Shape& shape = value.shape();
    values.push_back(p.name != "kernel" ? value
                     : image ? value.reshaped({1, 1, shape[0], shape[1]})
                             : value.reshaped({1, shape[0], shape[1]}));
  }
  conv->set_parameters(values);
  conv->set_trainable(dense.trainable());
  return y;
}

// Splits the activation off, so that Q/DQ fits before it.
Replacement split_inner_activation(const GraphNode& node, Rebuild& rebuild) {
  const bool output = std::ranges::any_of(
      rebuild.model().outputs(),
      [&](const SymbolicTensor& y) { return y.node.get() == &node; });
  if (output || GraphIndex::is(node, "Conv2DTranspose")) return std::nullopt;
  return split_activation(node, rebuild);
}

Replacement flatten_dense_to_conv(const GraphNode& node, Rebuild& rebuild) {
  if (node.layer->class_name() != "Dense" || node.shape.rank() != 2 ||
      names_an_output(node, rebuild.model()) ||
      !rebuild.stands_alone(*node.layer)) {
    return std::nullopt;
  }
  std::vector<const GraphNode*> between;
  const GraphNode* x = node.inputs[0].node.get();
  while (is_elementwise(*x) && rebuild.uses(*x) == 1) {
    between.push_back(x);
    x = x->inputs[0].node.get();
  }
  if (x->inputs.size() != 1 || !flattens_one_pixel(*x) ||
      rebuild.uses(*x) != 1 || !rebuild.stands_alone(*x->layer)) {
    return std::nullopt;
  }
  SymbolicTensor y = rebuild.at(x->inputs[0]);
  for (auto op = between.rbegin(); op != between.rend(); ++op) {
    y = rebuild.call(**op, {y});
  }
  return Flatten({.name = x->layer->name()})(convolve(*node.layer, y));
}

}  // namespace

std::vector<Conversion> tensorrt_conversions() {
  return {
      {.name = "RemoveIdentity",
       .rationale = "the layer hands its input on",
       .convert = remove_identity},
      {.name = "RemoveIdentityPool",
       .rationale = "a pool of one cell hands its input on",
       .convert = remove_identity_pool},
      {.name = "FlattenDenseToConv1x1",
       .rationale = "on one pixel a Dense layer is a 1x1 convolution, which "
                    "fuses like the others",
       .convert = flatten_dense_to_conv},
  };
}

std::vector<Conversion> onnxruntime_conversions() {
  std::vector<Conversion> result = tensorrt_conversions();
  result.push_back({.name = "SplitActivation",
                    .rationale = "an activation that is computed in float "
                                 "stands behind Q/DQ of its layer",
                    .convert = split_inner_activation});
  return result;
}

}  // namespace octet::quant
