#include "loss_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "../program.h"
#include "choice.h"

namespace octet::program {
namespace {

enum class LossWord { automatic, classes, shares, binary, squared, absolute };

train::Metrics class_metrics(const Model& model) {
  constexpr int64_t kTop = 5;
  train::Metrics metrics = {train::metrics::accuracy()};
  if (model.outputs()[0].shape()[-1] > kTop) {
    metrics.push_back(train::metrics::top_k_accuracy(kTop));
  }
  return metrics;
}

LossWord usual(const Model& model, const Dataset& data) {
  if (data.label_type() == DType::i64) {
    return model.outputs()[0].shape()[-1] == 1 ? LossWord::binary
                                               : LossWord::classes;
  }
  throw ValueError(
      "--loss: expected one for labels that are no classes but numbers "
      "(float32), got none. Hint: --loss mean_squared_error, or "
      "categorical_cross_entropy for shares of classes");
}

}  // namespace

void add_loss_option(Command& command, std::string& loss) {
  command
      .add("--loss", loss,
           "auto, for labels that are classes: cross_entropy, or "
           "binary_cross_entropy of a single output; for others "
           "categorical_cross_entropy, binary_cross_entropy, "
           "mean_squared_error or mean_absolute_error")
      .type("NAME")
      .show_default();
}

Measured measured_by(const std::string& loss, const Model& model,
                     const Dataset& data) {
  LossWord word =
      choice<LossWord, 6>("--loss", loss,
                          {{{"auto", LossWord::automatic},
                            {"cross_entropy", LossWord::classes},
                            {"categorical_cross_entropy", LossWord::shares},
                            {"binary_cross_entropy", LossWord::binary},
                            {"mean_squared_error", LossWord::squared},
                            {"mean_absolute_error", LossWord::absolute}}});
  if (model.outputs().size() != 1) {
    throw ValueError(fmt::format(
        "expected a model with one output, got '{}'. Hint: octet predict "
        "--labels NAME=y.npy gives the accuracy of each",
        fmt::join(quant::output_names(model), "', '")));
  }
  if (data.label_specs().empty()) {
    throw ValueError(
        "--labels: expected a file for data without labels, got none");
  }
  if (word == LossWord::automatic) word = usual(model, data);
  using namespace train::losses;
  switch (word) {
    case LossWord::classes:
      return {sparse_categorical_cross_entropy(), class_metrics(model)};
    case LossWord::shares:
      return {categorical_cross_entropy(), class_metrics(model)};
    case LossWord::binary:
      return {binary_cross_entropy(), {}};
    case LossWord::squared:
      return {mean_squared_error(), {}};
    default:
      return {mean_absolute_error(), {}};
  }
}

std::string to_text(const train::Evaluation& evaluation,
                    const std::string& loss) {
  std::string text =
      fmt::format("{:<18} {:.4f}  ({})\n", "loss", evaluation.loss, loss);
  for (const train::MetricValue& metric : evaluation.metrics) {
    const bool share = metric.name.find("accuracy") != std::string::npos;
    text += share ? fmt::format("{:<18} {:.2f} %\n", metric.name,
                                percent(metric.value))
                  : fmt::format("{:<18} {:.4f}\n", metric.name, metric.value);
  }
  return text;
}

Config to_config(const train::Evaluation& evaluation, const std::string& loss) {
  Config config;
  config.set("samples", evaluation.samples)
      .set("loss_name", loss)
      .set("loss", evaluation.loss);
  for (const train::MetricValue& metric : evaluation.metrics) {
    config.set(metric.name, metric.value);
  }
  return config;
}

std::function<double(const Model&, const Dataset&)> score_of(
    const Measured& by) {
  return [by](const Model& model, const Dataset& samples) {
    return train::evaluate(
               model, samples,
               {.loss = by.loss, .metrics = by.metrics, .verbose = false})
        .metrics[0]
        .value;
  };
}

}  // namespace octet::program
