// The search for a recipe: steps from cheap to expensive.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/detail/model_data.h>
#include <octet/layers/embedding.h>
#include <octet/layers/inference_session.h>
#include <octet/quant/optimize.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>

#include "calibration/accuracy.h"
#include "optimize/trials.h"
#include "ptq/units.h"

namespace octet::quant {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns the median latency of a session on one sample in milliseconds; none
/// for models without a session.
std::optional<double> session_latency(const Model& model, const Recipe&) try {
  constexpr size_t kFewest = 20, kMost = 1000;
  constexpr double kSeconds = 0.3;
  const InferenceSession session(model);
  const std::vector<Tensor> x = random_inputs(model, 1, 0, 1, Rng(1));
  (void)session.run(x);
  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  while (times.size() < kFewest ||
         (seconds_since(start) < kSeconds && times.size() < kMost)) {
    const Clock::time_point begin = Clock::now();
    (void)session.run(x);
    times.push_back(seconds_since(begin));
  }
  const auto middle =
      times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return 1e3 * *middle;
} catch (const UnsupportedError&) {
  return {};
}

void check_goal(const OptimizeOptions& o) {
  const auto refuse = [](std::string text) {
    throw ValueError("out_of_range", "optimize", std::move(text));
  };
  if (!(o.goal.accuracy_drop >= 0 && o.goal.accuracy_drop < 1)) {
    refuse(fmt::format("accuracy_drop must be in [0,1), got {}",
                       o.goal.accuracy_drop));
  }
  if (!std::isfinite(o.goal.min_sqnr)) refuse("min_sqnr must be finite");
  if (o.goal.latency && !(*o.goal.latency > 0)) {
    refuse(fmt::format("latency must be > 0 ms, got {}", *o.goal.latency));
  }
  if (o.goal.bytes && *o.goal.bytes <= 0) {
    refuse(fmt::format("bytes must be > 0, got {}", *o.goal.bytes));
  }
  if (o.goal.bytes && !o.bytes) {
    throw ValueError("missing_value", "optimize",
                     "goal.bytes requires the function OptimizeOptions::bytes");
  }
  if (!(o.seconds > 0)) {
    refuse(fmt::format("seconds must be > 0, got {}", o.seconds));
  }
  if (o.formats.empty()) {
    throw ValueError("missing_value", "optimize", "formats must not be empty");
  }
  if (!o.fine_tuning.empty() && !o.fine_tune) {
    throw ValueError("missing_value", "optimize",
                     "fine_tuning needs OptimizeOptions::fine_tune");
  }
}

class RecipeSearch {
 public:
  RecipeSearch(const Model& model, const Dataset& calibration,
               const Dataset& validation, const OptimizeOptions& options)
      : model_(model),
        calibration_(calibration),
        validation_(validation),
        options_(options),
        earlier_(options.state) {
    if (!options_.latency) options_.latency = session_latency;
    state_.sensitive = earlier_.sensitive;
    state_.float_latency = earlier_.float_latency;
  }

  Optimized run() {
    choose_score();
    if (!state_.float_latency) {
      state_.float_latency = options_.latency(model_, {.format = "float"});
    }
    search();
    if (!best_) {
      throw ValueError(
          "no_recipe", "optimize",
          fmt::format("every recipe failed, the first with: {}",
                      state_.trials.empty() ? "" : state_.trials[0].error));
    }
    Optimized result{.model = std::move(model_of_best()),
                     .selected = *best_,
                     .trials = std::move(state_.trials),
                     .goal = options_.goal,
                     .score_name = score_name_,
                     .float_score = float_score_,
                     .float_latency = state_.float_latency,
                     .out_of_time = out_of_time_,
                     .blocked = blocked_};
    result.met = result.shortfall().empty();
    return result;
  }

 private:
  bool has_score() const { return score_name_ == "accuracy"; }

  void choose_score() {
    score_name_ = "SQNR";
    if (options_.score) {
      score_name_ = "accuracy";
      float_score_ = options_.score(model_, validation_);
      return;
    }
    if (!classes_of("optimize", model_, validation_).empty()) {
      score_name_ = "accuracy";
      float_score_ = score_samples("optimize", model_, validation_, {}, 64);
      return;
    }
    if (compare_outputs(model_, model_, validation_.take(1)).agreement()) {
      score_name_ = "agreement";
      float_score_ = 1;
    }
  }

