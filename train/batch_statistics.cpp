#include <algorithm>
#include <optional>

#include <octet/quant/qat.h>
#include <octet/train/batch_statistics.h>
#include <octet/train/loader.h>

#include "checks.h"

namespace octet::train {
namespace {

int64_t set_momentum(const Model& model, std::optional<float> momentum) {
  return std::ranges::count_if(model.layers(), [&](const auto& layer) {
    return layer->set_statistics_momentum(momentum);
  });
}

/// Puts back what passes in training change beside the statistics.
class Restored {
 public:
  explicit Restored(Model& model)
      : model_(model), passes_(model.training_passes()) {}
  ~Restored() {
    model_.set_training_passes(passes_);
    set_momentum(model_, std::nullopt);
  }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  Model& model_;
  uint64_t passes_;
};

}  // namespace

int64_t update_batch_statistics(Model& model, const Dataset& data,
                                const BatchStatisticsOptions& options) {
  const char* const subject = "update_batch_statistics";
  check_positive(subject, "batch_size", options.batch_size);
  check_not_negative(subject, "samples", options.samples);
  check_data(subject, model, data);
  quant::expect_calibrated(subject, model);
  const Dataset chosen =
      options.samples > 0 ? data.sample(options.samples, {.seed = options.seed})
                          : data;
  const Restored restored(model);
  const quant::ObservingPaused paused(model);
  const NoGradGuard no_grad;
  int64_t layers = 0;
  int64_t seen = 0;
  for (const Batch& batch : Loader(
           chosen, {.batch_size = options.batch_size, .seed = options.seed})) {
    const int64_t count = batch.inputs.shape()[0];
    // A mean that goes on: old * seen / all + new * count / all.
    layers = set_momentum(
        model, static_cast<float>(seen) / static_cast<float>(seen + count));
    if (layers == 0) return 0;
    (void)model(Variable(batch.inputs), Mode::training).value();
    seen += count;
  }
  return layers;
}

}  // namespace octet::train
