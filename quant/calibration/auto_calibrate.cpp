#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/detail/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/detail/calibration_steps.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "calibration/accuracy.h"
#include "calibration/output_error.h"
#include "calibration/signal_noise.h"
#include "calibration/steps.h"

namespace octet::quant {
namespace {

constexpr const char* kPerTensor = "best per tensor";
constexpr double kLowest = -std::numeric_limits<double>::infinity();

// Observes with all methods at once.
class AllMethods final : public RangeObserver {
 public:
  AllMethods(const std::vector<CalibrationOptions>& methods,
             const QuantizerConfig& config) {
    for (const CalibrationOptions& method : methods) {
      observers_.push_back(make_observer(method, config));
    }
  }
  void observe(const Tensor& x) override {
    for (const auto& observer : observers_) observer->observe(x);
  }
  std::optional<float> range() const override { return observers_[0]->range(); }
  std::optional<ValueRange> range_of(size_t method) const {
    return observers_[method]->interval();
  }

 private:
  std::vector<std::unique_ptr<RangeObserver>> observers_;
};

// Measures the SQNR of a tensor for several scales.
class Measure final : public RangeObserver {
 public:
  explicit Measure(std::vector<QuantParams> candidates)
      : candidates_(std::move(candidates)), powers_(candidates_.size()) {}
  void observe(const Tensor& x) override {
    for (size_t i = 0; i < candidates_.size(); ++i) {
      powers_[i].add(x, fake_quantize(Variable(x), candidates_[i]).value());
    }
  }
  std::optional<float> range() const override { return {}; }
  const std::vector<SignalNoise>& powers() const { return powers_; }

 private:
  std::vector<QuantParams> candidates_;
  std::vector<SignalNoise> powers_;
};

// Restores quantizers on destruction unless keep() was called.
class Before {
 public:
  explicit Before(Model& model) : quantizers_(quantizers(model)) {
    for (const auto& each : quantizers_) states_.push_back(each->state());
  }
  ~Before() {
    if (kept_) return;
    for (size_t i = 0; i < states_.size(); ++i) {
      quantizers_[i]->restore(states_[i]);
    }
  }
  Before(const Before&) = delete;
  Before& operator=(const Before&) = delete;
  void keep() { kept_ = true; }

 private:
  Quantizers quantizers_;
  std::vector<Config> states_;
  bool kept_ = false;
};

void check(const AutoCalibrationOptions& options) {
  if (options.methods.empty()) {
    throw ValueError("missing_value", "auto_calibrate",
                     "methods must not be empty");
  }
  if (!(options.held_out > 0 && options.held_out < 1)) {
    throw ValueError("out_of_range", "auto_calibrate",
                     fmt::format("held_out must be in (0,1), got {}. Hint: it "
                                 "is a share of the samples",
                                 options.held_out));
  }
}

// Wrong labels, or labels counted from 1, yield accuracy at chance level.
void warn_of_chance(double accuracy, size_t classes) {
  const double chance = 1 / static_cast<double>(classes);
  if (accuracy > std::min(1.5 * chance, chance + 0.1 * (1 - chance))) return;
  warn("chance_accuracy", "auto_calibrate",
       fmt::format(
           "the float model's accuracy of {:.1f} % is hardly above chance; the "
           "labels may not belong to these samples. Hint: preprocess inputs as "
           "in training (octet: --preprocess, --resize), and number labels "
           "from 0, in the order of the outputs (--class-names)",
           100 * accuracy));
}

void warn_of_loss(const AutoCalibration& result, const CalibrationTrial& kept) {
  constexpr double kLeastDecibels = 15, kLargestDrop = 0.05;
  constexpr const char* kHint =
      "Hint: equalize() before quantize_model(), more bits, or the layers that "
      "sensitivity() names in float";
  if (!(kept.output_sqnr >= kLeastDecibels)) {
    warn("low_sqnr", "auto_calibrate",
         fmt::format("best output SQNR is {} ({}), below {:g} dB. {}",
                     decibels_text(kept.output_sqnr), kept.method,
                     kLeastDecibels, kHint));
    return;
  }
  if (!result.float_score || !kept.score) return;
  const double drop = *result.float_score - *kept.score;
  // A single sample is not evidence.
  if (drop <= kLargestDrop ||
      std::lround(drop * static_cast<double>(result.held_out)) < 2) {
    return;
  }
  warn(
      "accuracy_dropped", "auto_calibrate",
      fmt::format(
          "accuracy falls from {:.1f} to {:.1f} % with the best method, {}. {}",
          100 * *result.float_score, 100 * *kept.score, kept.method, kHint));
}

// State of a auto_calibrate() call.
class Search {
 public:
  Search(Model& model, const Dataset& samples, const Dataset& held_out,
         const AutoCalibrationOptions& options)
      : model_(model),
        samples_(samples),
        held_out_(held_out),
        options_(options),
        quantizers_(activation_ranges(model)),
        ranges_(quantizers_.size()),
        sqnr_(quantizers_.size()) {}

