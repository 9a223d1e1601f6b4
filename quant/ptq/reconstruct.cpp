// AdaRound and block reconstruction: joint optimization of the rounding of a
// unit's weights (units.h).
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/detail/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/detail/calibration_steps.h>
#include <octet/quant/post_training.h>
#include <octet/quant/sensitivity.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/progress_line.h>
#include <octet/runtime/detail/tensor_parts.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops/arithmetic.h>
#include <octet/runtime/ops/nn.h>
#include <octet/runtime/rng.h>

#include "calibration/signal_noise.h"
#include "calibration/steps.h"
#include "ptq/linear_layers.h"
#include "ptq/soft_rounding.h"
#include "ptq/units.h"

namespace octet::quant {
namespace {

// Samples per iteration.
constexpr int64_t kBatch = 32;
// Share of the iterations before the regularizer starts, and its range of beta.
constexpr double kWarmStart = 0.2;
constexpr double kFirstBeta = 20;
constexpr double kLastBeta = 2;

// A weight of the copy with learned rounding.
struct LearnedWeight {
  size_t report;  // index in result_
  std::shared_ptr<Quantizer> quantizer;
  Variable variable;
  Variable original;  // the model's weight
  SoftRounding rounding;
};

// Quantized inputs of a unit, and its outputs in the float model.
struct UnitSamples {
  std::vector<Tensor> inputs, outputs;
};

class Reconstruction {
 public:
  Reconstruction(const char* subject, Model& model, UnitKind kind,
                 const Dataset& samples, const PostTrainingOptions& options)
      : subject_(subject),
        model_(model),
        copy_(model.clone()),
        units_(units_of(model, kind)),
        samples_(samples),
        options_(options) {
    // Only weights being learned need gradients.
    copy_.set_trainable(false);
    for (const auto& layer : copy_.layers()) {
      for (const Parameter& p : layer->parameters()) ++owners_[p.variable.id()];
    }
    for (const auto& node : copy_.nodes()) ++calls_[node->layer.get()];
  }

  std::vector<LayerRounding> run() {
    ProgressLine progress(subject_, std::ssize(units_) * options_.iterations);
    std::vector<LearnedWeight> learned;
    for (const Unit& unit : units_) {
      std::vector<LearnedWeight> weights = weights_of(unit);
      if (weights.empty()) {
        progress.advance(options_.iterations);
      } else {
        learn(unit, weights, progress);
        std::ranges::move(weights, std::back_inserter(learned));
      }
    }
    // Errors before this point leave the model unchanged.
    for (const LearnedWeight& each : learned) {
      each.original.assign(each.variable.value());
    }
    return result_;
  }

 private:
  // Returns the weights to learn. Adds reports of their layers and of skipped
  // ones.
  std::vector<LearnedWeight> weights_of(const Unit& unit) {
    std::map<const Layer*, int64_t> calls;
    for (const size_t i : unit.nodes) ++calls[copy_.nodes()[i]->layer.get()];
    std::vector<LearnedWeight> result;
    for (const size_t i : unit.nodes) {
      const Layer& layer = *copy_.nodes()[i]->layer;
      const BaseQuantizeWrapper* wrapper = as_wrapper(layer);
      std::vector<PlacedQuantizer> placed;
      if (wrapper != nullptr) {
        std::ranges::copy_if(
            wrapper->weights(), std::back_inserter(placed),
            [](const PlacedQuantizer& q) { return q.quantizer->enabled(); });
      }
      if (placed.empty() && layer.facts().role != LayerRole::linear) continue;
      if (!reported_.insert(&layer).second) continue;
      const std::string& name = float_layer(layer).name();
      result_.push_back({.layer = name, .skipped = {}});
      std::string& skipped = result_.back().skipped;
      if (placed.empty()) {
        skipped = "its weights are not quantized";
      } else if (calls[&layer] < calls_[&layer]) {
        skipped = "it is called in several units";
      }
      for (const Parameter& p : layer.parameters()) {
        if (owners_[p.variable.id()] == 1) continue;
        skipped = fmt::format("its {} is shared with other layers", p.name);
      }
      if (!skipped.empty()) continue;
      for (const PlacedQuantizer& q : placed) {
        const Parameter& p = layer.parameter(q.site.parameter);
        const Tensor& w = p.variable.value();
        if (!std::ranges::all_of(w.f32(),
                                 [](float v) { return std::isfinite(v); })) {
          refuse_not_finite(subject_, name);
        }
        result.push_back(
            {.report = result_.size() - 1,
             .quantizer = q.quantizer,
             .variable = p.variable,
             .original = model_.nodes()[i]->layer->parameter(p.name).variable,
             .rounding =
                 SoftRounding(w, q.quantizer->qparams(w, p.channel_axis))});
      }
    }
    return result;
  }

