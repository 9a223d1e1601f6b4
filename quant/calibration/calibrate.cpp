#include <optional>

#include <octet/layers/detail/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/detail/calibration_steps.h>
#include <octet/runtime/error.h>
#include <octet/runtime/quantization.h>

#include "calibration/steps.h"

namespace octet::quant {

std::vector<CalibratedRange> calibrate(
    Model& model, const std::function<void(const Model&)>& forward,
    const CalibrationOptions& options) {
  check_calibration(model);
  const Quantizers observing = activation_ranges(model);
  const std::vector<WeightScales> weights =
      scales_of_weights(model, options.weights);
  const SwitchedOff off(model);
  for (const auto& quantizer : observing) quantizer->start_observing(options);
  {
    const NoGradGuard no_grad;
    forward(model);
  }
  expect_ranges(observing);
  for (const WeightScales& weight : weights) weight.put_in_place();
  std::vector<CalibratedRange> result;
  for (const auto& quantizer : observing) {
    const float range = *quantizer->finish_observing();
    result.push_back({quantizer->name(), range, *quantizer->scale(),
                      range < kSmallestRange});
  }
  for (const CalibratedRange& range : result) {
    if (range.all_zero) warn_of_zeros(range.quantizer);
  }
  return result;
}

std::vector<CalibratedRange> calibrate(Model& model, const Dataset& data,
                                       const CalibrationOptions& options) {
  const Dataset samples = calibration_samples(model, data, options);
  return calibrate(
      model,
      [&](const Model& m) {
        expect_varied(m, run_samples(m, samples, options.batch_size));
      },
      options);
}

Dataset calibration_samples(const Model& model, const Dataset& data,
                            const CalibrationOptions& options) {
  check_batch_size(options.batch_size);
  return calibration_samples(data_for("calibrate", model, data),
                             options.samples, options.seed);
}

}  // namespace octet::quant
