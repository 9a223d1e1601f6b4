#include "optimize/trials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

#include "calibration/signal_noise.h"

namespace octet::quant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// JSON has no infinity, as the SQNR of exact outputs, and no NaN.
Config number_or_null(const std::optional<double>& value) {
  if (!value) return {};
  return std::isfinite(*value) ? Config(*value)
                               : Config(fmt::format("{}", *value));
}

std::optional<double> number_in(const Config& config, std::string_view name) {
  const Config& value = config.at(name);
  if (value.is_null()) return {};
  if (value == Config("inf")) return kInfinity;
  if (value == Config("-inf")) return -kInfinity;
  if (value == Config("nan") || value == Config("-nan")) return std::nan("");
  return value.as_number();
}

Config trial_to_config(const OptimizeTrial& t) {
  return Config()
      .set("recipe", to_config(t.recipe))
      .set("samples", t.samples)
      .set("complete", t.complete)
      .set("score", number_or_null(t.score))
      .set("drop", number_or_null(t.drop))
      .set("sqnr_db", number_or_null(t.sqnr))
      .set("latency_ms", number_or_null(t.latency))
      .set("bytes", t.bytes ? Config(*t.bytes) : Config())
      .set("seconds", t.seconds)
      .set("error", t.error);
}

OptimizeTrial trial_from_config(const Config& config) {
  OptimizeTrial t{.recipe = recipe_from_config(config.at("recipe"))};
  t.samples = config.at("samples").as_int();
  t.complete = config.at("complete").as_bool();
  t.score = number_in(config, "score");
  t.drop = number_in(config, "drop");
  t.sqnr = number_in(config, "sqnr_db").value_or(std::nan(""));
  t.latency = number_in(config, "latency_ms");
  if (!config.at("bytes").is_null()) t.bytes = config.at("bytes").as_int();
  t.seconds = config.at("seconds").as_number();
  t.error = config.at("error").as_string();
  return t;
}

std::string percent_text(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

std::string size_text(const std::optional<int64_t>& bytes) {
  return bytes ? group_digits(*bytes) : "";
}

std::string latency_text(const std::optional<double>& latency) {
  return latency ? fmt::format("{:.3f} ms", *latency) : "";
}

/// Returns whether `a` is nowhere worse than `b` and somewhere better.
bool dominates(const OptimizeTrial& a, const OptimizeTrial& b) {
  const auto costs = [](const OptimizeTrial& t) {
    return std::array{t.score ? -*t.score : -t.sqnr,
                      t.latency.value_or(kInfinity),
                      t.bytes ? static_cast<double>(*t.bytes) : kInfinity};
  };
  const auto x = costs(a), y = costs(b);
  bool better = false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] > y[i]) return false;
    better = better || x[i] < y[i];
  }
  return better;
}

}  // namespace

Config to_config(const OptimizeState& state) {
  Config::List trials;
  for (const OptimizeTrial& trial : state.trials) {
    trials.push_back(trial_to_config(trial));
  }
  return Config()
      .set("trials", std::move(trials))
      .set("sensitive",
           Config::List(state.sensitive.begin(), state.sensitive.end()))
      .set("float_latency_ms", number_or_null(state.float_latency));
}

OptimizeState optimize_state_from_config(const Config& config) {
  OptimizeState state;
  for (const Config& trial : config.at("trials").as_list()) {
    state.trials.push_back(trial_from_config(trial));
  }
  for (const Config& layer : config.at("sensitive").as_list()) {
    state.sensitive.push_back(layer.as_string());
  }
  state.float_latency = number_in(config, "float_latency_ms");
  return state;
}

bool misses_cost(const OptimizeTrial& trial, const OptimizeGoal& goal) {
  return (goal.latency &&
          !(trial.latency && *trial.latency <= *goal.latency)) ||
         (goal.bytes && !(trial.bytes && *trial.bytes <= *goal.bytes));
}

bool has_quality(const OptimizeTrial& trial, const OptimizeGoal& goal) {
  // Shares are sums of reciprocals: half a sample in 10^6 is rounding.
  constexpr double kRounding = 5e-7;
  if (trial.drop) return *trial.drop <= goal.accuracy_drop + kRounding;
  return trial.sqnr >= goal.min_sqnr;
}

