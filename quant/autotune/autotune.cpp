// The search: regions alone, then the whole model.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/autotune.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "autotune/measurements.h"
#include "autotune/regions.h"
#include "autotune/schemes.h"

namespace octet::quant {
namespace {

/// A pattern with the schemes of its regions.
struct RegionPattern {
  std::vector<size_t> regions;
  std::vector<TunedScheme> measured;
  std::string chosen = kPlanned;
  std::string reason;
  double benefit = 0;  ///< over the planned scheme in all regions, in ms
};

class Autotuner {
 public:
  Autotuner(const Model& int8, const AutotuneOptions& options)
      : options_(options),
        measurements_(int8, options),
        plan_(plan_of(int8)),
        float_model_(without_quantizers(int8)),
        quantizers_(int8),
        regions_(regions_of(float_model_, plan_, options.largest_region)) {}

  Tuned run() {
    probe();
    group();
    for (RegionPattern& pattern : patterns_) decide(pattern);
    return select();
  }

 private:
  /// Measures the given and the float model first: a measurement that cannot
  /// work ends the search here.
  void probe() {
    const Model planned = quantizers_.apply_to(float_model_, plan_);
    first_ = measurements_.compare(
        "model", "start", {{kFloat, &float_model_}, {kPlanned, &planned}},
        OnFailure::error);
  }

  void group() {
    std::map<std::string, size_t> known;
    for (size_t i = 0; i < regions_.size(); ++i) {
      const Region& region = regions_[i];
      if (region.plan.points.empty()) continue;
      const auto [entry, is_new] = known.emplace(
          region.repeated ? fmt::format("repeated {}", i) : region.structure,
          patterns_.size());
      if (is_new) patterns_.emplace_back();
      patterns_[entry->second].regions.push_back(i);
    }
  }

  void decide(RegionPattern& pattern) {
    const Region& region = regions_[pattern.regions[0]];
    if (region.repeated) {
      pattern.reason = "kept: a layer is called several times";
      return;
    }
    const Model alone = extract_unit(float_model_, region.unit);
    const std::vector<Scheme> schemes = schemes_of(float_model_, region);
    std::vector<Model> models;
    models.reserve(schemes.size());
    for (const Scheme& scheme : schemes) {
      models.push_back(quantizers_.apply_to(alone, scheme.plan));
    }
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < schemes.size(); ++i) {
      candidates.push_back({schemes[i].name, &models[i]});
    }
    const LatencyMeasurement m =
        measurements_.compare(classes_text(float_model_, region.unit), "region",
                              candidates, OnFailure::record);
    choose(pattern, schemes, m);
  }

  void choose(RegionPattern& pattern, const std::vector<Scheme>& schemes,
              const LatencyMeasurement& m) const {
    std::optional<size_t> of_float, best;
    double best_ratio = 1 - options_.gain, planned = 0;
    size_t column = 0;
    for (size_t i = 0; i < schemes.size(); ++i) {
      TunedScheme& scheme = pattern.measured.emplace_back();
      scheme.name = schemes[i].name;
      scheme.points = std::ssize(schemes[i].plan.points);
      scheme.error = m.errors[i];
      if (!scheme.error.empty()) continue;
      scheme.latency = median_latency(m.milliseconds, column);
      if (i == 0) {
        of_float = column;
      } else if (of_float) {
        const double ratio =
            latency_ratio(m.milliseconds, column, *of_float).ratio;
        if (scheme.name == kPlanned) planned = ratio;
        if (ratio <= best_ratio) {
          best = i;
          best_ratio = ratio;
        }
      }
      ++column;
    }
    const std::string& float_error = pattern.measured[0].error;
    const std::string& planned_error = pattern.measured[1].error;
    if (!float_error.empty() || !planned_error.empty()) {
      pattern.reason =
          fmt::format("kept: not measured alone: {}",
                      planned_error.empty() ? float_error : planned_error);
      return;
    }
    const double base = pattern.measured[0].latency;
    if (!best) {
      pattern.chosen = kFloat;
      pattern.reason =
          fmt::format("float: {}, quantized {}", milliseconds_text(base),
                      milliseconds_text(pattern.measured[1].latency));
    } else {
      pattern.chosen = schemes[*best].name;
      pattern.reason = fmt::format(
          "{}: {} -> {}", pattern.chosen == kPlanned ? "kept" : pattern.chosen,
          milliseconds_text(base),
          milliseconds_text(pattern.measured[*best].latency));
    }
    const double chosen_ratio = best ? best_ratio : 1;
    pattern.benefit = (planned - chosen_ratio) * base *
                      static_cast<double>(pattern.regions.size());
  }