  AutoCalibration run();

 private:
  void collect();
  void measure();
  // Runs all held-out samples; returns the score, if defined.
  std::optional<double> score_of(std::vector<Tensor>& outputs);
  // Returns the method of a tensor in a trial; the last trial is kPerTensor.
  size_t method_of(size_t trial, size_t tensor) const;
  CalibrationTrial attempt(size_t trial);
  void set_scales(size_t trial);

  Model& model_;
  const Dataset& samples_;
  const Dataset& held_out_;
  const AutoCalibrationOptions& options_;
  Quantizers quantizers_;
  // By quantizer and method.
  std::vector<std::vector<ValueRange>> ranges_;
  std::vector<std::vector<double>> sqnr_;
  std::vector<int64_t> classes_;
  std::vector<Tensor> float_outputs_;
};

void Search::collect() {
  const SwitchedOff off(model_);
  std::vector<const AllMethods*> observers;
  for (const auto& quantizer : quantizers_) {
    quantizer->start_observing({.observer = [&] {
      auto made =
          std::make_unique<AllMethods>(options_.methods, quantizer->config());
      observers.push_back(made.get());
      return made;
    }});
  }
  expect_varied(model_, run_samples(model_, samples_, options_.batch_size));
  expect_ranges(quantizers_);
  for (size_t i = 0; i < quantizers_.size(); ++i) {
    for (size_t method = 0; method < options_.methods.size(); ++method) {
      const std::optional<ValueRange> range = observers[i]->range_of(method);
      if (!range) {
        throw ValueError("missing_value",
                         fmt::format("quantizer '{}'", quantizers_[i]->name()),
                         fmt::format("observed data, but {} returned no range",
                                     to_string(options_.methods[method])));
      }
      ranges_[i].push_back(*range);
    }
  }
}

void Search::measure() {
  const SwitchedOff off(model_);
  std::vector<const Measure*> measures;
  for (size_t i = 0; i < quantizers_.size(); ++i) {
    std::vector<QuantParams> candidates;
    for (const ValueRange range : ranges_[i]) {
      candidates.push_back(quantizers_[i]->qparams_of(range));
    }
    quantizers_[i]->start_observing({.observer = [&] {
      auto made = std::make_unique<Measure>(candidates);
      measures.push_back(made.get());
      return made;
    }});
  }
  // Not predict(), whose threads must not share observers.
  expect_varied(model_, run_samples(model_, held_out_, options_.batch_size));
  for (size_t i = 0; i < quantizers_.size(); ++i) {
    for (const SignalNoise& power : measures[i]->powers()) {
      sqnr_[i].push_back(power.decibels());
    }
  }
}

std::optional<double> Search::score_of(std::vector<Tensor>& outputs) {
  for (int64_t at = 0; at < held_out_.size(); at += options_.batch_size) {
    const int64_t count = std::min(options_.batch_size, held_out_.size() - at);
    for (Tensor& y : model_.predict(held_out_.batch(at, count).inputs)) {
      outputs.push_back(std::move(y));
    }
  }
  if (!options_.score) {
    if (classes_.empty()) return {};
    return accuracy_of(outputs, classes_);
  }
  const double score = options_.score(model_, held_out_);
  if (std::isnan(score)) {
    throw ValueError("not_finite", "auto_calibrate", "score is NaN");
  }
  return score;
}

size_t Search::method_of(size_t trial, size_t tensor) const {
  if (trial < options_.methods.size()) return trial;
  const auto& sqnr = sqnr_[tensor];
  return static_cast<size_t>(std::ranges::max_element(sqnr) - sqnr.begin());
}

void Search::set_scales(size_t trial) {
  for (size_t i = 0; i < quantizers_.size(); ++i) {
    quantizers_[i]->set_range(ranges_[i][method_of(trial, i)]);
  }
}

CalibrationTrial Search::attempt(size_t trial) {
  set_scales(trial);
  CalibrationTrial result;
  result.method = trial < options_.methods.size()
                      ? to_string(options_.methods[trial])
                      : kPerTensor;
  std::vector<Tensor> outputs;
  result.score = score_of(outputs);
  std::vector<OutputError> errors(model_.outputs().size(),
                                  OutputError(DecisionRule::none));
  for (size_t i = 0; i < outputs.size(); ++i) {
    errors[i % errors.size()].add(float_outputs_[i], outputs[i]);
  }
  std::vector<SignalNoise> powers;
  result.median_sqnr = std::numeric_limits<double>::infinity();
  for (const OutputError& error : errors) {
    powers.push_back(error.pooled());
    result.median_sqnr = std::min(result.median_sqnr, error.median_decibels());
  }
  result.output_sqnr = mean_decibels(powers);
  result.worst_sqnr = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < quantizers_.size(); ++i) {
    const double sqnr = sqnr_[i][method_of(trial, i)];
    if (i > 0 && !(sqnr < result.worst_sqnr)) continue;
    result.worst = quantizers_[i]->name();
    result.worst_sqnr = sqnr;
  }
  return result;
}

AutoCalibration Search::run() {
  if (!options_.score)
    classes_ = classes_of("auto_calibrate", model_, held_out_);
  collect();
  measure();
  AutoCalibration result{.samples = samples_.size(),
                         .held_out = held_out_.size()};
  {
    const SwitchedOff off(model_);
    result.float_score = score_of(float_outputs_);
  }
  if (!options_.score && result.float_score) {
    warn_of_chance(*result.float_score,
                   std::set(classes_.begin(), classes_.end()).size());
  }
  if (result.float_score) {
    result.score_name = options_.score ? "score" : "accuracy";
  }
  const size_t methods = options_.methods.size();
  const size_t trials = methods + (methods > 1 ? 1 : 0);
  size_t best = 0;
  const auto rank = [&](size_t trial) {
    const CalibrationTrial& t = result.trials[trial];
    const double sqnr = std::isnan(t.output_sqnr) ? kLowest : t.output_sqnr;
    // Accuracy of few samples is too coarse to select by.
    return std::pair(options_.score ? *t.score : 0, sqnr);
  };
  for (size_t trial = 0; trial < trials; ++trial) {
    result.trials.push_back(attempt(trial));
    if (rank(trial) > rank(best)) best = trial;
  }
  if (options_.warn_of_loss && !options_.score) {
    warn_of_loss(result, result.trials[best]);
  }
  set_scales(best);
  result.selected = result.trials[best].method;
  for (size_t i = 0; i < quantizers_.size(); ++i) {
    const size_t method = method_of(best, i);
    TensorCalibration& tensor = result.tensors.emplace_back();
    tensor.quantizer = quantizers_[i]->name();
    tensor.range = ranges_[i][method].magnitude();
    tensor.scale = *quantizers_[i]->scale();
    tensor.all_zero = tensor.range < kSmallestRange;
    tensor.method = to_string(options_.methods[method]);
    tensor.sqnr = sqnr_[i][method];
  }
  return result;
}

// Returns the options without entropy, which requires integers, if a quantizer
// has a floating-point format and other methods remain.
AutoCalibrationOptions for_formats(AutoCalibrationOptions options,
                                   const Model& model) {
  const bool integers =
      std::ranges::all_of(quantizers(model), [](const auto& quantizer) {
        return quantizer->config().format == NumberFormat::integer;
      });
  std::vector<CalibrationOptions> others = options.methods;
  std::erase_if(others, [](const CalibrationOptions& method) {
    return !method.observer && method.method == Calibration::entropy;
  });
  if (!integers && !others.empty()) options.methods = std::move(others);
  return options;
}

}  // namespace

