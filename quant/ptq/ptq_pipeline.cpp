#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/detail/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/post_training.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

#include "calibration/accuracy.h"
#include "calibration/output_error.h"
#include "calibration/steps.h"
#include "ptq/linear_layers.h"
#include "ptq/units.h"

namespace octet::quant {
namespace {

class Pipeline {
 public:
  Pipeline(const Dataset& samples, const Dataset& held_out,
           std::optional<double> target, const PtqPipelineOptions& options)
      : samples_(samples),
        held_out_(held_out),
        target_(target),
        options_(options) {
    QuantizerConfig& weight = options_.quantize.weight;
    if (weight.rule == ScaleRule::live) weight.rule = ScaleRule::fixed;
  }

  PtqPipeline run(const Model& model) {
    const Model folded = fold_batch_norm(model);
    float_outputs_ = outputs(folded);
    const std::optional<double> float_score = score(folded, float_outputs_);
    if (target_ && options_.below_float) target_ = *float_score - *target_;
    try_stages(folded);
    return {.model = std::move(*best_),
            .float_score = float_score,
            .target = target_,
            .stages = stages_,
            .selected = selected_,
            .met = !target_ || meets(stages_[best_stage_]),
            .held_out = held_out_.size()};
  }

 private:
  void try_stages(const Model& folded) {
    if (attempt("nearest rounding", quantized(folded))) return;
    Model equalized = folded.clone();
    const auto pairs = equalize(equalized);
    const bool any = std::ranges::any_of(
        pairs, [](const Equalization& pair) { return pair.skipped.empty(); });
    if (any && attempt("equalization", quantized(equalized))) return;
    const std::string before =
        selected_ == "equalization" ? "equalization, " : "";
    const Model base = best_->clone();
    Model corrected = base.clone();
    correct_biases(corrected, samples_, options_.methods);
    if (attempt(before + "bias correction", std::move(corrected))) return;
    // The remaining stages round integers.
    const bool integers = std::ranges::all_of(
        weight_quantizers(base), [](const PlacedQuantizer& placed) {
          return placed.quantizer->config().format == NumberFormat::integer;
        });
    if (!integers) return;
    Model rounded = base.clone();
    round_weights(rounded, samples_, options_.methods);
    Model both = rounded.clone();
    if (attempt(before + "second-order rounding", std::move(rounded))) return;
    correct_biases(both, samples_, options_.methods);
    if (attempt(before + "second-order rounding, bias correction",
                std::move(both))) {
      return;
    }
    Model learned = base.clone();
    adaround(learned, samples_, options_.methods);
    if (attempt(before + "AdaRound", std::move(learned))) return;
    if (!has_blocks(base)) return;  // otherwise identical to AdaRound
    Model blocks = base.clone();
    reconstruct_blocks(blocks, samples_, options_.methods);
    (void)attempt(before + "block reconstruction", std::move(blocks));
  }

  Model quantized(const Model& model) const {
    Model result = placed(model);
    const bool narrow = std::ranges::any_of(
        weight_quantizers(result), [](const PlacedQuantizer& placed) {
          return placed.quantizer->config().bits < 8;
        });
    auto_calibrate(result, samples_,
                   {.score = options_.score,
                    .weights = narrow ? WeightRange::mse : WeightRange::max,
                    .batch_size = options_.methods.batch_size,
                    .seed = options_.methods.seed,
                    .check_samples = false,
                    .warn_of_loss = false});
    return result;
  }

  Model placed(const Model& model) const {
    if (!options_.place) return quantize_model(model, options_.quantize);
    Model result = options_.place(model);
    for (const PlacedQuantizer& weight : weight_quantizers(result)) {
      if (weight.quantizer->config().rule != ScaleRule::live) continue;
      throw ValueError("unsupported_value",
                       fmt::format("quantizer '{}'", weight.quantizer->name()),
                       "live weight scales would undo rounding. Hint: set "
                       "ScaleRule::fixed in the model that `place` returns");
    }
    return result;
  }

  // Indexed [batch][output].
  std::vector<std::vector<Tensor>> outputs(const Model& model) const {
    std::vector<std::vector<Tensor>> result;
    const int64_t size = options_.methods.batch_size;
    for (int64_t at = 0; at < held_out_.size(); at += size) {
      const int64_t count = std::min(size, held_out_.size() - at);
      result.push_back(model.predict(held_out_.batch(at, count).inputs));
    }
    return result;
  }

