#include "autotune/measurements.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/plan.h>
#include <octet/runtime/error.h>

#include "autotune/regions.h"
#include "autotune/schemes.h"

namespace octet::quant {
namespace {

void check_rows(const LatencyRounds& rows, size_t columns) {
  bool valid = !rows.empty();
  for (const std::vector<double>& row : rows) {
    valid = valid && row.size() == columns;
    for (const double value : row) {
      valid = valid && std::isfinite(value) && value > 0;
    }
  }
  if (valid) return;
  throw ValueError(
      "invalid_value", "AutotuneOptions::latencies",
      fmt::format("must return rounds of {} positive latencies", columns));
}

/// Returns the structure of a model, quantized or not.
std::string model_text(const Model& model) {
  const Model plain = without_quantizers(model);
  std::vector<size_t> nodes;
  for (size_t i = 0; i < plain.nodes().size(); ++i) {
    if (!plain.nodes()[i]->inputs.empty()) nodes.push_back(i);
  }
  return structure_of(plain, unit_of(plain, std::move(nodes)), plan_of(model));
}

}  // namespace

std::string milliseconds_text(double milliseconds) {
  constexpr double kWhole = 1000;  // digits before the point
  return milliseconds < kWhole ? fmt::format("{:.3g} ms", milliseconds)
                               : fmt::format("{:.0f} ms", milliseconds);
}

Measurements::Measurements(const Model& model, const AutotuneOptions& options)
    : model_(model), options_(options), state_(options.state) {}

LatencyMeasurement Measurements::compare(
    const std::string& subject, std::string_view purpose,
    const std::vector<Candidate>& candidates, OnFailure on_failure) {
  std::string text(purpose);
  for (const Candidate& candidate : candidates) {
    text += '\n' + candidate.name + ' ' + model_text(*candidate.model);
  }
  const std::string key = hash_text(text);
  for (const LatencyMeasurement& known : state_.measurements) {
    const bool complete = std::ranges::all_of(
        known.errors, [](const std::string& error) { return error.empty(); });
    if (known.key == key && complete &&
        known.models.size() == candidates.size()) {
      return known;
    }
  }
  LatencyMeasurement m{.key = key, .subject = subject};
  std::vector<const Model*> models;
  for (const Candidate& candidate : candidates) {
    m.models.push_back(candidate.name);
    models.push_back(candidate.model);
  }
  m.errors.resize(models.size());
  if (on_failure == OnFailure::error) {
    m.milliseconds = measured(models);
  } else {
    try {
      m.milliseconds = measured(models);
    } catch (const Error&) {
      measure_separately(candidates, m);
    }
  }
  state_.measurements.push_back(m);
  if (options_.on_change) options_.on_change(state_);
  return m;
}

LatencyRounds Measurements::measured(
    const std::vector<const Model*>& models) const {
  LatencyRounds rows = options_.latencies(models);
  check_rows(rows, models.size());
  return rows;
}

/// Measures each model alone to find those that fail, then the others
/// together. Throws: the error of the given model, if it fails, too.
void Measurements::measure_separately(const std::vector<Candidate>& candidates,
                                      LatencyMeasurement& m) const {
  std::vector<const Model*> usable;
  for (size_t i = 0; i < candidates.size(); ++i) {
    try {
      (void)measured({candidates[i].model});
      usable.push_back(candidates[i].model);
    } catch (const Error& error) {
      m.errors[i] = error.text();
    }
  }
  if (usable.empty()) (void)measured({&model_});
  if (!usable.empty()) m.milliseconds = measured(usable);
}

}  // namespace octet::quant
