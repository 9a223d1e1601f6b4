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

/// The values by their names.
NamedTensors tensors_of(const KeptParameters& kept);
/// Takes the values from `tensors`, as tensors_of() gave them.
/// Throws: ValueError naming `subject` and a parameter that has none there.
void read_tensors(std::string_view subject, const NamedTensors& tensors,
                  KeptParameters& kept);

}  // namespace octet::train
