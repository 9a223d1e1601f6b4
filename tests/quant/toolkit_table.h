// The placement tests of NVIDIA's toolkit as a table: network, options,
// expected Q/DQ, number of pairs. toolkit_rows.h has the rows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

namespace octet::quant {

/// Sites with Q/DQ by layer; missing layers have none.
using Positions = std::map<std::string, std::vector<std::string>>;

/// The expected sites of the layer with this name, or of each layer of this
/// class.
struct Expected {
  std::string layer_or_class;
  std::vector<std::string> sites;
  bool operator==(const Expected&) const = default;
};

/// Pairs on activations, per edge; on weights; and in total, per tensor.
struct Count {
  int64_t activations;
  int64_t weights;
  int64_t shared;
};

struct ToolkitRow {
  std::string row;
  std::string network;
  QuantizeOptions options;
  std::vector<Expected> expected;  ///< later entries override
  Count count;

  PairCount pairs() const {
    return {count.activations, count.weights, count.shared};
  }
  Positions positions(const Model& model) const {
    Positions result;
    for (const auto& layer : model.layers()) {
      for (const Expected& e : expected) {
        if (e.layer_or_class == layer->name() ||
            e.layer_or_class == layer->class_name()) {
          result[layer->name()] = e.sites;
        }
      }
    }
    std::erase_if(result, [](const auto& each) { return each.second.empty(); });
    return result;
  }
};

/// The model without its Dropout layers.
inline Model without_dropout(const Model& model) {
  CloneContext context;
  std::map<const GraphNode*, SymbolicTensor> made;
  const auto at = [&](const SymbolicTensor& x) {
    return made.at(x.node.get());
  };
  for (const auto& node : model.nodes()) {
    if (node->layer->class_name() == "Dropout") {
      made[node.get()] = at(node->inputs[0]);
      continue;
    }
    std::vector<SymbolicTensor> inputs;
    for (const SymbolicTensor& input : node->inputs) {
      inputs.push_back(at(input));
    }
    made[node.get()] = call(node->layer->clone(context), std::move(inputs));
  }
  return Model(at(model.inputs()[0]), at(model.outputs()[0]));
}

/// A network of the table; ImageNet networks on small images.
inline Model toolkit_network(const std::string& name) {
  if (name == "efficientnet_b0 without Dropout") {
    return without_dropout(toolkit_network("efficientnet_b0"));
  }
  const zoo::Entry& entry = zoo::entry(name);
  if (entry.input[0] <= 32) return entry.make({});
  const int64_t side = name == "inception_v3" ? 75 : 32;
  return entry.make({.input = {side, side, 3}, .classes = 10});
}

/// A spec of a single entry.
inline QuantizationSpec spec_of(const std::string& name,
                                const SpecOptions& options = {}) {
  QuantizationSpec spec;
  spec.add(name, options);
  return spec;
}

}  // namespace octet::quant
