// Latencies in rounds, and their state.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/autotune.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Config::List texts(const std::vector<std::string>& values) {
  return {values.begin(), values.end()};
}

std::vector<std::string> texts_of(const Config& config) {
  std::vector<std::string> values;
  for (const Config& value : config.as_list()) {
    values.push_back(value.as_string());
  }
  return values;
}

LatencyMeasurement measurement_of(const Config& config) {
  LatencyMeasurement m{.key = config.at("key").as_string(),
                       .subject = config.at("subject").as_string(),
                       .models = texts_of(config.at("models")),
                       .errors = texts_of(config.at("errors"))};
  size_t columns = 0;
  for (const std::string& error : m.errors) columns += error.empty();
  for (const Config& row : config.at("milliseconds").as_list()) {
    std::vector<double>& values = m.milliseconds.emplace_back();
    for (const Config& value : row.as_list()) {
      values.push_back(value.as_number());
    }
    if (values.size() != columns ||
        std::ranges::any_of(values, [](double v) { return !(v > 0); })) {
      throw ValueError("invalid_value", "milliseconds",
                       fmt::format("a round of '{}' must have {} positive "
                                   "latencies",
                                   m.subject, columns));
    }
  }
  if (m.models.size() != m.errors.size() ||
      (columns > 0 && m.milliseconds.empty())) {
    throw ValueError(
        "invalid_value", "milliseconds",
        fmt::format("the measurement of '{}' is incomplete", m.subject));
  }
  return m;
}

}  // namespace

MeasureLatencies in_rounds(std::function<double(const Model&)> latency,
                           int64_t rounds) {
  if (rounds < 1) {
    throw ValueError("out_of_range", "in_rounds",
                     fmt::format("rounds must be >= 1, got {}", rounds));
  }
  return [latency = std::move(latency),
          rounds](const std::vector<const Model*>& models) {
    LatencyRounds rows;
    for (int64_t i = 0; i < rounds; ++i) {
      std::vector<double>& row = rows.emplace_back();
      for (const Model* model : models) row.push_back(latency(*model));
    }
    return rows;
  };
}

LatencyRatio latency_ratio(const LatencyRounds& rounds, size_t a, size_t b) {
  // Of the median of normal values with this median absolute deviation.
  constexpr double kDeviation = 1.4826, kMedianError = 1.2533;
  std::vector<double> ratios;
  for (const std::vector<double>& row : rounds) {
    ratios.push_back(row.at(a) / row.at(b));
  }
  LatencyRatio result{.ratio = median_of(ratios)};
  for (double& ratio : ratios) ratio = std::abs(ratio - result.ratio);
  result.noise = 2 * kMedianError * kDeviation * median_of(ratios) /
                 std::sqrt(static_cast<double>(rounds.size()));
  return result;
}

double median_latency(const LatencyRounds& rounds, size_t column) {
  std::vector<double> values;
  for (const std::vector<double>& row : rounds)
    values.push_back(row.at(column));
  return median_of(std::move(values));
}

Config to_config(const AutotuneState& state) {
  Config::List measurements;
  for (const LatencyMeasurement& m : state.measurements) {
    Config::List rows;
    for (const std::vector<double>& row : m.milliseconds) {
      rows.push_back(Config::List(row.begin(), row.end()));
    }
    measurements.push_back(Config()
                               .set("key", m.key)
                               .set("subject", m.subject)
                               .set("models", texts(m.models))
                               .set("milliseconds", std::move(rows))
                               .set("errors", texts(m.errors)));
  }
  return Config().set("measurements", std::move(measurements));
}

AutotuneState autotune_state_from_config(const Config& config) {
  AutotuneState state;
  for (const Config& entry : config.at("measurements").as_list()) {
    state.measurements.push_back(measurement_of(entry));
  }
  return state;
}

}  // namespace octet::quant
