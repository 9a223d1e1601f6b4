#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include <octet/layers/detail/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/detail/calibration_steps.h>
#include <octet/quant/post_training.h>
#include <octet/runtime/detail/progress_line.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "calibration/steps.h"
#include "ptq/linear_layers.h"
#include "ptq/second_order.h"

namespace octet::quant {
namespace {

using Eigen::MatrixXd;
using Eigen::MatrixXf;
using RowsMap = Eigen::Map<const Eigen::Matrix<float, -1, -1, Eigen::RowMajor>>;

// Returns the sum of x x^T over all rows x, per group.
std::vector<MatrixXd> second_moments(const Model& model,
                                     const LinearLayer& layer,
                                     const Dataset& samples,
                                     int64_t batch_size) {
  const LinearPart& part = *layer.part;
  std::vector<MatrixXd> result(static_cast<size_t>(part.groups()),
                               MatrixXd::Zero(part.inputs(), part.inputs()));
  for_each_input(model, layer, samples, batch_size, [&](const Tensor& rows) {
    const RowsMap all(rows.f32().data(), rows.shape()[0], rows.shape()[1]);
    parallel_for(part.groups(), [&](int64_t g) {
      // A few rows at a time, as they are converted to double.
      constexpr int64_t kRows = 1024;
      for (int64_t at = 0; at < all.rows(); at += kRows) {
        const int64_t count = std::min(kRows, int64_t{all.rows()} - at);
        const MatrixXd x =
            all.block(at, g * part.inputs(), count, part.inputs())
                .cast<double>();
        result[static_cast<size_t>(g)]
            .selfadjointView<Eigen::Lower>()
            .rankUpdate(x.transpose());
      }
    });
  });
  for (MatrixXd& H : result) {
    H = MatrixXd(H.selfadjointView<Eigen::Lower>());
    if (!H.allFinite()) refuse_not_finite("round_weights", layer.name());
  }
  return result;
}

LayerRounding round_layer(const Model& model, const LinearLayer& layer,
                          const Dataset& samples,
                          const PostTrainingOptions& options) {
  const LinearPart& part = *layer.part;
  const auto moments =
      second_moments(model, layer, samples, options.batch_size);
  const Tensor& kernel = part.kernel().variable.value();
  const QuantParams qparams =
      layer.weight->qparams(kernel, part.kernel().channel_axis);
  const ElementScales scale_of(kernel.shape(), qparams);

  LayerRounding result{.layer = layer.name(), .skipped = {}};
  Tensor rounded(kernel.shape());
  double signal = 0;
  for (int64_t g = 0; g < part.groups(); ++g) {
    const MatrixXd& H = moments[static_cast<size_t>(g)];
    MatrixXd weights(part.inputs(), part.outputs());
    MatrixXd nearest(part.inputs(), part.outputs());
    MatrixXd scales(part.inputs(), part.outputs());
    for (int64_t m = 0; m < part.outputs(); ++m) {
      for (int64_t k = 0; k < part.inputs(); ++k) {
        const size_t at = part.element(g, k, m);
        const float w = kernel.f32()[at];
        if (!std::isfinite(w)) refuse_not_finite("round_weights", layer.name());
        weights(k, m) = w;
        scales(k, m) = scale_of[at];
        nearest(k, m) = quantize(w, scale_of[at], qparams.low, qparams.high);
      }
    }
    const auto sum = [](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.end(), 0.0);
    };
    const MatrixXd codes = round_second_order(
        H, weights, scales, {qparams.low, qparams.high}, options.damping);
    result.nearest_error += sum(output_errors(H, weights, scales, nearest));
    result.error += sum(output_errors(H, weights, scales, codes));
    signal += sum(output_errors(H, weights, scales, 0 * codes));
    for (int64_t m = 0; m < part.outputs(); ++m) {
      for (int64_t k = 0; k < part.inputs(); ++k) {
        const size_t at = part.element(g, k, m);
        rounded.f32()[at] = scale_of[at] * static_cast<float>(codes(k, m));
        result.changed += codes(k, m) != nearest(k, m) ? 1 : 0;
      }
    }
  }
  if (signal > 0) {
    result.nearest_error /= signal;
    result.error /= signal;
  }
  Variable(part.kernel().variable).assign(rounded);
  return result;
}

}  // namespace

std::vector<LayerRounding> round_weights(Model& model, const Dataset& data,
                                         const PostTrainingOptions& options) {
  expect_calibrated("round_weights", model);
  if (!(options.damping >= 0 && options.damping <= 1)) {
    throw ValueError(
        "out_of_range", "round_weights",
        fmt::format("damping must be in [0,1], got {}", options.damping));
  }
  expect_batch_size("round_weights", options.batch_size);
  expect_fixed_weights("round_weights", model);
  const std::vector<LinearLayer> layers = linear_layers(model);
  const Dataset samples = calibration_samples(
      data_for("round_weights", model, data), options.samples, options.seed);
  ProgressLine progress("round_weights", static_cast<int64_t>(layers.size()));
  std::vector<LayerRounding> result;
  for (const LinearLayer& layer : layers) {
    std::string skipped = layer.skipped;
    if (skipped.empty() &&
        (layer.weight == nullptr || !layer.weight->enabled())) {
      skipped = "its weights are not quantized";
    }
    result.push_back(
        skipped.empty()
            ? round_layer(model, layer, samples, options)
            : LayerRounding{.layer = layer.name(), .skipped = skipped});
    progress.advance(1);
  }
  return result;
}

}  // namespace octet::quant
