#include "fit_state.h"

#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::train {
namespace {

Config to_config(const std::vector<MetricValue>& values) {
  Config::List list;
  for (const MetricValue& each : values) {
    list.push_back(Config().set("name", each.name).set("value", each.value));
  }
  return list;
}

std::vector<MetricValue> values_from(const Config& config) {
  std::vector<MetricValue> values;
  for (const Config& each : config.as_list()) {
    values.push_back(
        {each.at("name").as_string(), each.at("value").as_number()});
  }
  return values;
}

}  // namespace

Config to_config(const Evaluation& evaluation) {
  return Config()
      .set("loss", evaluation.loss)
      .set("accuracy", evaluation.accuracy)
      .set("samples", evaluation.samples)
      .set("metrics", to_config(evaluation.metrics));
}

Evaluation evaluation_from(const Config& config) {
  return {.loss = config.at("loss").as_number(),
          .accuracy = config.at("accuracy").as_number(),
          .samples = config.at("samples").as_int(),
          .metrics = values_from(config.at("metrics"))};
}

namespace {

Config to_config(const EpochResult& epoch) {
  Config::List validation;
  for (const Evaluation& each : epoch.validation) {
    validation.push_back(to_config(each));
  }
  return Config()
      .set("loss", epoch.loss)
      .set("accuracy", epoch.accuracy)
      .set("seconds", epoch.seconds)
      .set("learning_rate", epoch.learning_rate)
      .set("gradient_norm",
           epoch.gradient_norm ? Config(*epoch.gradient_norm) : Config())
      .set("metrics", to_config(epoch.metrics))
      .set("validation", std::move(validation));
}

EpochResult epoch_from(const Config& config) {
  EpochResult epoch{.loss = config.at("loss").as_number(),
                    .accuracy = config.at("accuracy").as_number(),
                    .seconds = config.at("seconds").as_number(),
                    .learning_rate = config.at("learning_rate").as_number(),
                    .metrics = values_from(config.at("metrics"))};
  if (const Config& norm = config.at("gradient_norm"); !norm.is_null()) {
    epoch.gradient_norm = norm.as_number();
  }
  for (const Config& each : config.at("validation").as_list()) {
    epoch.validation.push_back(evaluation_from(each));
  }
  return epoch;
}

}  // namespace

Config to_config(const FitState& state) {
  const Progress& progress = state.progress;
  Config::List history;
  for (const EpochResult& epoch : state.history) {
    history.push_back(to_config(epoch));
  }
  return Config()
      .set("epoch", progress.epoch)
      .set("batch", progress.step)
      .set("epoch_done", state.epoch_done)
      .set("samples", progress.samples)
      .set("seconds", progress.seconds)
      .set("learning_rate", progress.learning_rate)
      .set("loss_sum", state.loss_total)
      .set("norm_sum", state.norm_total)
      .set("norms", state.norm_count)
      .set("metric_sums",
           Config::List(state.metric_sums.begin(), state.metric_sums.end()))
      .set("factors", static_cast<int64_t>(state.schedule.value()))
      .set("history", std::move(history));
}

void restore_from(const Config& config, FitState& state) {
  Progress progress = state.progress;
  progress.epoch = config.at("epoch").as_int();
  progress.step = config.at("batch").as_int();
  progress.samples = config.at("samples").as_int();
  progress.seconds = config.at("seconds").as_number();
  progress.learning_rate = config.at("learning_rate").as_number();
  std::vector<double> sums;
  for (const Config& sum : config.at("metric_sums").as_list()) {
    sums.push_back(sum.as_number());
  }
  History history;
  for (const Config& epoch : config.at("history").as_list()) {
    history.push_back(epoch_from(epoch));
  }
  const bool done = config.at("epoch_done").as_bool();
  const int64_t epochs = progress.epoch + (done ? 1 : 0);
  if (progress.step < 0 || progress.step > progress.steps ||
      sums.size() != state.metric_sums.size() ||
      std::ssize(history) != epochs) {
    throw ValueError(
        "malformed_file", "checkpoint",
        fmt::format(
            "expected at most {} batches, {} metrics and {} epochs, got "
            "{}, {} and {}",
            progress.steps, state.metric_sums.size(), epochs, progress.step,
            sums.size(), history.size()));
  }
  const double loss_total = config.at("loss_sum").as_number();
  const double norm_total = config.at("norm_sum").as_number();
  const int64_t norms = config.at("norms").as_int();
  state.schedule = Fnv1a(static_cast<uint64_t>(config.at("factors").as_int()));
  state.progress = std::move(progress);
  state.loss_total = loss_total;
  state.norm_total = norm_total;
  state.norm_count = norms;
  state.metric_sums = std::move(sums);
  state.epoch_done = done;
  state.history = std::move(history);
}

std::vector<NamedParameter> named_parameters(const Model& model) {
  std::vector<NamedParameter> result;
  std::unordered_set<uint64_t> known;
  for (const auto& layer : model.layers()) {
    const std::string& name = quant::float_layer(*layer).name();
    for (const Parameter& p : layer->parameters()) {
      if (!known.insert(p.variable.id()).second) continue;
      result.push_back({fmt::format("{}/{}:0", name, p.name), p});
    }
  }
  for (const auto& layer : model.layers()) {
    const std::string& name = quant::float_layer(*layer).name();
    for (const Parameter& p : layer->scale_parameters()) {
      if (!known.insert(p.variable.id()).second) continue;
      result.push_back({fmt::format("{}/{}:0", name, p.name), p});
    }
  }
  return result;
}

}  // namespace octet::train