  void search() {
    const std::string& preferred = options_.formats[0];
    if (try_calibrations(preferred)) return;
    const bool costly =
        best_ && misses_cost(state_.trials[*best_], options_.goal);
    if (costly) {
      blocked_ = fmt::format(
          "{} misses the latency or size, so other methods in this format were "
          "skipped",
          preferred);
    } else if (best_ && (try_methods() || try_float_layers())) {
      return;
    }
    for (size_t i = 1; i < options_.formats.size(); ++i) {
      if (attempt({.format = options_.formats[i]})) return;
    }
    if (best_ && misses_cost(state_.trials[*best_], options_.goal)) return;
    for (const FineTuning tuning : options_.fine_tuning) {
      Recipe recipe = best_recipe();
      recipe.fine_tuning = tuning;
      recipe.rounding = WeightRounding::nearest;  // training changes weights
      if (attempt(recipe)) return;
    }
  }

  // Steps of the search. Each returns whether the search ends.
  bool try_calibrations(const std::string& format) {
    std::vector<Recipe> recipes;
    const std::optional<Calibration> methods[] = {
        std::nullopt, Calibration::mse, Calibration::percentile,
        Calibration::max, Calibration::entropy};
    for (const auto& method : methods) {
      recipes.push_back({.format = format, .calibration = method});
      recipes.push_back(
          {.format = format, .equalize = true, .calibration = method});
    }
    for (const Recipe& recipe : select_by_halving(std::move(recipes))) {
      if (attempt(recipe)) return true;
    }
    return false;
  }

  bool try_methods() {
    const Recipe base = best_recipe();
    const auto with = [&](WeightRounding rounding, bool biases) {
      Recipe recipe = base;
      recipe.rounding = rounding;
      recipe.correct_biases = biases;
      return recipe;
    };
    using enum WeightRounding;
    std::vector<Recipe> recipes = {with(nearest, true)};
    // Rounding methods support integer formats only.
    const bool integers = std::ranges::all_of(
        weight_quantizers(model_of_best()), [](const auto& placed) {
          return placed.quantizer->config().format == NumberFormat::integer;
        });
    if (integers) {
      recipes.push_back(with(second_order, false));
      recipes.push_back(with(second_order, true));
      recipes.push_back(with(adaround, false));
      if (has_blocks(model_of_best())) recipes.push_back(with(blocks, false));
    }
    return std::ranges::any_of(
        recipes, [&](const Recipe& recipe) { return attempt(recipe); });
  }

  bool try_float_layers() {
    const Recipe base = best_recipe();
    const std::vector<std::string> layers = sensitive_layers();
    for (size_t count = 1; 2 * count <= layers.size(); count *= 2) {
      Recipe recipe = base;
      recipe.float_layers.assign(
          layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(count));
      if (attempt(recipe)) return true;
    }
    return false;
  }

  std::vector<std::string> sensitive_layers() {
    constexpr int64_t kSamples = 64;
    if (state_.sensitive.empty() && time_is_up()) {
      out_of_time_ = true;
    } else if (state_.sensitive.empty()) {
      const Sensitivity found =
          sensitivity(model_of_best(), calibration_, {.samples = kSamples});
      for (const LayerSensitivity& layer : found.by_sqnr()) {
        state_.sensitive.push_back(layer.layer);
      }
      report_state();
    }
    return state_.sensitive;
  }

  /// Successive halving: returns the recipes with the highest output SQNR on
  /// subsets of the samples, best first.
  std::vector<Recipe> select_by_halving(std::vector<Recipe> recipes) {
    constexpr size_t kKept = 2;
    for (const int64_t samples : {64, 256}) {
      if (samples * 2 > validation_.size() || recipes.size() <= kKept) break;
      std::vector<std::pair<double, Recipe>> ranked;
      for (Recipe& recipe : recipes) {
        if (time_is_up()) break;
        const OptimizeTrial trial = early_trial(recipe, samples);
        if (trial.error.empty() && !std::isnan(trial.sqnr)) {
          ranked.emplace_back(-trial.sqnr, std::move(recipe));
        }
      }
      if (ranked.empty() && time_is_up()) break;
      if (ranked.empty()) return {{.format = options_.formats[0]}};
      std::ranges::stable_sort(ranked, {}, &std::pair<double, Recipe>::first);
      const size_t kept = std::max(kKept, ranked.size() / 2);
      recipes.clear();
      for (size_t i = 0; i < std::min(kept, ranked.size()); ++i) {
        recipes.push_back(std::move(ranked[i].second));
      }
    }
    return recipes;
  }

  OptimizeTrial early_trial(const Recipe& recipe, int64_t samples) {
    if (const OptimizeTrial* trial = find(recipe, samples)) {
      state_.trials.push_back(*trial);
      return *trial;
    }
    const Clock::time_point start = Clock::now();
    OptimizeTrial trial{.recipe = recipe, .samples = samples};
    try {
      const Dataset few =
          calibration_.sample(std::min(samples, calibration_.size()),
                              {.seed = options_.recipe.methods.seed});
      const Model made =
          quantize_with(model_, few, recipe, options_.recipe).model;
      trial.sqnr =
          compare_outputs(model_, made, validation_.take(samples)).sqnr();
    } catch (const Error& error) {
      trial.error = error.what();
    }
    trial.seconds = seconds_since(start);
    add(trial);
    return trial;
  }

