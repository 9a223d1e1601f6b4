#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/model.h>
#include <octet/runtime/error.h>

#include "base/names.h"

namespace octet {
namespace {

Config::List indices(std::span<const SymbolicTensor> tensors,
                     const std::unordered_map<const GraphNode*, int64_t>& at) {
  Config::List list;
  for (const SymbolicTensor& tensor : tensors) {
    list.emplace_back(at.at(tensor.node.get()));
  }
  return list;
}

/// A layer being restored into a graph.
struct Made {
  std::shared_ptr<Layer> layer;
  std::string shares;  // name of the layer whose parameters it shares
};

using MadeLayers = std::map<std::string, Made, std::less<>>;

void refuse_unknown_classes(const Config::List& layers) {
  std::string unknown;
  for (const Config& entry : layers) {
    const std::string& class_name = entry.at("class_name").as_string();
    if (find_layer_def(class_name) != nullptr) continue;
    unknown += fmt::format("{}'{}' ({})", unknown.empty() ? "" : ", ",
                           entry.at("name").as_string(), class_name);
  }
  if (!unknown.empty()) {
    throw UnsupportedError(
        "unsupported_layer", "layers",
        fmt::format(
            "unknown classes: {}. Hint: register_layer() adds custom classes",
            unknown));
  }
}

MadeLayers make_layers(const Config::List& layers) {
  refuse_unknown_classes(layers);
  MadeLayers made;
  for (const Config& entry : layers) {
    const std::string& name = entry.at("name").as_string();
    if (name.empty() || made.contains(name)) {
      throw ValueError(
          "duplicate_name", "layers",
          fmt::format("each layer needs a unique name, got '{}'", name));
    }
    Made& one = made[name];
    one.layer =
        with_context([&] { return fmt::format("in layer '{}'", name); },
                     [&] {
                       return create_layer(entry.at("class_name").as_string(),
                                           entry.at("config"));
                     });
    one.layer->set_name(name);
    if (const Config* shares = entry.find("shares")) {
      one.shares = shares->as_string();
    }
  }
  return made;
}

Made& find(MadeLayers& layers, const std::string& name) {
  const auto found = layers.find(name);
  if (found == layers.end()) {
    throw NotFoundError(
        "unknown_name", "graph",
        fmt::format("no layer '{}' in the list of layers", name));
  }
  return found->second;
}

void share_parameters(const Made& one, MadeLayers& layers) {
  const Layer& owner = *find(layers, one.shares).layer;
  const auto ours = one.layer->parameters();
  const auto theirs = owner.parameters();
  bool fits = owner.built() && ours.size() == theirs.size();
  for (size_t i = 0; fits && i < ours.size(); ++i) {
    fits = ours[i].variable.shape() == theirs[i].variable.shape();
  }
  if (!fits) {
    throw ShapeError("shape_mismatch", subject_of(*one.layer),
                     fmt::format("cannot share the parameters of '{}', which "
                                 "must be an earlier layer "
                                 "with parameters of equal shapes",
                                 one.shares));
  }
  one.layer->share_parameters(owner);
}

std::vector<SymbolicTensor> tensors(const Config& indices,
                                    const std::vector<SymbolicTensor>& calls) {
  std::vector<SymbolicTensor> result;
  for (const Config& entry : indices.as_list()) {
    const int64_t index = entry.as_int();
    if (index < 0 || index >= std::ssize(calls)) {
      throw ValueError("out_of_range", "graph",
                       fmt::format("indices of calls must be in [0,{}), got {}",
                                   calls.size(), index));
    }
    result.push_back(calls[static_cast<size_t>(index)]);
  }
  return result;
}

}  // namespace

Config to_config(const Model& model, const LayerView& view) {
  const auto seen = [&](const Layer& layer) -> const Layer& {
    return view ? view(layer) : layer;
  };
  Config::List layers;
  std::map<uint64_t, std::string> owners;  // by first parameter
  for (const auto& each : model.layers()) {
    const Layer& layer = seen(*each);
    Config& entry = layers.emplace_back();
    entry.set("name", layer.name())
        .set("class_name", layer.class_name())
        .set("config", layer.config());
    const auto parameters = each->parameters();
    if (parameters.empty()) continue;
    const auto [owner, first] =
        owners.emplace(parameters[0].variable.id(), layer.name());
    if (!first) entry.set("shares", owner->second);
  }
  Config::List calls;
  std::unordered_map<const GraphNode*, int64_t> at;
  for (const auto& node : model.nodes()) {
    at[node.get()] = std::ssize(calls);
    calls.push_back(Config()
                        .set("layer", seen(*node->layer).name())
                        .set("inputs", indices(node->inputs, at)));
  }
  return Config()
      .set("name", model.name())
      .set("seed", static_cast<int64_t>(model.seed()))
      .set("layers", std::move(layers))
      .set("calls", std::move(calls))
      .set("inputs", indices(model.inputs(), at))
      .set("outputs", indices(model.outputs(), at));
}

Model model_from_config(const Config& config) {
  MadeLayers layers = make_layers(config.at("layers").as_list());
  std::vector<SymbolicTensor> calls;
  for (const Config& entry : config.at("calls").as_list()) {
    const Made& one = find(layers, entry.at("layer").as_string());
    const bool first = !one.layer->built();
    calls.push_back(call(one.layer, tensors(entry.at("inputs"), calls)));
    if (first && !one.shares.empty()) share_parameters(one, layers);
  }
  return Model(tensors(config.at("inputs"), calls),
               tensors(config.at("outputs"), calls),
               {.name = config.at("name").as_string(),
                .seed = static_cast<uint64_t>(config.at("seed").as_int())});
}

}  // namespace octet
