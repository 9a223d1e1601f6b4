#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <string>

#include <fmt/format.h>

#include <octet/quant/qat.h>
#include <octet/runtime/error.h>
#include <octet/runtime/near_names.h>
#include <octet/runtime/ops/loss.h>
#include <octet/train/evaluate.h>

#include "checks.h"
#include "label_check.h"
#include "metric_sums.h"

namespace octet::train {
namespace {

/// That of the parameters alone: Model::regularization_loss() also has that of
/// outputs, from the last pass in training.
double regularization_of_parameters(const Model& model) {
  double sum = 0;
  for (const Parameter& p : model.parameters()) {
    if (p.regularizer.none() || !p.variable.requires_grad()) continue;
    sum += double{
        regularization_loss(p.variable, p.regularizer.l1, p.regularizer.l2)
            .value()
            .item()};
  }
  return sum;
}

/// Calls `body(first, batch)` for all samples in order.
template <class Body>
void for_batches(const Dataset& data, int64_t batch_size, const Body& body) {
  int64_t count = 0;
  for (int64_t first = 0; first < data.size(); first += count) {
    count = std::min(batch_size, data.size() - first);
    body(first, data.batch(first, count));
  }
}

}  // namespace

double Evaluation::value(std::string_view name) const {
  if (name == "loss") return loss;
  std::vector<std::string> names{"loss"};
  for (const MetricValue& each : metrics) {
    if (each.name == name) return each.value;
    names.push_back(each.name);
  }
  throw NotFoundError(
      fmt::format("evaluation: expected a measured value, got "
                  "'{}'{}",
                  name, suggest_names(name, names)));
}

std::ostream& operator<<(std::ostream& out, const Evaluation& evaluation) {
  std::string text;
  if (!std::isnan(evaluation.accuracy)) {
    text = fmt::format("accuracy {:.2f} %, ", 100.0 * evaluation.accuracy);
  }
  text += fmt::format("loss {:.4f}", evaluation.loss);
  for (const MetricValue& each : evaluation.metrics) {
    if (each.name == "accuracy") continue;
    text += fmt::format(", {} {:.4f}", each.name, each.value);
  }
  return out << fmt::format("{} ({} samples)", text, evaluation.samples);
}

Evaluation evaluate(const Model& model, const Dataset& data,
                    const EvaluateOptions& options) {
  check_positive("evaluate", "batch_size", options.batch_size);
  check_data("evaluate", model, data);
  quant::expect_calibrated("evaluate", model);
  const Loss adapted = options.loss.for_model(model);
  check_targets("evaluate", model, data, adapted);
  check_known_labels("evaluate", model, data, adapted);
  const Metrics metrics = options.metrics.empty()
                              ? adapted.metrics()
                              : for_model(options.metrics, model);
  check_metrics("evaluate", metrics);
  const quant::ObservingPaused paused(model);
  const NoGradGuard no_grad;
  MetricSums sums(metrics);
  double loss = 0;
  for_batches(data, options.batch_size, [&](int64_t first, const Batch& batch) {
    check_batch_labels("evaluate", model, batch, adapted, first);
    const Tensor outputs = model.predict(batch.inputs);
    loss += loss_sum(adapted.each(Variable(outputs), batch), batch);
    sums.add(outputs, batch);
  });
  Evaluation result{.loss = loss / static_cast<double>(data.size()) +
                            regularization_of_parameters(model),
                    .samples = data.size(),
                    .metrics = sums.values()};
  result.accuracy = accuracy_of(result.metrics);
  return result;
}

Evaluation evaluate(const Model& model, const Dataset& data,
                    int64_t batch_size) {
  return evaluate(model, data, EvaluateOptions{.batch_size = batch_size});
}

Tensor predict(const Model& model, const Dataset& data, int64_t batch_size) {
  check_positive("predict", "batch_size", batch_size);
  check_data("predict", model, data);
  quant::expect_calibrated("predict", model);
  Tensor all;
  for_batches(data, batch_size, [&](int64_t first, const Batch& batch) {
    const Tensor outputs = model.predict(batch.inputs);
    if (all.empty()) all = Tensor(outputs.shape().with(0, data.size()));
    Tensor rows = all.slice(first, outputs.shape()[0]);
    std::memcpy(rows.raw(), outputs.raw(),
                static_cast<size_t>(outputs.bytes()));
  });
  return all;
}

}  // namespace octet::train
