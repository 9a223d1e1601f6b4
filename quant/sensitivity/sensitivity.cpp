#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/detail/calibration_steps.h>
#include <octet/quant/sensitivity.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/progress_line.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "calibration/accuracy.h"
#include "calibration/signal_noise.h"
#include "calibration/steps.h"
#include "sensitivity/channels.h"
#include "sensitivity/reference_weights.h"
#include "sensitivity/weight_gradients.h"

namespace octet::quant {
namespace {

using Names = std::set<std::string>;

// Measures the quantization loss of a tensor.
class QuantizationErrorObserver final : public RangeObserver {
 public:
  explicit QuantizationErrorObserver(QuantParams qparams)
      : qparams_(std::move(qparams)),
        low_(qparams_.scale.item() * (static_cast<float>(qparams_.low) - 0.5f)),
        high_(qparams_.scale.item() *
              (static_cast<float>(qparams_.high) + 0.5f)) {}

  void observe(const Tensor& x) override {
    const Tensor rounded = fake_quantize(Variable(x), qparams_).value();
    power_.add(x, rounded);
    if (x.shape().rank() > 1) {
      channels_.add(x.f32(), std::as_const(rounded).f32(), 1,
                    static_cast<size_t>(x.shape()[-1]));
    }
    for (const float v : x.f32()) clipped_ += v < low_ || v > high_;
    values_ += x.size();
  }
  std::optional<float> range() const override { return {}; }

  TensorSensitivity result(const std::string& quantizer) const {
    return {.quantizer = quantizer,
            .sqnr = power_.decibels(),
            .clipped = static_cast<double>(clipped_) /
                       static_cast<double>(std::max<int64_t>(1, values_)),
            .worst_channel = channels_.worst()};
  }

 private:
  QuantParams qparams_;
  float low_, high_;
  SignalNoise power_;
  ChannelPowers channels_;
  int64_t clipped_ = 0, values_ = 0;
};

// Returns the worst input channel of a layer's weights; with per-tensor scales
// output channels count, too.
std::optional<ChannelSensitivity> worst_weights(
    const BaseQuantizeWrapper& wrapper) {
  std::optional<ChannelSensitivity> worst;
  for (const PlacedQuantizer& placed : wrapper.weights()) {
    const Parameter& p = wrapper.inner().parameter(placed.site.parameter);
    const Tensor w = p.variable.value();
    if (w.shape().rank() < 2) continue;
    const NoGradGuard no_grad;
    const Tensor rounded =
        fake_quantize(Variable(w), placed.quantizer->qparams(w, p.channel_axis))
            .value();
    const auto outputs = static_cast<size_t>(w.shape()[-1]);
    std::vector<ChannelPowers> by_axis(1);
    by_axis[0].add(w.f32(), std::as_const(rounded).f32(), outputs,
                   static_cast<size_t>(w.shape()[-2]));
    if (!placed.quantizer->config().per_channel) {
      by_axis.emplace_back().add(w.f32(), std::as_const(rounded).f32(), 1,
                                 outputs);
    }
    for (const ChannelPowers& powers : by_axis) {
      const auto found = powers.worst();
      if (found && (!worst || found->sqnr < worst->sqnr)) worst = found;
    }
  }
  return worst;
}

class Analysis {
 public:
  Analysis(const Model& model, const Dataset& data,
           const SensitivityOptions& options)
      : model_(model.clone()),
        quantizers_(quantizers(model_)),
        samples_(calibration_samples(data, options.samples, options.seed)),
        options_(options) {
    for (const auto& layer : std::as_const(model_).layers()) {
      const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
      if (wrapper != nullptr && !wrapper->quantizers().empty()) {
        wrappers_.push_back(wrapper);
      }
    }
    if (!options_.score) {
      classes_ = classes_of("sensitivity", model_, samples_);
    }
    if (options_.reference != nullptr) {
      reference_weights_ = ReferenceWeights(model_, *options_.reference);
    }
  }