std::vector<CalibrationOptions> calibration_methods() {
  const auto percentile = [](float share) {
    return CalibrationOptions{.method = Calibration::percentile,
                              .percentile = share};
  };
  return {{.method = Calibration::max}, percentile(99.9f),
          percentile(99.99f),           percentile(99.999f),
          {.method = Calibration::mse}, {.method = Calibration::entropy}};
}

AutoCalibration auto_calibrate(Model& model, const Dataset& data,
                               const AutoCalibrationOptions& given) {
  check(given);
  check_calibration(model);
  const AutoCalibrationOptions options = for_formats(given, model);
  // Validates all labels, before sampling.
  if (!options.score && data.labels_known())
    (void)classes_of("auto_calibrate", model, data);
  CheckedSamples chosen = checked_samples(
      data_for("auto_calibrate", model, data), options.samples, options.seed,
      options.check_samples ? SampleCheck::usual : SampleCheck::all);
  const HeldOut parts =
      hold_out("auto_calibrate", chosen.usual, options.held_out, options.seed);
  Before before(model);
  for (const WeightScales& weight : scales_of_weights(model, options.weights)) {
    weight.put_in_place();
  }
  AutoCalibration result =
      Search(model, parts.samples, parts.held_out, options).run();
  before.keep();
  result.same_samples = parts.same;
  result.ignored = std::move(chosen.unusual);
  for (const TensorCalibration& tensor : result.tensors) {
    if (tensor.all_zero) warn_of_zeros(tensor.quantizer);
  }
  return result;
}

}  // namespace octet::quant
