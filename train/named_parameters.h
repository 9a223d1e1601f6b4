// The parameters of a model under the names that checkpoints give them.
// Internal to train.
#pragma once

#include <string>
#include <vector>

#include <octet/layers/model.h>

namespace octet::train {

struct NamedParameter {
  /// "conv1/kernel:0", of the float model, so that the names of a layer's
  /// parameters and those of layers in it cannot meet.
  std::string name;
  Parameter parameter;
};

/// Each once, in the order of Model::parameters().
std::vector<NamedParameter> named_parameters(const Model& model);

}  // namespace octet::train
