#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/detail/load_limits.h>
#include <octet/layers/model.h>
#include <octet/layers/parameter.h>
#include <octet/quant/plan.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

/// Calls `body(layer, name in the float model)` for each layer.
template <class AnyModel, class Body>
void for_layers(AnyModel& model, const Body& body) {
  for (const auto& layer : model.layers()) {
    body(*layer, float_layer(*layer).name());
  }
}

std::string key_of(const std::string& layer, const std::string& parameter) {
  return fmt::format("{}/{}", layer, parameter);
}

void check_names(const Model& model) {
  std::set<std::string> names;
  for_layers(model, [&](const Layer&, const std::string& name) {
    if (names.insert(name).second) return;
    throw ValueError(
        "duplicate_name", fmt::format("model '{}'", model.name()),
        fmt::format("layer '{}' occurs twice in its float counterpart", name));
  });
  names.clear();
  for (const auto& quantizer : quantizers(model)) {
    if (names.insert(quantizer->name()).second) continue;
    throw ValueError(
        "duplicate_name", fmt::format("model '{}'", model.name()),
        fmt::format("quantizer '{}' occurs twice", quantizer->name()));
  }
}

Config status_of(const Model& model) {
  Config::List layers;
  Config::List statistics;
  Config::List parameters;
  for_layers(model, [&](const Layer& layer, const std::string& name) {
    if (!layer.trainable()) layers.emplace_back(name);
    if (layer.statistics_frozen()) statistics.emplace_back(name);
    for (const Parameter& p : layer.parameters()) {
      if (p.trainable && !p.variable.requires_grad()) {
        parameters.emplace_back(key_of(name, p.name));
      }
    }
  });
  Config::Object all;  // distinct names: see check_names()
  for (const auto& quantizer : quantizers(model)) {
    all.emplace_back(quantizer->name(), quantizer->state());
  }
  return Config()
      .set("training_passes", static_cast<int64_t>(model.training_passes()))
      .set("frozen_layers", std::move(layers))
      .set("frozen_statistics", std::move(statistics))
      .set("frozen_parameters", std::move(parameters))
      .set("quantizers", Config(std::move(all)));
}

std::set<std::string> names_in(const Config& list) {
  std::set<std::string> names;
  for (const Config& name : list.as_list()) names.insert(name.as_string());
  return names;
}

/// A validated status of the model.
class Status {
 public:
  Status(Model& model, const Config& status)
      : model_(model),
        passes_(static_cast<uint64_t>(status.at("training_passes").as_int())),
        layers_(names_in(status.at("frozen_layers"))),
        statistics_(names_in(status.at("frozen_statistics"))),
        parameters_(names_in(status.at("frozen_parameters"))) {
    const Config& all = status.at("quantizers");
    std::map<std::string_view, const Config*> states;
    for (const auto& [name, state] : all.as_object()) {
      states.emplace(name, &state);
    }
    for (const auto& quantizer : quantizers(model)) {
      const auto found = states.find(quantizer->name());
      // at() throws an error that lists the names.
      const Config& state =
          found == states.end() ? all.at(quantizer->name()) : *found->second;
      quantizer->clone()->restore(state);  // validates
      quantizers_.emplace_back(quantizer, state);
    }
  }

  void put_back() const {
    model_.set_training_passes(passes_);
    for_layers(model_, [&](Layer& layer, const std::string& name) {
      const bool trainable = !layers_.contains(name);
      if (layer.trainable() != trainable) layer.set_trainable(trainable);
      const bool frozen = statistics_.contains(name);
      if (layer.statistics_frozen() != frozen) layer.freeze_statistics(frozen);
      for (const Parameter& p : layer.parameters()) {
        const bool learns = !parameters_.contains(key_of(name, p.name));
        if (p.trainable && p.variable.requires_grad() != learns) {
          p.variable.set_requires_grad(learns);
        }
      }
    });
    for (const auto& [quantizer, state] : quantizers_) {
      quantizer->restore(state);
    }
  }