  /// Evaluates a recipe on all samples. Returns whether the search ends: the
  /// goal is met, or the time is up.
  bool attempt(const Recipe& recipe) {
    if (best_ && time_is_up()) {
      out_of_time_ = true;
      return true;
    }
    std::optional<Model> made;
    if (const OptimizeTrial* trial = find(recipe, validation_.size())) {
      state_.trials.push_back(*trial);
    } else {
      add(complete_trial(recipe, made));
    }
    const size_t last = state_.trials.size() - 1;
    const OptimizeTrial& trial = state_.trials[last];
    if (!trial.error.empty()) return false;
    if (!best_ || is_closer(trial, state_.trials[*best_], options_.goal)) {
      best_ = last;
      best_model_ = std::move(made);
    }
    return shortfall_of(state_.trials[*best_], options_.goal, score_name_)
        .empty();
  }

  OptimizeTrial complete_trial(const Recipe& recipe,
                               std::optional<Model>& made) {
    const Clock::time_point start = Clock::now();
    OptimizeTrial trial{
        .recipe = recipe, .samples = validation_.size(), .complete = true};
    try {
      made = make(recipe);
      const OutputComparison found =
          compare_outputs(model_, *made, validation_);
      trial.sqnr = found.sqnr();
      if (has_score()) {
        trial.score =
            score_samples("optimize", *made, validation_, options_.score, 64);
        trial.drop = *float_score_ - *trial.score;
      } else if (float_score_) {
        trial.score = found.agreement();
        trial.drop = 1 - *found.agreement();
      }
      trial.latency = latency_of(*made, recipe);
      if (options_.bytes) trial.bytes = options_.bytes(*made, recipe);
    } catch (const Error& error) {
      trial.error = error.what();
    }
    trial.seconds = seconds_since(start);
    return trial;
  }

  Model make(const Recipe& recipe) const {
    if (recipe.fine_tuning != FineTuning::none) {
      return options_.fine_tune(recipe);
    }
    return quantize_with(model_, calibration_, recipe, options_.recipe).model;
  }

  /// Recipes with equal Q/DQ share a measurement, so that noise does not rank
  /// them.
  std::optional<double> latency_of(const Model& made, const Recipe& recipe) {
    for (const OptimizeTrial& trial : state_.trials) {
      if (trial.latency && trial.recipe.format == recipe.format &&
          trial.recipe.float_layers == recipe.float_layers) {
        return trial.latency;
      }
    }
    return options_.latency(made, recipe);
  }

  const OptimizeTrial* find(const Recipe& recipe, int64_t samples) const {
    for (const OptimizeTrial& trial : earlier_.trials) {
      if (trial.recipe == recipe && trial.samples == samples) return &trial;
    }
    return nullptr;
  }

  void add(OptimizeTrial trial) {
    state_.trials.push_back(std::move(trial));
    report_state();
  }

  /// Reports the state, with the trials of the earlier run that this run has
  /// not reached.
  void report_state() {
    if (!options_.on_change) return;
    OptimizeState state = state_;
    std::erase_if(earlier_.trials, [&](const OptimizeTrial& trial) {
      return std::ranges::any_of(state_.trials, [&](const OptimizeTrial& t) {
        return t.recipe == trial.recipe && t.samples == trial.samples;
      });
    });
    state.trials.insert(state.trials.begin(), earlier_.trials.begin(),
                        earlier_.trials.end());
    options_.on_change(state);
  }

  Model& model_of_best() {
    if (!best_model_) best_model_ = make(best_recipe());
    return *best_model_;
  }

  Recipe best_recipe() const { return state_.trials[*best_].recipe; }

  bool time_is_up() const { return seconds_since(start_) > options_.seconds; }

  const Model& model_;
  const Dataset& calibration_;
  const Dataset& validation_;
  OptimizeOptions options_;
  OptimizeState earlier_, state_;
  std::string score_name_;
  std::optional<double> float_score_;
  std::optional<size_t> best_;
  std::optional<Model> best_model_;
  bool out_of_time_ = false;
  std::string blocked_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

Optimized optimize(const Model& model, const Dataset& calibration,
                   const Dataset& validation, const OptimizeOptions& options) {
  check_goal(options);
  if (is_quantized(model)) {
    throw ValueError("already_quantized", "optimize",
                     "the model has quantizers. Hint: start from the float "
                     "model");
  }
  const Dataset samples = data_for("optimize", model, calibration);
  const Dataset evaluated = data_for("optimize", model, validation);
  return RecipeSearch(model, samples, evaluated, options).run();
}

}  // namespace octet::quant