  // Returns the outputs for all samples.
  std::vector<Tensor> run(const Model& model) const {
    std::vector<Tensor> result;
    for (int64_t at = 0; at < samples_.size(); at += options_.batch_size) {
      const int64_t count = std::min(options_.batch_size, samples_.size() - at);
      const auto some = model.predict(samples_.batch(at, count).inputs);
      for (size_t k = 0; k < some.size(); ++k) {
        if (at == 0) {
          result.emplace_back(some[k].shape().with(0, samples_.size()));
        }
        std::ranges::copy(some[k].f32(), result[k].f32().begin() +
                                             at * (some[k].size() / count));
      }
    }
    return result;
  }

  UnitSamples samples_of(const Unit& unit) {
    UnitSamples result{.inputs = run(prefix_model(copy_, unit)), .outputs = {}};
    const SwitchedOff off(model_);
    result.outputs = run(block_model(model_, unit));
    return result;
  }

  void learn(const Unit& unit, std::vector<LearnedWeight>& weights,
             ProgressLine& progress) {
    const UnitSamples samples = samples_of(unit);
    const Model part = extract_unit(copy_, unit);
    for (const LearnedWeight& each : weights) {
      each.quantizer->set_enabled(false);
      each.variable.set_requires_grad(true);
      each.variable.assign(each.rounding.nearest());
    }
    const SignalNoise nearest = compare(part, samples, weights);
    SignalNoise learned = nearest;
    if (nearest.noise > 0) {
      descend(part, samples, nearest.noise, weights, unit.nodes[0], progress);
      for (const LearnedWeight& each : weights) {
        each.variable.assign(each.rounding.rounded());
      }
      learned = compare(part, samples, weights);
    }
    const bool better = learned.noise < nearest.noise;
    const double signal = nearest.signal > 0 ? nearest.signal : 1;
    for (const LearnedWeight& each : weights) {
      const Tensor at_nearest = each.rounding.nearest();
      if (!better) each.variable.assign(at_nearest);
      LayerRounding& report = result_[each.report];
      report.nearest_error = nearest.noise / signal;
      report.error = (better ? learned : nearest).noise / signal;
      const auto now = each.variable.value().f32();
      const auto then = at_nearest.f32();
      for (size_t i = 0; i < now.size(); ++i) {
        report.changed += now[i] != then[i] ? 1 : 0;
      }
      each.variable.set_requires_grad(false);
      each.quantizer->set_enabled(true);
    }
  }

  // Compares the unit's current outputs with the float model's.
  SignalNoise compare(const Model& part, const UnitSamples& samples,
                      const std::vector<LearnedWeight>& weights) const {
    const std::vector<Tensor> outputs = part.predict(samples.inputs);
    SignalNoise result;
    for (size_t k = 0; k < outputs.size(); ++k) {
      result.add(samples.outputs[k], outputs[k]);
    }
    if (!std::isfinite(result.signal) || !std::isfinite(result.noise)) {
      refuse_not_finite(subject_, result_[weights[0].report].layer);
    }
    return result;
  }

