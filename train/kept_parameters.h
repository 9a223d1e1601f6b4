// Values of parameters that a callback keeps, and puts back later. Internal to
// train.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/train/training_state.h>

namespace octet::train {

struct KeptParameter {
  std::string name;
  Variable variable;
  Tensor value;  ///< the callback's own
};
using KeptParameters = std::vector<KeptParameter>;

/// Copies of every parameter, statistics too.
KeptParameters keep_parameters(const Model& model);
/// Copies of those that training moves.
KeptParameters keep_trained_parameters(const Model& model);

/// Gives the parameters the values that were kept.
void put_back(const KeptParameters& kept);

/// Copies of the values of every parameter, statistics and moving scales too,
/// by their names; and back, into those parameters that the model has by then:
/// a scale that follows training has none before its first step.
NamedTensors copy_values(const Model& model);
void assign_values(Model& model, const NamedTensors& values);
/// Copies of values that a checkpoint has of `model`.
/// Throws: ValueError naming `subject` and a parameter without a value of its
/// shape.
NamedTensors checked_values(std::string_view subject, const Model& model,
                            const NamedTensors& tensors);

/// The values by their names.
NamedTensors tensors_of(const KeptParameters& kept);
/// Takes the values from `tensors`, as tensors_of() gave them.
/// Throws: ValueError naming `subject` and a parameter that has none there.
void read_tensors(std::string_view subject, const NamedTensors& tensors,
                  KeptParameters& kept);

}  // namespace octet::train
