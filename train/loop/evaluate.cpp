#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/detail/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/progress_line.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops/nn.h>
#include <octet/train/evaluate.h>

#include "checks.h"
#include "distributed/all_gather_or_throw.h"
#include "distributed/bytes.h"
#include "losses/label_check.h"
#include "losses/metric_sums.h"
#include "trained_outputs.h"

namespace octet::train {
namespace {

/// Returns the regularization loss of the parameters.
/// Model::regularization_loss() would add that of activations in the last
/// training pass.
double regularization_of_parameters(const Model& model) {
  double sum = 0;
  for (const Parameter& p : model.regularized_parameters()) {
    sum += double{
        regularization_loss(p.variable, p.regularizer.l1, p.regularizer.l2)
            .value()
            .item()};
  }
  return sum;
}

/// Calls `body(first, batch)` for all batches in order; with several `ranks`,
/// for every ranks-th batch, starting at batch `rank`.
template <class Body>
void for_batches(const Dataset& data, int64_t batch_size, const Body& body,
                 int64_t ranks = 1, int64_t rank = 0) {
  for (int64_t first = batch_size * rank; first < data.size();
       first += batch_size * ranks) {
    body(first, data.batch(first, std::min(batch_size, data.size() - first)));
  }
}

/// Contribution of a batch to an evaluation.
struct BatchResult {
  double loss = 0;
  int64_t samples = 0;
  MetricSums::Terms terms;
};

void write(BytesWriter& bytes, const BatchResult& result) {
  bytes.add_value(result.loss);
  bytes.add_value(result.samples);
  bytes.add_value(uint64_t{result.terms.size()});
  for (const std::vector<double>& terms : result.terms) {
    bytes.add_list(std::span<const double>(terms));
  }
}

BatchResult read_result(BytesReader& bytes) {
  BatchResult result;
  result.loss = bytes.value<double>();
  result.samples = bytes.value<int64_t>();
  result.terms.resize(bytes.value<uint64_t>());
  for (std::vector<double>& terms : result.terms) terms = bytes.list<double>();
  return result;
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
      "unknown_name", "Evaluation",
      fmt::format("has no value '{}'{}", name, suggest_names(name, names)));
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
  const TrainedOutputs trained("evaluate", model, options.loss,
                               options.metrics);
  const Dataset matched = trained.matched("evaluate", model, data);
  quant::expect_calibrated("evaluate", model);
  const quant::ObservingPaused paused(model);
  const NoGradGuard no_grad;
  MetricSums sums(trained);
  double total = 0;
  const auto take = [&](const BatchResult& result) {
    total += result.loss;
    sums.add(result.terms, result.samples);
  };
  LocalCommunicator alone;
  Communicator& ranks =
      options.communicator != nullptr ? *options.communicator : alone;
  ProgressLine progress("evaluate", data.size(), options.verbose);
  const auto measure = [&](const auto& measured) {
    for_batches(
        matched, options.batch_size,
        [&](int64_t first, const Batch& batch) {
          check_batch_labels("evaluate", model, batch, trained, first);
          const std::vector<Tensor> outputs = model.predict(batch.inputs);
          const BatchLoss loss =
              trained.loss({outputs.begin(), outputs.end()}, batch);
          measured(BatchResult{loss.sum, batch.size(),
                               sums.terms(outputs, batch, loss)});
          progress.advance(batch.size());
        },
        ranks.size(), ranks.rank());
  };
  if (ranks.size() == 1) {
    measure(take);
  } else {
    const std::vector<std::string> results = all_gather_or_throw(ranks, [&] {
      BytesWriter bytes;
      measure([&](const BatchResult& result) { write(bytes, result); });
      return bytes.take();
    });
    // In the order of the data, for the sums of a single rank.
    std::vector<BytesReader> readers(results.begin(), results.end());
    for (size_t rank = 0; !readers[rank].at_end();
         rank = (rank + 1) % readers.size()) {
      take(read_result(readers[rank]));
    }
  }
  Evaluation result{.loss = total / static_cast<double>(data.size()) +
                            regularization_of_parameters(model),
                    .samples = data.size(),
                    .metrics = sums.values()};
  result.accuracy = accuracy_of(result.metrics);
  if (std::isnan(result.loss)) {
    warn("nan_outputs", "evaluate",
         "outputs of some samples are NaN and count as wrong. Hint: check the "
         "samples for NaN, then the weights");
  }
  return result;
}

std::vector<Tensor> predict_all(const Model& model, const Dataset& data,
                                int64_t batch_size) {
  check_positive("predict", "batch_size", batch_size);
  const Dataset matched = data_for("predict", model, data);
  quant::expect_calibrated("predict", model);
  std::vector<Tensor> all(model.outputs().size());
  ProgressLine progress("predict", data.size());
  for_batches(matched, batch_size, [&](int64_t first, const Batch& batch) {
    const std::vector<Tensor> outputs = model.predict(batch.inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& part = outputs[i];
      if (all[i].empty()) all[i] = Tensor(part.shape().with(0, data.size()));
      Tensor rows = all[i].slice(first, batch.size());
      std::memcpy(rows.raw(), part.raw(), static_cast<size_t>(part.bytes()));
    }
    progress.advance(batch.size());
  });
  return all;
}

Tensor predict(const Model& model, const Dataset& data, int64_t batch_size) {
  if (model.outputs().size() != 1) {
    throw ValueError(
        "count_mismatch", fmt::format("model '{}'", model.name()),
        fmt::format("predict() requires a single output, got {}. Hint: "
                    "predict_all() returns all outputs",
                    model.outputs().size()));
  }
  return predict_all(model, data, batch_size)[0];
}

}  // namespace octet::train
