// Saved parameter values, which callbacks restore later. Internal to train.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/train/fit.h>

namespace octet::train {

struct KeptParameter {
  std::string name;
  Variable variable;
  Tensor value;  ///< copy
};
using KeptParameters = std::vector<KeptParameter>;

/// Copies all parameters, including statistics.
KeptParameters keep_parameters(const Model& model);
/// Copies the trained parameters.
KeptParameters keep_trained_parameters(const Model& model);

/// Assigns the saved values to the parameters.
void put_back(const KeptParameters& kept);

/// Copies the values of all parameters, statistics and trained scales, by name.
NamedTensors copy_values(const Model& model);
/// Assigns values by name. Skips parameters without a value: running scales do
/// not exist before the first step.
void assign_values(Model& model, const NamedTensors& values);
/// Copies values of `model` from a checkpoint.
/// Throws: ValueError of `subject` if a parameter has no value of its shape.
NamedTensors checked_values(std::string_view subject, const Model& model,
                            const NamedTensors& tensors);

/// Returns the values by name.
NamedTensors tensors_of(const KeptParameters& kept);
/// Replaces the values by a result of tensors_of().
/// Throws: ValueError of `subject` if a parameter has no value.
void read_tensors(std::string_view subject, const NamedTensors& tensors,
                  KeptParameters& kept);

}  // namespace octet::train
