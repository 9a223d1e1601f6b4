// Built-in insertion cases. As in the toolkit, classes match by substring and a
// parent is the first input's producer.
// Source: tensorflow-quantization 0.2.0, custom_qdq_cases.py.
#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include <octet/quant/spec.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

#include "graph/graph_index.h"

namespace octet::quant {
namespace {

bool has_class(const GraphNode& node, std::string_view part) {
  return float_layer(*node.layer).class_name().find(part) != std::string::npos;
}

// Returns whether `node` is of the first class, its parent of the second, etc.
bool is_chain(const GraphNode& node,
              std::initializer_list<std::string_view> classes) {
  const GraphNode* at = &node;
  for (const std::string_view part : classes) {
    if (at == nullptr || !has_class(*at, part)) return false;
    at = at->inputs.empty() ? nullptr : at->inputs[0].node.get();
  }
  return true;
}

bool is_conv_branch(const GraphNode& node) {
  return is_chain(node, {"Conv"}) || is_chain(node, {"BatchNorm", "Conv"}) ||
         is_chain(node, {"Activation", "BatchNorm", "Conv"}) ||
         is_chain(node, {"Dropout", "Activation", "BatchNorm", "Conv"});
}

// Visits each layer once, at its first call, unless the user's spec names it.
template <class Visit>
void visit_layers(const Model& model, const QuantizationSpec& spec,
                  std::string_view class_name, Visit visit) {
  std::vector<const Layer*> done;
  for (const auto& node : model.nodes()) {
    const Layer& layer = *node->layer;
    if (layer.class_name() != class_name) continue;
    if (std::ranges::find(done, &layer) != done.end()) continue;
    done.push_back(&layer);
    if (!check_is_quantizable_by_layer_name(spec, layer.name())) continue;
    visit(*node);
  }
}

void append(QuantizationSpec& spec, const QuantizationSpec& more) {
  for (const SpecEntry& entry : more.entries()) {
    spec.add(entry.name,
             {.quantize_input = entry.request.quantize_input,
              .quantize_weight = entry.request.quantize_weight,
              .quantization_index = entry.request.quantization_index});
  }
}

}  // namespace

InsertionCase::InsertionCase(std::shared_ptr<const CustomQDQInsertionCase> c)
    : case_(std::move(c)) {
  if (case_ == nullptr) {
    throw ValueError("missing_value", "insertion case", "must not be null");
  }
}

bool check_is_quantizable_by_layer_name(const QuantizationSpec& spec,
                                        std::string_view layer) {
  return !spec.names_layer(layer);
}

std::string ResidualConnectionQDQCase::info() const {
  return "Add: all inputs but the convolution's";
}

QuantizationSpec ResidualConnectionQDQCase::case_(
    const Model& model, const QuantizationSpec& spec) const {
  QuantizationSpec result;
  const GraphIndex graph(model, GraphMode::training);
  visit_layers(model, spec, "Add", [&](const GraphNode& node) {
    const int inputs = static_cast<int>(node.inputs.size());
    int branch = -1;
    for (int i = 0; i < inputs && branch < 0; ++i) {
      const GraphNode& parent = *node.inputs[static_cast<size_t>(i)].node;
      if (is_conv_branch(parent) && graph.consumers(parent).size() == 1) {
        branch = i;
      }
    }
    SpecOptions options{.quantize_weight = false};
    for (int i = 0; i < inputs && branch >= 0; ++i) {
      if (i != branch) options.quantization_index.push_back(i);
    }
    result.add(node.layer->name(), options);
  });
  return result;
}

std::string BNQDQCase::info() const {
  return "BatchNormalization that does not follow a convolution";
}

QuantizationSpec BNQDQCase::case_(const Model& model,
                                  const QuantizationSpec& spec) const {
  QuantizationSpec result;
  visit_layers(model, spec, "BatchNormalization", [&](const GraphNode& node) {
    if (has_class(*node.inputs[0].node, "Conv")) return;
    result.add(node.layer->name(), {.quantize_weight = false});
  });
  return result;
}

std::string MaxPoolQDQCase::info() const { return "MaxPooling2D"; }

QuantizationSpec MaxPoolQDQCase::case_(const Model& model,
                                       const QuantizationSpec& spec) const {
  QuantizationSpec result;
  visit_layers(model, spec, "MaxPooling2D", [&](const GraphNode& node) {
    result.add(node.layer->name(), {.quantize_weight = false});
  });
  return result;
}

std::string ResNetV2QDQCase::info() const {
  return "Add without the convolution's input, BatchNormalization that does "
         "not follow one, MaxPooling2D";
}

QuantizationSpec ResNetV2QDQCase::case_(const Model& model,
                                        const QuantizationSpec& spec) const {
  QuantizationSpec result = ResidualConnectionQDQCase().case_(model, spec);
  append(result, BNQDQCase().case_(model, spec));
  append(result, MaxPoolQDQCase().case_(model, spec));
  return result;
}

std::string EfficientNetQDQCase::info() const {
  return "Add without the convolution's input, Multiply";
}

QuantizationSpec EfficientNetQDQCase::case_(
    const Model& model, const QuantizationSpec& spec) const {
  QuantizationSpec result = ResidualConnectionQDQCase().case_(model, spec);
  visit_layers(model, spec, "Multiply", [&](const GraphNode& node) {
    result.add(node.layer->name(),
               {.quantize_weight = false, .quantization_index = {0, 1}});
  });
  return result;
}

std::vector<InsertionCase> insertion_cases() {
  return {BNQDQCase(),       EfficientNetQDQCase(),      InceptionQDQCase(),
          MaxPoolQDQCase(),  MobileNetQDQCase(),         ResNetV1QDQCase(),
          ResNetV2QDQCase(), ResidualConnectionQDQCase()};
}

InsertionCase insertion_case(std::string_view name) {
  std::vector<std::string> names;
  for (const InsertionCase& each : insertion_cases()) {
    if (each->name() == name) return each;
    names.push_back(each->name());
  }
  throw NotFoundError(
      "unknown_name", "insertion case",
      fmt::format("unknown case '{}', expected {}{}", name,
                  fmt::join(names, ", "), suggest_near(name, names)));
}

}  // namespace octet::quant