 private:
  Model& model_;
  uint64_t passes_;
  std::set<std::string> layers_;
  std::set<std::string> statistics_;
  std::set<std::string> parameters_;
  std::vector<std::pair<std::shared_ptr<Quantizer>, Config>> quantizers_;
};

/// Validated values for a model's parameters.
class Assignment {
 public:
  Assignment(const Model& model, std::span<const NamedWeight> weights) {
    std::map<std::string, const NamedWeight*> given;
    for (const NamedWeight& weight : weights) {
      given.emplace(key_of(weight.layer, weight.name), &weight);
    }
    std::string missing;
    for_layers(model, [&](const Layer& layer, const std::string& name) {
      for (const Parameter& p : layer.parameters()) {
        const std::string key = key_of(name, p.name);
        const auto found = given.find(key);
        if (found == given.end()) {
          add_name(missing, key);
          continue;
        }
        take(p, *found->second);
        given.erase(found);
      }
    });
    std::string unknown;
    for (const auto& [key, weight] : given) add_name(unknown, key);
    if (missing.empty() && unknown.empty()) return;
    throw ValueError(
        "count_mismatch", fmt::format("model '{}'", model.name()),
        fmt::format("weights do not match its layers{}{}{}{}",
                    missing.empty() ? "" : "; missing: ", missing,
                    unknown.empty() ? "" : "; unknown: ", unknown));
  }

  void put_in_place() const {
    for (const auto& [variable, value] : pairs_) variable.assign(value);
  }
  /// As put_in_place(), but moves tensors that have no other owner.
  void give_away() && {
    for (auto& [variable, value] : pairs_) variable.adopt(std::move(value));
  }

 private:
  static void add_name(std::string& names, const std::string& name) {
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
  }
  void take(const Parameter& parameter, const NamedWeight& weight) {
    const Tensor& own = parameter.variable.value();
    const Tensor& value = weight.value;
    if (value.empty() || value.shape() != own.shape() ||
        value.dtype() != own.dtype()) {
      throw ShapeError(
          "shape_mismatch",
          fmt::format("weight '{}'", key_of(weight.layer, weight.name)),
          fmt::format("must be {} {}, got {} {}", to_string(own.dtype()),
                      own.shape().to_string(), to_string(value.dtype()),
                      value.empty() ? "nothing" : value.shape().to_string()));
    }
    pairs_.emplace_back(parameter.variable, value);
  }

  std::vector<std::pair<Variable, Tensor>> pairs_;
};

}  // namespace

std::vector<NamedWeight> weights_of(const Model& model) {
  std::vector<NamedWeight> weights;
  for_layers(model, [&](const Layer& layer, const std::string& name) {
    for (const Parameter& p : layer.parameters()) {
      weights.push_back({name, p.name, p.trainable, p.variable.value()});
    }
  });
  return weights;
}

ModelState state_of(const Model& model) {
  check_names(model);
  const QdqPlan plan = plan_of(model);
  return {.graph = octet::to_config(model, float_layer),
          .plan = plan.points.empty() ? Config() : to_config(plan),
          .status = status_of(model),
          .weights = weights_of(model)};
}

Model initial_model(const ModelState& state) {
  Model model = model_from_config(state.graph);
  if (state.plan.is_null()) return model;
  return apply(plan_from_config(state.plan), model);
}

Model model_from_state(ModelState state) {
  const SkipInit unfilled;
  Model model = model_from_config(state.graph);
  Assignment weights(model, state.weights);
  state.weights.clear();
  std::move(weights).give_away();
  if (!state.plan.is_null()) {
    model = apply(plan_from_config(state.plan), model, Weights::share);
  }
  Status(model, state.status).put_back();
  return model;
}

void restore(Model& model, const ModelState& state) {
  const Assignment weights(model, state.weights);
  const Status status(model, state.status);
  weights.put_in_place();
  status.put_back();
}

void assign_weights(Model& model, std::span<const NamedWeight> weights) {
  Assignment(model, weights).put_in_place();
}

void copy_weights(const Model& from, Model& to) {
  assign_weights(to, weights_of(from));
}

}  // namespace octet::quant
