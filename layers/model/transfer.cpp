#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include <octet/layers/dense.h>
#include <octet/layers/pooling.h>
#include <octet/layers/reshaping.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/error.h>

#include "base/names.h"

namespace octet {
namespace {

/// Returns whether a classifier may precede this layer.
bool may_follow_classifier(const GraphNode& node) {
  constexpr std::array<std::string_view, 5> kClasses = {
      "Softmax", "Flatten", "Reshape", "GlobalAveragePooling2D", "GetItem"};
  if (node.inputs.size() != 1) return false;
  const std::string name = node.layer->class_name();
  if (std::ranges::find(kClasses, name) != kClasses.end()) return true;
  const LayerFacts facts = node.facts();
  return facts.role == LayerRole::activation ||
         facts.role == LayerRole::identity;
}

bool is_classifier(const GraphNode& node) {
  const std::string name = node.layer->class_name();
  if (name == "Dense") return true;
  if (name != "Conv2D") return false;
  const std::vector<ConvolutionShape> convolutions = node.facts().convolutions;
  return convolutions.size() == 1 && convolutions[0].kernel.h == 1 &&
         convolutions[0].kernel.w == 1 && convolutions[0].groups == 1;
}

[[noreturn]] void refuse_classifier(const Model& model,
                                    const std::string& found) {
  throw ValueError(
      "unsupported_model", fmt::format("model '{}'", model.name()),
      fmt::format("a new classifier needs a Dense layer or a 1x1 Conv2D at the "
                  "end of a float model with one output [n,classes], got {}",
                  found));
}

const GraphNode& classifier_node(const Model& model) {
  if (model.outputs().size() != 1) {
    refuse_classifier(model, fmt::format("{} outputs", model.outputs().size()));
  }
  const GraphNode* node = model.outputs()[0].node.get();
  if (node->shape.rank() != 2) {
    refuse_classifier(model, "an output " + node->shape.to_string());
  }
  while (!is_classifier(*node) && may_follow_classifier(*node)) {
    node = node->inputs[0].node.get();
  }
  if (!is_classifier(*node)) {
    refuse_classifier(model, subject_of(*node->layer));
  }
  return *node;
}

}  // namespace

std::string classifier_of(const Model& model) {
  return classifier_node(model).layer->name();
}

Model with_classifier(const Model& model, int64_t units,
                      const ClassifierOptions& options) {
  if (units < 1) {
    throw ValueError("out_of_range", "with_classifier",
                     fmt::format("units must be positive, got {}", units));
  }
  const Model copy = model.clone();
  const GraphNode& replaced = classifier_node(copy);
  SymbolicTensor features = replaced.inputs[0];
  const Shape& shape = features.shape();
  if (shape.rank() == 4) {
    features = shape[1] == 1 && shape[2] == 1
                   ? Flatten()(features)
                   : GlobalAveragePooling2D()(features);
  }
  const std::string name =
      options.name.empty() ? replaced.layer->name() : options.name;
  const SymbolicTensor logits = Dense({.units = units, .name = name})(features);
  return Model({copy.inputs().begin(), copy.inputs().end()}, {logits},
               {.name = model.name(), .seed = options.seed});
}

}  // namespace octet