  /// Returns the plan with the decisions of these patterns, and the planned
  /// scheme in others.
  QdqPlan plan_with(const std::vector<size_t>& decided) const {
    std::set<std::string> replaced;
    std::map<std::string, std::vector<QdqPoint>> chosen;
    for (const size_t p : decided) {
      for (const size_t r : patterns_[p].regions) {
        replaced.insert(regions_[r].layers.begin(), regions_[r].layers.end());
        for (const Scheme& scheme : schemes_of(float_model_, regions_[r])) {
          if (scheme.name != patterns_[p].chosen) continue;
          for (const QdqPoint& point : scheme.plan.points) {
            chosen[point.layer].push_back(point);
          }
        }
      }
    }
    QdqPlan plan;
    for (const QdqPoint& point : plan_.points) {
      if (!replaced.contains(point.layer)) {
        plan.points.push_back(point);
        continue;
      }
      const std::vector<QdqPoint>& kept = chosen[point.layer];
      if (std::ranges::find(kept, point) != kept.end()) {
        plan.points.push_back(point);
      }
    }
    return plan;
  }

  Tuned select() {
    // Patterns that differ from the given placement, the clearest first.
    std::vector<size_t> order;
    for (size_t p = 0; p < patterns_.size(); ++p) {
      if (patterns_[p].chosen != kPlanned) order.push_back(p);
    }
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
      return patterns_[a].benefit > patterns_[b].benefit;
    });
    // From few Q/DQ to many.
    std::vector<Scheme> schemes = {{kFloat, {}}};
    std::vector<size_t> decided = {0};
    const auto add = [&](std::string name, QdqPlan plan, size_t count) {
      if (std::ranges::none_of(schemes, [&](const Scheme& other) {
            return other.plan == plan;
          })) {
        schemes.push_back({std::move(name), std::move(plan)});
        decided.push_back(count);
      }
    };
    for (size_t count = order.size(); count > 0; count /= 2) {
      add(fmt::format("{} of {} decisions", count, order.size()),
          plan_with({order.begin(),
                     order.begin() + static_cast<std::ptrdiff_t>(count)}),
          count);
    }
    add(kPlanned, plan_, 0);
    std::vector<Model> models;
    models.reserve(schemes.size());
    for (const Scheme& scheme : schemes) {
      models.push_back(quantizers_.apply_to(float_model_, scheme.plan));
    }
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < schemes.size(); ++i) {
      candidates.push_back({schemes[i].name, &models[i]});
    }
    const LatencyMeasurement m =
        candidates.size() == 2
            ? first_
            : measurements_.compare("model", "select", candidates,
                                    OnFailure::record);
    const size_t best = fewest_points_of_fastest(m);
    for (size_t k = 0; k < order.size(); ++k) {
      if (schemes[best].name == kFloat || k < decided[best]) continue;
      RegionPattern& pattern = patterns_[order[k]];
      pattern.chosen = kPlanned;
      pattern.reason =
          fmt::format("kept: faster in the model; alone {}", pattern.reason);
    }
    return confirmed(schemes[best], models[best]);
  }

  /// Returns the first candidate, in ascending order of Q/DQ, that is not
  /// slower than the fastest beyond noise, nor by the gain that Q/DQ must have.
  size_t fewest_points_of_fastest(const LatencyMeasurement& m) const {
    std::vector<size_t> usable;
    for (size_t i = 0; i < m.errors.size(); ++i) {
      if (m.errors[i].empty()) usable.push_back(i);
    }
    const size_t last = usable.size() - 1;
    size_t fastest = last;
    double least = 1;
    for (size_t c = 0; c < last; ++c) {
      const double ratio = latency_ratio(m.milliseconds, c, last).ratio;
      if (ratio < least) {
        least = ratio;
        fastest = c;
      }
    }
    for (size_t c = 0; c < fastest; ++c) {
      const LatencyRatio ratio = latency_ratio(m.milliseconds, c, fastest);
      if (!ratio.is_slower() && ratio.ratio * (1 - options_.gain) <= 1) {
        return usable[c];
      }
    }
    return usable[fastest];
  }

  /// Measures the selected model again and replaces it if it is slower.
  Tuned confirmed(const Scheme& chosen, const Model& model) {
    const Model planned = quantizers_.apply_to(float_model_, plan_);
    const bool third = chosen.name != kFloat && chosen.name != kPlanned;
    std::vector<Candidate> candidates = {{kFloat, &float_model_},
                                         {kPlanned, &planned}};
    if (third) candidates.push_back({"tuned", &model});
    LatencyMeasurement m =
        measurements_.compare("model", "confirm", candidates, OnFailure::error);
    size_t column = third ? 2 : chosen.name == kPlanned ? 1 : 0;
    Tuned result{.model = float_model_.clone()};
    const char* const names[] = {kFloat, kPlanned, "tuned"};
    for (const size_t other : {size_t{1}, size_t{0}}) {
      const LatencyRatio ratio = latency_ratio(m.milliseconds, column, other);
      // In much noise the median decides.
      const bool slower = ratio.is_slower() || ratio.ratio > 1 + options_.gain;
      if (column == other || !slower) continue;
      result.note += fmt::format(
          "{}the {} model is slower than the {} one: {} instead of {}",
          result.note.empty() ? "" : "; ", names[column], names[other],
          milliseconds_text(median_latency(m.milliseconds, column)),
          milliseconds_text(median_latency(m.milliseconds, other)));
      column = other;
    }
    result.selected = column == 0   ? TunedModel::float_model
                      : column == 1 ? TunedModel::planned
                                    : TunedModel::tuned;
    result.plan = column == 0 ? QdqPlan{} : column == 1 ? plan_ : chosen.plan;
    result.model = quantizers_.apply_to(float_model_, result.plan);
    result.latency = median_latency(m.milliseconds, column);
    result.float_latency = median_latency(m.milliseconds, 0);
    result.planned_latency = median_latency(m.milliseconds, 1);
    result.to_float = latency_ratio(m.milliseconds, column, 0);
    result.to_planned = latency_ratio(m.milliseconds, column, 1);
    describe(result);
    return result;
  }

  /// Adds the patterns and the reasons of the plan.
  void describe(Tuned& result) const {
    std::map<std::string, std::string> reasons;
    for (const RegionPattern& pattern : patterns_) {
      TunedPattern& shown = result.patterns.emplace_back();
      const Region& first = regions_[pattern.regions[0]];
      shown.name = classes_text(float_model_, first.unit);
      shown.schemes = pattern.measured;
      shown.chosen = pattern.chosen;
      shown.reason = pattern.reason;
      if (result.selected == TunedModel::float_model) {
        shown.chosen = kFloat;
      } else if (result.selected == TunedModel::planned) {
        shown.chosen = kPlanned;
      }
      if (shown.chosen != pattern.chosen) {
        shown.reason = fmt::format("{} in the model; alone {}", shown.chosen,
                                   pattern.reason);
      }
      for (const size_t r : pattern.regions) {
        shown.regions.push_back(regions_[r].layers);
        for (const std::string& layer : regions_[r].layers) {
          reasons[layer] = shown.reason;
        }
      }
    }
    for (QdqPoint& point : result.plan.points) {
      const auto found = reasons.find(point.layer);
      if (found != reasons.end()) point.reason = found->second;
    }
  }

  const AutotuneOptions& options_;
  Measurements measurements_;
  QdqPlan plan_;
  Model float_model_;
  CalibratedQuantizers quantizers_;
  std::vector<Region> regions_;
  std::vector<RegionPattern> patterns_;
  LatencyMeasurement first_;
};

}  // namespace

Tuned autotune(const Model& int8, const AutotuneOptions& options) {
  if (!options.latencies) {
    throw ValueError("missing_value", "autotune",
                     "needs AutotuneOptions::latencies");
  }
  if (!(options.gain >= 0 && options.gain < 1)) {
    throw ValueError(
        "out_of_range", "autotune",
        fmt::format("gain must be in [0,1), got {}", options.gain));
  }
  if (options.largest_region < 1) {
    throw ValueError("out_of_range", "autotune",
                     fmt::format("largest_region must be >= 1, got {}",
                                 options.largest_region));
  }
  if (!is_quantized(int8)) {
    throw ValueError("not_quantized", "autotune",
                     "the model has no Q/DQ. Hint: quantize and calibrate it "
                     "first");
  }
  expect_calibrated("autotune", int8);
  return Autotuner(int8, options).run();
}

}  // namespace octet::quant
