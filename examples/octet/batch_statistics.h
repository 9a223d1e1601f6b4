// Statistics of batch normalization while a trained model is fine-tuned.
#pragma once

#include <memory>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/batch_statistics.h>

#include "loss_options.h"

namespace octet::program {

/// Returns whether the model has moving statistics that fit worse after
/// re-estimation from `data`: the loss on these samples rises by over 10 %.
/// Training that normalizes by batches then ruins the model at any learning
/// rate, as such batches are unlike those of the original training.
bool reestimation_costs(const Model& model, const Dataset& data,
                        const Measured& by,
                        const train::BatchStatisticsOptions& options);

/// Freezes the statistics of batch normalization. Returns the layers that had
/// moving ones.
std::vector<std::shared_ptr<Layer>> freeze_statistics(Model& model);

}  // namespace octet::program