  std::optional<double> score(const Model& model,
                              const std::vector<std::vector<Tensor>>& outputs) {
    const auto& custom = options_.score ? options_.score : options_.check;
    if (custom || target_) {
      return score_samples("ptq_pipeline", model, held_out_, custom,
                           options_.methods.batch_size);
    }
    const auto classes = classes_of("ptq_pipeline", model, held_out_);
    if (classes.empty()) return {};
    std::vector<Tensor> of_batches;
    of_batches.reserve(outputs.size());
    for (const auto& batch : outputs) of_batches.push_back(batch[0]);
    return accuracy_of(of_batches, classes);
  }

  double sqnr(const std::vector<std::vector<Tensor>>& outputs) const {
    std::vector<SignalNoise> powers(outputs[0].size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      for (size_t k = 0; k < powers.size(); ++k) {
        powers[k].add(float_outputs_[i][k], outputs[i][k]);
      }
    }
    return mean_decibels(powers);
  }

  bool meets(const PtqStage& stage) const {
    return target_ && *stage.score >= *target_;
  }

  // Models that meet the target rank above all others.
  bool is_better(const PtqStage& a, const PtqStage& b) const {
    if (meets(a) != meets(b)) return meets(a);
    const double first = options_.score ? *a.score : 0;
    const double second = options_.score ? *b.score : 0;
    if (first != second) return first > second;
    return a.output_sqnr > b.output_sqnr || std::isnan(b.output_sqnr);
  }

  // Evaluates a model. Returns whether the target is met.
  bool attempt(const std::string& method, Model model) {
    const auto now = outputs(model);
    stages_.push_back({method, score(model, now), sqnr(now)});
    if (!best_ || is_better(stages_.back(), stages_[best_stage_])) {
      best_ = std::move(model);
      best_stage_ = stages_.size() - 1;
      selected_ = method;
    }
    return meets(stages_.back());
  }

  const Dataset& samples_;
  const Dataset& held_out_;
  std::optional<double> target_;
  PtqPipelineOptions options_;
  std::vector<std::vector<Tensor>> float_outputs_;
  std::vector<PtqStage> stages_;
  std::optional<Model> best_;
  size_t best_stage_ = 0;
  std::string selected_;
};

std::string score_text(std::optional<double> score) {
  return score ? fmt::format("{:.4f}", *score) : "";
}

std::string verdict(const PtqPipeline& result, const PtqStage& best) {
  const std::string sqnr = decibels_text(best.output_sqnr);
  if (!result.target) {
    return fmt::format("selected {}: outputs {}", best.method, sqnr);
  }
  const double target = *result.target;
  return fmt::format("{}: {:.4f} by {}, {}; outputs {}",
                     result.met ? "target met" : "target missed", *best.score,
                     best.method,
                     result.met ? fmt::format("target {:.4f}", target)
                                : fmt::format("{:.4f} below the target {:.4f}",
                                              target - *best.score, target),
                     sqnr);
}

}  // namespace

std::string PtqPipeline::to_string() const {
  const PtqStage* best = &stages[0];
  TextTable table({Align::left, Align::right, Align::right});
  table.add_row({"method", float_score ? "score" : "", "outputs"}, "  ");
  table.add_rule("  ");
  if (float_score) table.add_row({"float", score_text(float_score)}, "  ");
  for (const PtqStage& stage : stages) {
    if (stage.method == selected) best = &stage;
    table.add_row({stage.method, score_text(stage.score),
                   decibels_text(stage.output_sqnr)},
                  stage.method == selected ? "> " : "  ");
  }
  return fmt::format("{}.\nEvaluated on {} held-out samples.\n\n{}",
                     verdict(*this, *best), group_digits(held_out),
                     table.to_string());
}

PtqPipeline ptq_pipeline(const Model& model, const Dataset& data,
                         std::optional<double> target,
                         const PtqPipelineOptions& options) {
  if (target && std::isnan(*target)) {
    throw ValueError("not_finite", "ptq_pipeline", "target is NaN");
  }
  if (!(options.held_out > 0 && options.held_out < 1)) {
    throw ValueError(
        "out_of_range", "ptq_pipeline",
        fmt::format("held_out must be in (0,1), got {}", options.held_out));
  }
  expect_batch_size("ptq_pipeline", options.methods.batch_size);
  const CheckedSamples checked =
      check_samples("ptq_pipeline", data_for("ptq_pipeline", model, data));
  warn_of_unusual("ptq_pipeline", checked);
  const HeldOut parts = hold_out("ptq_pipeline", checked.usual,
                                 options.held_out, options.methods.seed);
  return Pipeline(parts.samples, parts.held_out, target, options).run(model);
}

}  // namespace octet::quant
