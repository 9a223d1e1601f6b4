// Loss and gradients of a batch, for short trainings without fit(). Internal to
// train.
#pragma once

#include <cmath>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/ops.h>

#include "loop/trained_outputs.h"

namespace octet::train {

/// Returns the loss of a batch in training, with regularization, and adds the
/// gradients of the model's parameters if the loss is finite.
inline double loss_and_gradients(Model& model, const Batch& batch,
                                 const TrainedOutputs& trained) {
  const std::vector<Variable> inputs(batch.inputs.begin(), batch.inputs.end());
  Variable total = trained.loss(model(inputs, Mode::training), batch).mean;
  if (const Variable more = model.regularization_loss()) total = total + more;
  const double value = total.value().item();
  if (std::isfinite(value)) total.backward();
  return value;
}

}  // namespace octet::train
