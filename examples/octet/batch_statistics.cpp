#include "batch_statistics.h"

#include <octet/runtime/error.h>
#include <octet/train/evaluate.h>

namespace octet::program {

bool reestimation_costs(const Model& model, const Dataset& data,
                        const Measured& by,
                        const train::BatchStatisticsOptions& options) {
  constexpr double kRise = 1.1;
  const train::EvaluateOptions how{.loss = by.loss, .verbose = false};
  Model copy = model.clone();
  try {
    if (train::update_batch_statistics(copy, data, options) == 0) return false;
  } catch (const ValueError&) {
    return true;  // statistics are not finite
  }
  const double before = train::evaluate(model, data, how).loss;
  return !(train::evaluate(copy, data, how).loss <= kRise * before);
}

std::vector<std::shared_ptr<Layer>> freeze_statistics(Model& model) {
  std::vector<std::shared_ptr<Layer>> frozen;
  for (const auto& layer : model.layers()) {
    if (layer->statistics_frozen()) continue;
    layer->freeze_statistics(true);
    if (layer->statistics_frozen()) frozen.push_back(layer);
  }
  return frozen;
}

}  // namespace octet::program