  Sensitivity run() {
    Sensitivity result{.samples = samples_.size()};
    if (options_.score || !classes_.empty()) {
      result.score_name = options_.score ? "score" : "accuracy";
    }
    ProgressLine progress("sensitivity", 2 + std::ssize(wrappers_));
    switch_on([](const Quantizer&) { return false; });
    result.tensors = measure_tensors();
    exact_ =
        outputs(options_.reference == nullptr ? model_ : *options_.reference);
    result.float_score = score(exact_);
    progress.advance(1);
    switch_on([](const Quantizer&) { return true; });
    result.all = loss();
    progress.advance(1);
    for (const BaseQuantizeWrapper* wrapper : wrappers_) {
      result.layers.push_back(measure(*wrapper, result.tensors));
      progress.advance(1);
    }
    add_channels(result.layers);
    add_loss_rises(result.layers);
    return result;
  }

 private:
  template <class Which>
  void switch_on(Which which) {
    for (const auto& each : quantizers_) each->set_enabled(which(*each));
    reference_weights_.follow_quantizers();
  }

  void switch_on(const Names& names, bool on) {
    switch_on(
        [&](const Quantizer& q) { return names.contains(q.name()) == on; });
  }

  // Measures each activation in the float model.
  std::vector<TensorSensitivity> measure_tensors() {
    // Owned by their quantizers, which do not return them.
    std::map<std::string, QuantizationErrorObserver*> observers;
    const Quantizers ranges = activation_ranges(model_);
    for (const auto& each : ranges) {
      QuantizationErrorObserver*& observer = observers[each->name()];
      const QuantParams qparams = each->qparams({}, -1);
      each->start_observing({.observer = [&observer, qparams] {
        auto made = std::make_unique<QuantizationErrorObserver>(qparams);
        observer = made.get();
        return made;
      }});
    }
    const NoGradGuard no_grad;
    for (int64_t at = 0; at < samples_.size(); at += options_.batch_size) {
      const Batch batch = samples_.batch(
          at, std::min(options_.batch_size, samples_.size() - at));
      (void)model_(
          std::vector<Variable>(batch.inputs.begin(), batch.inputs.end()));
    }
    std::vector<TensorSensitivity> result;
    for (const auto& each : ranges) {
      if (each->observed()) {
        result.push_back(observers.at(each->name())->result(each->name()));
      }
      each->cancel_observing();
    }
    return result;
  }

  void add_channels(std::vector<LayerSensitivity>& layers) {
    switch_on([](const Quantizer&) { return true; });
    const GraphIndex graph(model_);
    for (size_t i = 0; i < layers.size(); ++i) {
      layers[i].weight_channel = worst_weights(*wrappers_[i]);
      const auto calls = graph.calls(*wrappers_[i]);
      layers[i].equalizable =
          graph.is_linear(*calls[0]) && is_equalizable(graph, *calls[0]);
    }
  }

  void add_loss_rises(std::vector<LayerSensitivity>& layers) {
    if (classes_.empty()) return;
    constexpr int64_t kSamples = 64;
    switch_on([](const Quantizer&) { return false; });
    const auto rises = weight_loss_rises(
        model_, samples_.take(std::min(kSamples, samples_.size())), classes_);
    for (LayerSensitivity& layer : layers) {
      const auto found = rises.find(layer.layer);
      if (found != rises.end()) layer.loss_rise = found->second;
    }
  }

  // Indexed [batch][output].
  std::vector<std::vector<Tensor>> outputs(const Model& model) const {
    std::vector<std::vector<Tensor>> result;
    for (int64_t at = 0; at < samples_.size(); at += options_.batch_size) {
      const Batch batch = samples_.batch(
          at, std::min(options_.batch_size, samples_.size() - at));
      result.push_back(model.predict(batch.inputs));
    }
    return result;
  }

