#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/detail/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/runtime/error.h>
#include <octet/train/data_loader.h>
#include <octet/train/evaluate.h>

#include "checks.h"

namespace octet::train {
namespace {

/// Averages statistics during its lifetime. The destructor restores all other
/// state that training passes change, and the statistics unless keep() was
/// called.
class Averaging {
 public:
  explicit Averaging(Model& model)
      : model_(model), passes_(model.training_passes()) {
    for (const auto& layer : model.layers()) {
      if (!layer->average_statistics(true)) continue;
      ++layers_;
      for (const Parameter& p : layer->parameters()) {
        if (p.trainable) continue;
        before_.emplace_back(p.variable, p.variable.value().clone());
      }
    }
  }
  ~Averaging() {
    for (const auto& layer : model_.layers()) layer->average_statistics(false);
    model_.set_training_passes(passes_);
    if (kept_) return;
    for (const auto& [variable, value] : before_) variable.assign(value);
  }
  Averaging(const Averaging&) = delete;
  Averaging& operator=(const Averaging&) = delete;

  int64_t layers() const { return layers_; }
  void keep() { kept_ = true; }

 private:
  Model& model_;
  uint64_t passes_;
  int64_t layers_ = 0;
  bool kept_ = false;
  std::vector<std::pair<Variable, Tensor>> before_;
};

/// Layers would skip values that are not finite, but count their batch.
void expect_finite(std::string_view what, const Tensor& values, int64_t first) {
  if (all_finite(values)) return;
  throw ValueError("not_finite", "update_batch_statistics",
                   fmt::format("{} of the batch after {} samples are not "
                               "finite",
                               what, first));
}

}  // namespace

int64_t update_batch_statistics(Model& model, const Dataset& data,
                                const BatchStatisticsOptions& options) {
  const char* const subject = "update_batch_statistics";
  check_positive(subject, "batch_size", options.batch_size);
  check_not_negative(subject, "samples", options.samples);
  const Dataset matched = data_for(subject, model, data);
  quant::expect_calibrated(subject, model);
  const Dataset chosen =
      options.samples > 0
          ? matched.sample(options.samples, {.seed = options.seed})
          : matched;
  const quant::ObservingPaused paused(model);
  const NoGradGuard no_grad;
  Averaging averaging(model);
  if (averaging.layers() == 0) return 0;
  int64_t seen = 0;
  for (const Batch& batch : EpochLoader(
           chosen, {.batch_size = options.batch_size, .seed = options.seed})) {
    for (const Tensor& input : batch.inputs) {
      expect_finite("inputs", input, seen);
    }
    const std::vector<Variable> inputs(batch.inputs.begin(),
                                       batch.inputs.end());
    for (const Variable& output : model(inputs, Mode::training)) {
      expect_finite("outputs", output.value(), seen);
    }
    seen += batch.size();
  }
  averaging.keep();
  return averaging.layers();
}

}  // namespace octet::train
