// Parameters of a model by name, as in PyTorch.
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/model.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

std::string parameter_path(const Layer& layer, const Parameter& parameter) {
  return layer.name() + "." + parameter.name;
}

void expect_fitting_value(const std::string& name, const Variable& target,
                          const Tensor& value) {
  if (!value.empty() && value.shape() == target.shape() &&
      value.dtype() == target.value().dtype()) {
    return;
  }
  throw ShapeError(
      "shape_mismatch", fmt::format("state '{}'", name),
      fmt::format("must be {} {}, got {}", to_string(target.value().dtype()),
                  target.shape().to_string(),
                  value.empty() ? std::string("an empty tensor")
                                : fmt::format("{} {}", to_string(value.dtype()),
                                              value.shape().to_string())));
}

}  // namespace

std::vector<std::pair<std::string, Variable>> Model::named_parameters() const {
  std::vector<std::pair<std::string, Variable>> result;
  std::unordered_set<uint64_t> known;
  for (const auto& layer : layers_) {
    for (const Parameter& p : layer->parameters()) {
      if (!p.trainable || !known.insert(p.variable.id()).second) continue;
      result.emplace_back(parameter_path(*layer, p), p.variable);
    }
  }
  return result;
}

StateDict Model::state_dict() const {
  StateDict state;
  for (const auto& layer : layers_) {
    for (const Parameter& p : layer->parameters()) {
      state.emplace(parameter_path(*layer, p), p.variable.value());
    }
  }
  return state;
}

void Model::load_state_dict(const StateDict& state, StateMatch match) {
  std::vector<std::pair<Variable, Tensor>> assignments;
  std::vector<std::string> names;
  for (const auto& layer : layers_) {
    for (const Parameter& p : layer->parameters()) {
      names.push_back(parameter_path(*layer, p));
      const auto found = state.find(names.back());
      if (found == state.end()) {
        if (match == StateMatch::partial) continue;
        throw NotFoundError(
            "missing_value", fmt::format("state '{}'", names.back()),
            "not in the state. Hint: StateMatch::partial leaves it unchanged");
      }
      expect_fitting_value(found->first, p.variable, found->second);
      assignments.emplace_back(p.variable, found->second);
    }
  }
  for (const auto& [name, value] : state) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw NotFoundError("unknown_name", fmt::format("state '{}'", name),
                        fmt::format("model '{}' has no such parameter{}",
                                    this->name(), suggest_names(name, names)));
  }
  for (const auto& [target, value] : assignments) target.assign(value);
}

}  // namespace octet
