// optimize(): recipes, order of the search, resumption.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/optimize.h>
#include <octet/runtime/error.h>

#include "../facts.h"
#include "post_training_support.h"

namespace octet::quant {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Latency by the number of float layers, and size by the number format.
OptimizeOptions counted(OptimizeGoal goal) {
  return {.goal = goal,
          .latency = [](const Model&,
                        const Recipe& recipe) -> std::optional<double> {
            if (recipe.format == "float") return 10;
            return 1 + static_cast<double>(recipe.float_layers.size());
          },
          .bytes = [](const Model&, const Recipe&) { return int64_t{1000}; }};
}

/// Two layers, the channels between them spread by 2^-6 to 2^6.
Model spread_channels() {
  const SymbolicTensor x = input({6}, "x");
  SymbolicTensor y =
      Dense({.units = 13, .activation = "relu", .name = "first"})(x);
  Model model(x, Dense({.units = 3, .name = "second"})(y), {.seed = 3});
  Tensor first =
      model.layer("first").parameter("kernel").variable.value().clone();
  Tensor second =
      model.layer("second").parameter("kernel").variable.value().clone();
  for (size_t i = 0; i < 13; ++i) {
    const float factor = std::ldexp(1.0f, static_cast<int>(i) - 6);
    for (size_t k = 0; k < 6; ++k) first.f32()[13 * k + i] *= factor;
    for (size_t k = 0; k < 3; ++k) second.f32()[3 * i + k] /= factor;
  }
  model.layer("first").parameter("kernel").variable.assign(first);
  model.layer("second").parameter("kernel").variable.assign(second);
  return model;
}

Dataset unlabeled(int64_t n, const Shape& shape, uint64_t seed) {
  return samples(n, shape, seed).select(std::vector<size_t>{0}, {});
}

std::vector<Recipe> recipes_of(const Optimized& found) {
  std::vector<Recipe> result;
  for (const OptimizeTrial& trial : found.trials)
    result.push_back(trial.recipe);
  return result;
}

TEST(Recipe, SurvivesItsConfig) {
  const Recipe recipe{.format = "fp8",
                      .equalize = true,
                      .calibration = Calibration::percentile,
                      .percentile = 99.9f,
                      .rounding = WeightRounding::adaround,
                      .correct_biases = true,
                      .float_layers = {"a", "b"},
                      .fine_tuning = FineTuning::teacher};
  EXPECT_EQ(recipe_from_config(to_config(recipe)), recipe);
  EXPECT_EQ(recipe_from_config(to_config(Recipe())), Recipe());
  EXPECT_EQ(recipe.to_string(),
            "fp8, percentile 99.9, equalization, AdaRound, bias correction, "
            "2 float layers, QAT on teacher outputs");
  Config config = to_config(recipe);
  config.set("rounding", "adaroun");
  const auto f =
      failure_of<NotFoundError>([&] { (void)recipe_from_config(config); });
  EXPECT_EQ(f.code, "unknown_name");
  EXPECT_THAT(f.message, AllOf(HasSubstr("adaroun"), HasSubstr("adaround")));
}

TEST(QuantizeWith, EqualsItsSteps) {
  const Dataset data = samples(40, {4, 5, 3});
  const Model made = quantize_with(all_kinds(), data,
                                   {.equalize = true,
                                    .calibration = Calibration::max,
                                    .rounding = WeightRounding::second_order,
                                    .correct_biases = true})
                         .model;
  Model source = fold_batch_norm(all_kinds());
  equalize(source);
  Model steps = quantize_model(source, fixed_weights(8));
  calibrate(steps, data, {.method = Calibration::max});
  round_weights(steps, data);
  correct_biases(steps, data);
  const Tensor x = noise({5, 4, 5, 3}, 9);
  EXPECT_EQ(bits(made.predict(x)), bits(steps.predict(x)));
}

TEST(Optimize, StopsAtTheFirstRecipeThatMeetsTheGoal) {
  const Optimized found =
      optimize(quickstart(), samples(40, {8, 6, 1}), samples(40, {8, 6, 1}, 2),
               counted({.accuracy_drop = 0.5}));
  EXPECT_TRUE(found.met);
  EXPECT_EQ(found.trials.size(), 1u);
  EXPECT_EQ(found.score_name, "accuracy");
  EXPECT_EQ(found.float_latency, 10);
  EXPECT_THAT(found.to_string(), HasSubstr("goal met by auto"));
}

TEST(Optimize, EqualizesSpreadChannels) {
  const Optimized found =
      optimize(spread_channels(), unlabeled(300, {6}, 1),
               unlabeled(300, {6}, 2), counted({.min_sqnr = 35}));
  EXPECT_TRUE(found.met) << found.to_string();
  EXPECT_EQ(found.score_name, "SQNR");
  EXPECT_TRUE(found.trials[found.selected].recipe.equalize);
  // Halving: ten candidates on 64 samples, none on 256.
  EXPECT_EQ(std::ranges::count(found.trials, 64, &OptimizeTrial::samples), 10);
}

TEST(Optimize, TriesEverythingForAGoalOutOfReachAndSaysSo) {
  OptimizeOptions options = counted({.min_sqnr = 200});
  int tuned = 0;
  const Dataset data = unlabeled(30, {4, 5, 3}, 1);
  options.fine_tuning = {FineTuning::teacher};
  options.fine_tune = [&](const Recipe& recipe) {
    ++tuned;
    Recipe ptq = recipe;
    ptq.fine_tuning = FineTuning::none;
    return quantize_with(all_kinds(), data, ptq).model;
  };
  const Optimized found =
      optimize(all_kinds(), data, unlabeled(30, {4, 5, 3}, 2), options);
  EXPECT_FALSE(found.met);
  EXPECT_EQ(tuned, 1);
  EXPECT_THAT(found.shortfall(), HasSubstr("200 dB"));
  EXPECT_THAT(found.to_string(), HasSubstr("goal missed: output SQNR"));
  for (const OptimizeTrial& trial : found.trials) {
    EXPECT_EQ(trial.error, "");
    EXPECT_LE(trial.sqnr, found.trials[found.selected].sqnr);
  }
  const std::vector<Recipe> recipes = recipes_of(found);
  EXPECT_TRUE(std::ranges::any_of(recipes, &Recipe::correct_biases));
  EXPECT_TRUE(std::ranges::any_of(recipes, [](const Recipe& recipe) {
    return recipe.rounding == WeightRounding::adaround;
  }));
  EXPECT_TRUE(std::ranges::any_of(recipes, [](const Recipe& recipe) {
    return recipe.float_layers.size() == 2;
  }));
}

TEST(Optimize, SkipsMethodsThatCannotReduceTheLatency) {
  const Optimized found =
      optimize(quickstart(), samples(30, {8, 6, 1}), samples(30, {8, 6, 1}, 2),
               counted({.accuracy_drop = 0.5, .latency = 0.5}));
  EXPECT_FALSE(found.met);
  EXPECT_THAT(found.blocked, Not(IsEmpty()));
  EXPECT_THAT(found.shortfall(), HasSubstr("latency 1.000 ms"));
  for (const Recipe& recipe : recipes_of(found)) {
    EXPECT_EQ(recipe.rounding, WeightRounding::nearest);
    EXPECT_THAT(recipe.float_layers, IsEmpty());
  }
}

TEST(Optimize, RecordsFailedRecipes) {
  OptimizeOptions options = counted({.min_sqnr = 200});
  options.formats = {"int8", "int7"};
  const Optimized found = optimize(all_kinds(), unlabeled(20, {4, 5, 3}, 1),
                                   unlabeled(20, {4, 5, 3}, 2), options);
  const auto failed = std::ranges::find_if(
      found.trials, [](const auto& t) { return t.recipe.format == "int7"; });
  ASSERT_NE(failed, found.trials.end());
  EXPECT_THAT(failed->error, HasSubstr("int7"));
  EXPECT_THAT(found.to_string(), HasSubstr("failed: "));
}

TEST(Optimize, ContinuesFromAnInterruptedSearch) {
  const Dataset data = unlabeled(30, {4, 5, 3}, 1);
  const Dataset validation = unlabeled(30, {4, 5, 3}, 2);
  const Optimized whole =
      optimize(all_kinds(), data, validation, counted({.min_sqnr = 200}));
  OptimizeOptions options = counted({.min_sqnr = 200});
  OptimizeState saved;
  struct Interrupted {};
  options.on_change = [&](const OptimizeState& state) {
    saved = optimize_state_from_config(to_config(state));
    if (state.trials.size() == 12) throw Interrupted();
  };
  EXPECT_THROW(optimize(all_kinds(), data, validation, options), Interrupted);
  int made = 0;
  options.state = saved;
  options.on_change = [&](const OptimizeState&) { ++made; };
  const Optimized rest = optimize(all_kinds(), data, validation, options);
  ASSERT_EQ(rest.trials.size(), whole.trials.size());
  EXPECT_EQ(rest.selected, whole.selected);
  for (size_t i = 0; i < rest.trials.size(); ++i) {
    OptimizeTrial expected = whole.trials[i];
    expected.seconds = rest.trials[i].seconds;
    EXPECT_EQ(rest.trials[i], expected) << i;
  }
  EXPECT_LE(made, std::ssize(whole.trials) - 12 + 1);
  const Tensor x = noise({5, 4, 5, 3}, 9);
  EXPECT_EQ(bits(rest.model.predict(x)), bits(whole.model.predict(x)));
}

// Outputs of NaN, saved as null, were exact outputs after an interruption.
TEST(OptimizeState, SurvivesItsConfig) {
  const double infinity = std::numeric_limits<double>::infinity();
  OptimizeState state;
  for (const double sqnr : {30.5, infinity, -infinity}) {
    state.trials.push_back({.samples = 64, .drop = -infinity, .sqnr = sqnr});
  }
  EXPECT_EQ(optimize_state_from_config(to_config(state)).trials, state.trials);
  state.trials = {
      {.complete = true, .score = std::nan(""), .sqnr = std::nan("")}};
  const OptimizeTrial nan =
      optimize_state_from_config(to_config(state)).trials.at(0);
  EXPECT_TRUE(std::isnan(nan.sqnr));
  EXPECT_TRUE(std::isnan(nan.score.value()));
}

TEST(Optimize, StartsWithTheBestRecipeOnFewSamplesAtTheEndOfItsTime) {
  const Dataset data = unlabeled(64, {6}, 1);
  OptimizeOptions options = counted({.min_sqnr = 200});
  options.seconds = 3;
  options.on_change = [&](const OptimizeState& state) {
    if (state.trials.size() != 10) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(3100));
  };
  const Optimized found =
      optimize(spread_channels(), data, unlabeled(512, {6}, 2), options);
  EXPECT_TRUE(found.out_of_time);
  ASSERT_EQ(found.trials.size(), 11);
  const auto best =
      std::ranges::max_element(found.trials.begin(), found.trials.begin() + 10,
                               {}, &OptimizeTrial::sqnr);
  EXPECT_EQ(found.trials[found.selected].recipe, best->recipe);
  EXPECT_TRUE(best->recipe.equalize);
}

