#include "kept_parameters.h"

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "resume/fit_state.h"

namespace octet::train {

KeptParameters keep_parameters(const Model& model) {
  KeptParameters kept;
  for (const auto& [name, parameter] : named_parameters(model)) {
    const Variable& variable = parameter.variable;
    kept.push_back({name, variable, variable.value().clone()});
  }
  return kept;
}

KeptParameters keep_trained_parameters(const Model& model) {
  KeptParameters kept;
  for (const auto& [name, parameter] : named_parameters(model)) {
    const Variable& variable = parameter.variable;
    if (!parameter.trainable || !variable.requires_grad()) continue;
    kept.push_back({name, variable, variable.value().clone()});
  }
  return kept;
}

void put_back(const KeptParameters& kept) {
  for (const KeptParameter& each : kept) each.variable.assign(each.value);
}

NamedTensors copy_values(const Model& model) {
  return tensors_of(keep_parameters(model));
}

void assign_values(Model& model, const NamedTensors& values) {
  for (const auto& [name, parameter] : named_parameters(model)) {
    const auto found = values.find(name);
    if (found == values.end()) continue;
    Variable(parameter.variable).assign(found->second);
  }
}

NamedTensors checked_values(std::string_view subject, const Model& model,
                            const NamedTensors& tensors) {
  KeptParameters kept = keep_parameters(model);
  read_tensors(subject, tensors, kept);
  NamedTensors result;
  for (const auto& [name, value] : tensors) result.emplace(name, value.clone());
  return result;
}

NamedTensors tensors_of(const KeptParameters& kept) {
  NamedTensors tensors;
  for (const KeptParameter& each : kept) tensors.emplace(each.name, each.value);
  return tensors;
}

void read_tensors(std::string_view subject, const NamedTensors& tensors,
                  KeptParameters& kept) {
  for (KeptParameter& each : kept) {
    const auto found = tensors.find(each.name);
    if (found == tensors.end() || found->second.shape() != each.value.shape()) {
      throw ValueError(
          "missing_value", subject,
          fmt::format("the checkpoint has no value of '{}' with shape {}",
                      each.name, each.value.shape().to_string()));
    }
    each.value = found->second.clone();
  }
}

}  // namespace octet::train