  std::optional<double> score(
      const std::vector<std::vector<Tensor>>& outputs) const {
    if (options_.score) {
      const double value = options_.score(model_, samples_);
      if (std::isnan(value)) {
        throw ValueError("not_finite", "sensitivity", "score is NaN");
      }
      return value;
    }
    if (classes_.empty()) return {};
    std::vector<Tensor> of_batches;
    for (const auto& batch : outputs) of_batches.push_back(batch[0]);
    return accuracy_of(of_batches, classes_);
  }

  // Returns the loss with the enabled quantizers.
  QuantizationLoss loss() const {
    const auto now = outputs(model_);
    if (now[0].size() != exact_[0].size()) {
      throw ShapeError("count_mismatch", "sensitivity",
                       fmt::format("reference and model must have equally many "
                                   "outputs, got {} and {}",
                                   exact_[0].size(), now[0].size()));
    }
    SignalNoise power;
    for (size_t i = 0; i < now.size(); ++i) {
      for (size_t k = 0; k < now[i].size(); ++k) {
        power.add(exact_[i][k], now[i][k]);
      }
    }
    if (std::isnan(power.noise)) {
      throw ValueError("not_finite", "sensitivity",
                       "outputs of the model have NaN");
    }
    return {.sqnr = power.decibels(), .score = score(now)};
  }

  LayerSensitivity measure(const BaseQuantizeWrapper& wrapper,
                           const std::vector<TensorSensitivity>& tensors) {
    Names weights, activations;
    for (const PlacedQuantizer& placed : wrapper.weights()) {
      weights.insert(placed.quantizer->name());
    }
    for (const PlacedQuantizer& placed : wrapper.activations()) {
      activations.insert(placed.quantizer->name());
    }
    Names both = weights;
    both.insert(activations.begin(), activations.end());
    LayerSensitivity result;
    result.layer = wrapper.inner().name();
    switch_on(both, true);
    result.alone = loss();
    switch_on(both, false);
    result.without = loss();
    result.weights = part(weights, both, result.alone);
    result.activations = part(activations, both, result.alone);
    double worst = 0;
    for (const TensorSensitivity& tensor : tensors) {
      if (!activations.contains(tensor.quantizer)) continue;
      if (!result.tensor.empty() && !(tensor.sqnr < worst)) continue;
      result.tensor = tensor.quantizer;
      worst = tensor.sqnr;
    }
    return result;
  }

  std::optional<double> part(const Names& names, const Names& both,
                             const QuantizationLoss& alone) {
    if (names.empty()) return {};
    if (names.size() == both.size()) return alone.sqnr;
    switch_on(names, true);
    return loss().sqnr;
  }

  Model model_;
  Quantizers quantizers_;
  ReferenceWeights reference_weights_;
  Dataset samples_;
  SensitivityOptions options_;
  std::vector<const BaseQuantizeWrapper*> wrappers_;
  std::vector<int64_t> classes_;
  std::vector<std::vector<Tensor>> exact_;
};

}  // namespace

Sensitivity sensitivity(const Model& quantized, const Dataset& data,
                        const SensitivityOptions& options) {
  if (!is_quantized(quantized)) {
    throw ValueError(
        "not_quantized", "sensitivity",
        fmt::format("model '{}' has no quantizers. "
                    "Hint: run quantize_model() and calibrate() first",
                    quantized.name()));
  }
  if (options.batch_size < 1) {
    throw ValueError(
        "out_of_range", "sensitivity",
        fmt::format("batch_size must be >= 1, got {}", options.batch_size));
  }
  for (const auto& each : quantizers(quantized)) {
    if (each->calibrated()) continue;
    throw ValueError("not_calibrated", "sensitivity",
                     fmt::format("quantizer '{}' is not calibrated. Hint: run "
                                 "quant::calibrate first",
                                 each->name()));
  }
  return Analysis(quantized, data, options).run();
}

}  // namespace octet::quant
