#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/layers/detail/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/detail/calibration_steps.h>
#include <octet/quant/post_training.h>
#include <octet/runtime/detail/progress_line.h>
#include <octet/runtime/error.h>

#include "calibration/steps.h"
#include "ptq/linear_layers.h"

namespace octet::quant {
namespace {

// Returns the mean outputs of the layer's product, without the bias. By
// linearity, the mean inputs suffice.
std::vector<double> mean_outputs(const Model& model, const LinearLayer& layer,
                                 const Dataset& samples, int64_t batch_size) {
  const LinearPart& part = *layer.part;
  std::vector<double> mean(static_cast<size_t>(part.groups() * part.inputs()));
  int64_t count = 0;
  for_each_input(model, layer, samples, batch_size, [&](const Tensor& rows) {
    const auto values = rows.f32();
    for (size_t i = 0; i < values.size(); ++i) {
      mean[i % mean.size()] += values[i];
    }
    count += rows.shape()[0];
  });
  for (double& m : mean) {
    m /= static_cast<double>(count);
    if (!std::isfinite(m)) refuse_not_finite("correct_biases", layer.name());
  }
  const Parameter& kernel = part.kernel();
  const NoGradGuard no_grad;
  const Variable weights =
      layer.weight == nullptr
          ? kernel.variable
          : layer.weight->weight(kernel.variable, kernel.channel_axis);
  const auto w = weights.value().f32();
  std::vector<double> result;
  for (int64_t g = 0; g < part.groups(); ++g) {
    for (int64_t m = 0; m < part.outputs(); ++m) {
      double sum = 0;
      for (int64_t k = 0; k < part.inputs(); ++k) {
        sum += mean[static_cast<size_t>(g * part.inputs() + k)] *
               w[part.element(g, k, m)];
      }
      result.push_back(sum);
    }
  }
  return result;
}

}  // namespace

std::vector<LayerBias> correct_biases(Model& model, const Dataset& data,
                                      const PostTrainingOptions& options) {
  expect_calibrated("correct_biases", model);
  if (!is_quantized(model)) {
    throw ValueError(
        "not_quantized", "correct_biases",
        fmt::format(
            "model '{}' has no quantizers. Hint: run quantize_model first",
            model.name()));
  }
  expect_batch_size("correct_biases", options.batch_size);
  const Dataset samples = calibration_samples(
      data_for("correct_biases", model, data), options.samples, options.seed);
  const std::vector<LinearLayer> layers = linear_layers(model);
  std::vector<LayerBias> result;
  std::vector<std::vector<double>> wanted;
  ProgressLine progress("correct_biases",
                        2 * static_cast<int64_t>(layers.size()));
  {
    const SwitchedOff off(model);
    for (const LinearLayer& layer : layers) {
      std::string skipped = layer.skipped;
      if (skipped.empty() && layer.part->bias() == nullptr) {
        skipped = "it has no bias";
      }
      const BaseQuantizeWrapper* wrapper = as_wrapper(*layer.layer);
      if (skipped.empty() && wrapper != nullptr &&
          wrapper->find(QdqSite::weight("bias")) != nullptr) {
        skipped = "its bias is quantized";
      }
      result.push_back({.layer = layer.name(), .skipped = skipped});
      wanted.push_back(skipped.empty() ? mean_outputs(model, layer, samples,
                                                      options.batch_size)
                                       : std::vector<double>());
      progress.advance(1);
    }
  }
  // Preceding layers are already corrected here; the float means above used the
  // same original biases.
  for (size_t i = 0; i < layers.size(); ++i) {
    progress.advance(1);
    if (!result[i].skipped.empty()) continue;
    const std::vector<double> means =
        mean_outputs(model, layers[i], samples, options.batch_size);
    Variable bias = layers[i].part->bias()->variable;
    Tensor corrected = bias.value().clone();
    for (size_t c = 0; c < means.size(); ++c) {
      const double shift = wanted[i][c] - means[c];
      corrected.f32()[c] = static_cast<float>(corrected.f32()[c] + shift);
      result[i].largest_shift =
          std::max(result[i].largest_shift, std::fabs(shift));
    }
    bias.assign(corrected);
  }
  return result;
}

}  // namespace octet::quant