TEST(Optimize, MeasuresLatencyInASession) {
  const Optimized found =
      optimize(quickstart(), samples(20, {8, 6, 1}), samples(20, {8, 6, 1}, 2),
               {.goal = {.accuracy_drop = 0.9}});
  ASSERT_TRUE(found.float_latency && found.trials[0].latency);
  EXPECT_GT(*found.float_latency, 0);
  EXPECT_GT(*found.trials[0].latency, 0);
}

TEST(Optimize, EndsWithTheTimeBudget) {
  OptimizeOptions options = counted({.min_sqnr = 200});
  options.seconds = 1e-9;
  const Optimized found = optimize(all_kinds(), unlabeled(20, {4, 5, 3}, 1),
                                   unlabeled(20, {4, 5, 3}, 2), options);
  EXPECT_TRUE(found.out_of_time);
  EXPECT_EQ(found.trials.size(), 1u);
}

TEST(Optimize, RefusesGoalsOutOfRange) {
  const auto refusal = [](OptimizeOptions options) {
    return failure_of<ValueError>([&] {
      (void)optimize(quickstart(), samples(10, {8, 6, 1}),
                     samples(10, {8, 6, 1}, 2), options);
    });
  };
  EXPECT_EQ(refusal({.goal = {.accuracy_drop = 2}}).code, "out_of_range");
  EXPECT_EQ(refusal({.goal = {.latency = 0}}).code, "out_of_range");
  EXPECT_EQ(refusal({.goal = {.bytes = 10}}).code, "missing_value");
  EXPECT_EQ(refusal({.formats = {}}).code, "missing_value");
  EXPECT_EQ(refusal({.fine_tuning = {FineTuning::labels}}).code,
            "missing_value");
  EXPECT_EQ(refusal({.seconds = 0}).code, "out_of_range");
}

}  // namespace
}  // namespace octet::quant