  // Loss, times the number of weights: squared error relative to nearest
  // rounding, plus lambda times the mean regularizer.
  void descend(const Model& part, const UnitSamples& samples, double nearest,
               std::vector<LearnedWeight>& weights, uint64_t stream,
               ProgressLine& progress) const {
    const int64_t n = samples_.size();
    const int64_t size = std::min(kBatch, n);
    double count = 0;
    for (const LearnedWeight& each : weights) {
      count += static_cast<double>(each.rounding.size());
    }
    Rng rng = Rng(options_.seed).child(stream);
    std::vector<int64_t> order;
    for (int64_t i = 0; i < options_.iterations; ++i) {
      if (std::ssize(order) < size) order = rng.permutation(n);
      const std::vector<int64_t> places(order.end() - size, order.end());
      order.resize(order.size() - places.size());
      std::vector<Variable> inputs;
      for (const Tensor& x : samples.inputs) {
        inputs.emplace_back(rows_at(x, places));
      }
      for (const LearnedWeight& each : weights) {
        each.variable.assign(each.rounding.soft());
        each.variable.zero_grad();
      }
      const std::vector<Variable> outputs = part(inputs);
      Variable loss;
      for (size_t k = 0; k < outputs.size(); ++k) {
        const Tensor& y = samples.outputs[k];
        const Variable error =
            scale_shift(mean_squared_error(outputs[k], rows_at(y, places)),
                        static_cast<float>(
                            count * static_cast<double>(y.size()) / nearest));
        loss = loss ? add(loss, error) : error;
      }
      // Without a gradient, as behind a step function, keep nearest rounding.
      if (!loss.requires_grad()) break;
      loss.backward();
      const double done =
          static_cast<double>(i) / static_cast<double>(options_.iterations);
      const double annealed = (done - kWarmStart) / (1 - kWarmStart);
      for (LearnedWeight& each : weights) {
        each.rounding.step(each.variable.grad(),
                           annealed < 0 ? 0 : options_.lambda,
                           kFirstBeta + annealed * (kLastBeta - kFirstBeta));
      }
      progress.advance(1);
    }
  }

  const char* subject_;
  Model& model_;
  Model copy_;
  std::vector<Unit> units_;  // node indices are valid in model and copy
  const Dataset& samples_;
  const PostTrainingOptions& options_;
  std::map<uint64_t, int>
      owners_;  // number of owners, by parameter id of the copy
  std::map<const Layer*, int64_t> calls_;
  std::set<const Layer*> reported_;
  std::vector<LayerRounding> result_;
};

std::vector<LayerRounding> reconstruct(const char* subject, Model& model,
                                       UnitKind kind, const Dataset& data,
                                       const PostTrainingOptions& options) {
  expect_calibrated(subject, model);
  expect_fixed_weights(subject, model);
  if (options.iterations < 1) {
    throw ValueError(
        "out_of_range", subject,
        fmt::format("iterations must be >= 1, got {}", options.iterations));
  }
  if (!(options.lambda >= 0) || std::isinf(options.lambda)) {
    throw ValueError(
        "out_of_range", subject,
        fmt::format("lambda must be finite and >= 0, got {}", options.lambda));
  }
  expect_batch_size(subject, options.batch_size);
  const Dataset samples = calibration_samples(data_for(subject, model, data),
                                              options.samples, options.seed);
  return Reconstruction(subject, model, kind, samples, options).run();
}

}  // namespace

std::vector<LayerRounding> adaround(Model& model, const Dataset& data,
                                    const PostTrainingOptions& options) {
  return reconstruct("adaround", model, UnitKind::layer, data, options);
}

std::vector<LayerRounding> reconstruct_blocks(
    Model& model, const Dataset& data, const PostTrainingOptions& options) {
  return reconstruct("reconstruct_blocks", model, UnitKind::block, data,
                     options);
}

}  // namespace octet::quant