bool is_closer(const OptimizeTrial& a, const OptimizeTrial& b,
               const OptimizeGoal& goal) {
  const auto rank = [&](const OptimizeTrial& t) {
    const bool valid = t.complete && t.error.empty();
    const bool cheap = valid && !misses_cost(t, goal);
    return std::tuple(valid, cheap && has_quality(t, goal), cheap,
                      -t.drop.value_or(0),
                      std::isnan(t.sqnr) ? -kInfinity : t.sqnr);
  };
  return rank(a) > rank(b);
}

std::string shortfall_of(const OptimizeTrial& trial, const OptimizeGoal& goal,
                         const std::string& score_name) {
  std::vector<std::string> parts;
  if (!has_quality(trial, goal)) {
    parts.push_back(
        !trial.drop ? fmt::format("output SQNR {} instead of {:g} dB",
                                  decibels_text(trial.sqnr), goal.min_sqnr)
        : score_name == "agreement"
            ? fmt::format("{} of the samples change class, at most {} allowed",
                          percent_text(*trial.drop),
                          percent_text(goal.accuracy_drop))
            : fmt::format("{} drops by {} points, at most {:.2f} allowed",
                          score_name, fmt::format("{:.2f}", 100 * *trial.drop),
                          100 * goal.accuracy_drop));
  }
  if (goal.latency && !(trial.latency && *trial.latency <= *goal.latency)) {
    parts.push_back(fmt::format(
        "latency {} instead of {:g} ms",
        trial.latency ? latency_text(trial.latency) : "not measured",
        *goal.latency));
  }
  if (goal.bytes && !(trial.bytes && *trial.bytes <= *goal.bytes)) {
    parts.push_back(
        fmt::format("size {} instead of {} bytes",
                    trial.bytes ? size_text(trial.bytes) : "unknown",
                    group_digits(*goal.bytes)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<size_t> Optimized::pareto() const {
  std::vector<size_t> result;
  for (size_t i = 0; i < trials.size(); ++i) {
    const auto usable = [](const OptimizeTrial& t) {
      return t.complete && t.error.empty();
    };
    if (!usable(trials[i])) continue;
    const bool beaten =
        std::ranges::any_of(trials, [&](const OptimizeTrial& other) {
          return usable(other) && dominates(other, trials[i]);
        });
    if (!beaten) result.push_back(i);
  }
  std::ranges::stable_sort(result, [&](size_t a, size_t b) {
    const auto value = [&](size_t i) {
      return trials[i].score.value_or(trials[i].sqnr);
    };
    return value(a) > value(b);
  });
  return result;
}

std::string Optimized::shortfall() const {
  return shortfall_of(trials[selected], goal, score_name);
}

std::string Optimized::to_string() const {
  const std::vector<size_t> front = pareto();
  TextTable table({Align::left, Align::right, Align::right, Align::right,
                   Align::right, Align::left});
  table.add_row({"recipe", float_score ? score_name : "", "outputs", "latency",
                 "bytes", "Pareto"},
                "  ");
  table.add_rule("  ");
  const auto score_text = [](const std::optional<double>& score) {
    return score ? percent_text(*score) : "";
  };
  table.add_row({"float", score_text(float_score), "",
                 latency_text(float_latency), "", ""},
                "  ");
  int64_t early = 0;
  for (size_t i = 0; i < trials.size(); ++i) {
    const OptimizeTrial& t = trials[i];
    if (!t.error.empty()) {
      table.add_row({t.recipe.to_string(), "failed: " + t.error}, "  ");
      continue;
    }
    if (!t.complete) {
      ++early;
      continue;
    }
    const bool best = std::ranges::find(front, i) != front.end();
    table.add_row(
        {t.recipe.to_string(), score_text(t.score), decibels_text(t.sqnr),
         latency_text(t.latency), size_text(t.bytes), best ? "*" : ""},
        i == selected ? "> " : "  ");
  }
  std::string text =
      met ? fmt::format("goal met by {}\n", trials[selected].recipe.to_string())
          : fmt::format("goal missed: {}; closest: {}\n", shortfall(),
                        trials[selected].recipe.to_string());
  if (out_of_time) text += "stopped at the end of the time budget\n";
  if (!blocked.empty()) text += blocked + "\n";
  text += fmt::format("{} on {} validation samples",
                      counted(std::ssize(trials) - early, "trial"),
                      group_digits(trials[selected].samples));
  if (early > 0) text += fmt::format(", {} on fewer", early);
  return fmt::format("{}\n\n{}", text, table.to_string());
}

}  // namespace octet::quant
