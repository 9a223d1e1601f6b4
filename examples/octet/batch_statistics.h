// Batch normalization statistics in fine-tuning.
#pragma once

#include <memory>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/evaluate.h>

#include "loss_options.h"

namespace octet::program {

/// Returns whether re-estimated running statistics fit `data` worse: the loss
/// on these samples rises by over 10 %. Training that normalizes by batch then
/// ruins the model at any learning rate, because such batches differ from the
/// original training data.
bool reestimation_costs(const Model& model, const Dataset& data,
                        const Measured& by,
                        const train::BatchStatisticsOptions& options);

/// Freezes all running statistics. Returns the layers whose statistics were not
/// frozen before.
std::vector<std::shared_ptr<Layer>> freeze_statistics(Model& model);

}  // namespace octet::program
