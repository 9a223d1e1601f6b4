#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/model_data.h>
#include <octet/quant/calibrate_auto.h>
#include <octet/quant/fold_batch_norm.h>
#include <octet/quant/ptq_ladder.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/text_table.h>

#include "calibration/accuracy.h"
#include "calibration/steps.h"
#include "ptq/units.h"

namespace octet::quant {
namespace {

class Climb {
 public:
  Climb(const Dataset& samples, const Dataset& held_out, double target,
        const LadderOptions& options)
      : samples_(samples),
        held_out_(held_out),
        target_(target),
        options_(options) {
    QuantizerConfig& weight = options_.quantize.weight;
    if (weight.rule == ScaleRule::live) weight.rule = ScaleRule::fixed;
  }

  Ladder run(const Model& model) {
    const Model folded = fold_batch_norm(model);
    const double float_score = score(folded);
    if (options_.below_float) target_ = float_score - target_;
    climb(folded);
    return {.model = std::move(*best_),
            .float_score = float_score,
            .target = target_,
            .rungs = rungs_,
            .kept = kept_,
            .met = best_score_ >= target_,
            .held_out = held_out_.size()};
  }

 private:
  void climb(const Model& folded) {
    if (attempt("nearest rounding", quantized(folded))) return;
    Model equalized = folded.clone();
    const auto pairs = equalize(equalized);
    const bool any = std::ranges::any_of(
        pairs, [](const Equalization& pair) { return pair.skipped.empty(); });
    if (any && attempt("equalisation", quantized(equalized))) return;
    const std::string before = kept_ == "equalisation" ? "equalisation, " : "";
    const Model base = best_->clone();
    Model corrected = base.clone();
    correct_biases(corrected, samples_, options_.methods);
    if (attempt(before + "bias correction", std::move(corrected))) return;
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
    if (!has_blocks(base)) return;  // or it would be the same again
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
    calibrate_auto(result, samples_,
                   {.score = options_.score,
                    .weights = narrow ? WeightRange::mse : WeightRange::max,
                    .batch_size = options_.methods.batch_size,
                    .seed = options_.methods.seed});
    return result;
  }

  Model placed(const Model& model) const {
    if (!options_.place) return quantize_model(model, options_.quantize);
    Model result = options_.place(model);
    for (const PlacedQuantizer& weight : weight_quantizers(result)) {
      if (weight.quantizer->config().rule != ScaleRule::live) continue;
      throw ValueError(fmt::format(
          "ptq_ladder: expected fixed scales of weights, got live ones of "
          "'{}', which would undo what the methods round. Hint: "
          "ScaleRule::fixed in "
          "what `place` inserts",
          weight.quantizer->name()));
    }
    return result;
  }

  double score(const Model& model) const {
    return score_samples("ptq_ladder", model, held_out_, options_.score,
                         options_.methods.batch_size);
  }

  // Whether the target is met.
  bool attempt(const std::string& method, Model model) {
    const double got = score(model);
    rungs_.push_back({method, got});
    if (!best_ || got > best_score_) {
      best_ = std::move(model);
      best_score_ = got;
      kept_ = method;
    }
    return best_score_ >= target_;
  }

  const Dataset& samples_;
  const Dataset& held_out_;
  double target_;
  LadderOptions options_;
  std::vector<LadderRung> rungs_;
  std::optional<Model> best_;
  double best_score_ = 0;
  std::string kept_;
};

}  // namespace

std::string Ladder::to_string() const {
  double best = 0;
  TextTable table({Align::left, Align::right});
  table.add_row({"method", "score"}, "  ");
  table.add_rule("  ");
  table.add_row({"float", fmt::format("{:.4f}", float_score)}, "  ");
  for (const LadderRung& rung : rungs) {
    if (rung.method == kept) best = rung.score;
    table.add_row({rung.method, fmt::format("{:.4f}", rung.score)},
                  rung.method == kept ? "> " : "  ");
  }
  return fmt::format(
      "{}: {:.4f} by {}, {}.\nJudged by {} samples held out.\n\n{}",
      met ? "target met" : "target missed", best, kept,
      met ? fmt::format("where {:.4f} was asked", target)
          : fmt::format("{:.4f} less than the {:.4f} asked", target - best,
                        target),
      group_digits(held_out), table.to_string());
}

Ladder ptq_ladder(const Model& model, const Dataset& data, double target,
                  const LadderOptions& options) {
  if (std::isnan(target)) {
    throw ValueError("ptq_ladder: expected a target, got nan");
  }
  if (!(options.held_out > 0 && options.held_out < 1)) {
    throw ValueError(fmt::format(
        "ptq_ladder: expected held_out in (0,1), got {}", options.held_out));
  }
  if (options.methods.batch_size < 1) {
    throw ValueError(fmt::format("ptq_ladder: expected batch_size >= 1, got {}",
                                 options.methods.batch_size));
  }
  const Dataset fitting = data_for("ptq_ladder", model, data);
  const auto [held_out, samples] =
      fitting.split(options.held_out, {.seed = options.methods.seed});
  return Climb(samples, held_out, target, options).run(model);
}

}  // namespace octet::quant
