#include "trained_outputs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/detail/model_data.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "checks.h"
#include "losses/label_check.h"
#include "losses/metric_sums.h"

namespace octet::train {
namespace {

/// Returns the index of the output of layer `name`.
/// Throws: ValueError unless the layer has exactly one output.
size_t output_of(std::string_view subject, const Model& model,
                 const std::string& name) {
  const std::vector<std::string> names = quant::output_names(model);
  const auto count = std::ranges::count(names, name);
  if (count == 1) {
    return static_cast<size_t>(std::ranges::find(names, name) - names.begin());
  }
  if (count > 1) {
    throw ValueError(
        "duplicate_name", subject,
        fmt::format("layer '{}' has several outputs of model '{}'. Hint: omit "
                    "the names",
                    name, model.name()));
  }
  throw ValueError("unknown_name", subject,
                   fmt::format("model '{}' has no output '{}'{}", model.name(),
                               name, suggest_names(name, names)));
}

void check_weight(std::string_view subject, const TrainedOutput& output) {
  if (output.weight >= 0 && std::isfinite(output.weight)) return;
  throw ValueError(
      "out_of_range", subject,
      fmt::format("the weight of output '{}' must be finite and at least 0, "
                  "got {}",
                  output.name, number_text(output.weight)));
}

/// Returns the index of each output's label among `labels`, if any.
std::vector<std::optional<size_t>> label_places(
    std::string_view subject, const Model& model,
    const std::vector<TensorSpec>& labels,
    const std::vector<TrainedOutput>& trained) {
  const size_t outputs = model.outputs().size();
  std::vector<std::optional<size_t>> places(outputs);
  const bool named = !labels.empty() && !labels[0].name.empty();
  if (labels.size() == 1 && trained.size() == 1 && (outputs == 1 || !named)) {
    places[trained[0].index] = 0;
  } else if (named) {
    for (size_t i = 0; i < labels.size(); ++i) {
      places[output_of(fmt::format("{} labels", subject), model,
                       labels[i].name)] = i;
    }
  } else if (labels.size() == outputs) {
    std::iota(places.begin(), places.end(), size_t{0});
  } else if (labels.size() == trained.size()) {
    for (size_t i = 0; i < trained.size(); ++i) places[trained[i].index] = i;
  } else {
    throw ValueError(
        "count_mismatch", subject,
        fmt::format("data must have labels for {} of model '{}' ({}), got {} "
                    "labels",
                    trained.size() == 1 ? "the output" : "the outputs",
                    model.name(), fmt::join(quant::output_names(model), ", "),
                    labels.size()));
  }
  return places;
}

}  // namespace

TrainedOutputs::TrainedOutputs(std::string_view subject, const Model& model,
                               const Losses& losses, const Metrics& metrics) {
  const std::vector<OutputLoss>& given = losses.outputs();
  const std::vector<std::string> names = quant::output_names(model);
  const bool named = std::ranges::any_of(
      given, [](const auto& l) { return !l.output.empty(); });
  if (given.empty() || (!named && given.size() != names.size())) {
    throw ValueError(
        "count_mismatch", subject,
        fmt::format("model '{}' requires a loss for each of its {} outputs "
                    "({}), got {}",
                    model.name(), names.size(), fmt::join(names, ", "),
                    given.size()));
  }
  for (size_t i = 0; i < given.size(); ++i) {
    const OutputLoss& each = given[i];
    const size_t index =
        named ? output_of(fmt::format("{} loss", subject), model, each.output)
              : i;
    Loss loss = each.loss.for_model(model, index);
    const Metrics& own = each.metrics.empty() ? loss.metrics() : each.metrics;
    all_.push_back(
        {index, names[index], loss, each.weight, for_model(own, model, index)});
    check_weight(subject, all_.back());
  }
  std::ranges::stable_sort(all_, {}, &TrainedOutput::index);
  const auto twice =
      std::ranges::adjacent_find(all_, {}, &TrainedOutput::index);
  if (twice != all_.end()) {
    throw ValueError(
        "duplicate_name", subject,
        fmt::format("output '{}' has several losses", twice->name));
  }
  if (!metrics.empty()) {
    if (all_.size() > 1) {
      throw ValueError(
          "conflicting_options", subject,
          fmt::format("metrics of several outputs must be given with their "
                      "losses. Hint: .loss = {{{{\"{}\", loss, weight, "
                      "metrics}}, ...}}",
                      all_[0].name));
    }
    all_[0].metrics = for_model(metrics, model, all_[0].index);
  }
  for (const TrainedOutput& output : all_) {
    check_metrics(subject, output.metrics);
  }
}

const TrainedOutput& TrainedOutputs::only(std::string_view subject,
                                          std::string_view what) const {
  if (all_.size() == 1) return all_[0];
  throw ValueError("count_mismatch", subject,
                   fmt::format("{} require a single output with a loss, got {}",
                               what, all_.size()));
}

Dataset TrainedOutputs::matched(std::string_view subject, const Model& model,
                                const Dataset& data) const {
  const Dataset ordered = data_for(subject, model, data);
  const std::vector<TensorSpec> labels = ordered.label_specs();
  const auto places = label_places(subject, model, labels, all_);
  std::vector<size_t> chosen;
  for (const TrainedOutput& output : all_) {
    const std::optional<size_t> place = places[output.index];
    if (!place) {
      throw ValueError("missing_value", subject,
                       fmt::format("no labels for output '{}' of model '{}'",
                                   output.name, model.name()));
    }
    chosen.push_back(*place);
    check_targets(subject, model, output, labels[*place]);
  }
  const bool same =
      chosen.size() == labels.size() && std::ranges::is_sorted(chosen);
  std::vector<size_t> inputs(ordered.input_specs().size());
  std::iota(inputs.begin(), inputs.end(), size_t{0});
  Dataset result = same ? ordered : ordered.select(inputs, chosen);
  check_known_labels(subject, model, result, *this);
  return result;
}

std::vector<std::string> TrainedOutputs::value_names() const {
  std::vector<std::string> names;
  const bool several = all_.size() > 1;
  for (const TrainedOutput& output : all_) {
    if (several) names.push_back(output.name + "_loss");
  }
  for (const TrainedOutput& output : all_) {
    for (const Metric& metric : output.metrics) {
      names.push_back(several ? fmt::format("{}_{}", output.name, metric.name)
                              : metric.name);
    }
  }
  return names;
}

Batch TrainedOutputs::with_label(const Batch& batch, size_t which) {
  return {batch.inputs, {batch.labels[which]}, batch.weights};
}

BatchLoss TrainedOutputs::loss(const std::vector<Variable>& outputs,
                               const Batch& batch) const {
  BatchLoss result;
  for (size_t i = 0; i < all_.size(); ++i) {
    const TrainedOutput& output = all_[i];
    const Batch own = with_label(batch, i);
    const Variable losses = output.loss.each(outputs[output.index], own);
    Variable mean = mean_loss(losses, own.weights);  // checks the weights
    const double sum = loss_sum(losses, own);
    result.outputs.push_back(sum);
    result.sum += double{output.weight} * sum;
    if (output.weight != 1.0f) mean = scale_shift(mean, output.weight);
    result.mean = result.mean ? add(result.mean, mean) : mean;
  }
  return result;
}

}  // namespace octet::train
