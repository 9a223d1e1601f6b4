#include "metric_sums.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/loss.h>

namespace octet::train {

MetricSums::MetricSums(TrainedOutputs outputs)
    : outputs_(std::move(outputs)),
      names_(outputs_.value_names()),
      sums_(names_.size()) {}

MetricSums::Terms MetricSums::terms(const std::vector<Tensor>& outputs,
                                    const Batch& batch,
                                    const BatchLoss& loss) const {
  Terms result;
  if (outputs_.all().size() > 1) {
    for (const double each : loss.outputs) result.push_back({each});
  }
  for (size_t i = 0; i < outputs_.all().size(); ++i) {
    const TrainedOutput& output = outputs_.all()[i];
    const Batch own = TrainedOutputs::with_label(batch, i);
    for (const Metric& metric : output.metrics) {
      std::vector<double> each = metric.each(outputs[output.index], own);
      if (std::ssize(each) != batch.size()) {
        throw ValueError(
            "count_mismatch", fmt::format("metric '{}'", metric.name),
            fmt::format("must return a value for each of {} samples, got {}",
                        batch.size(), each.size()));
      }
      result.push_back(std::move(each));
    }
  }
  return result;
}

void MetricSums::add(const Terms& terms, int64_t samples) {
  for (size_t i = 0; i < terms.size(); ++i) {
    // In sample order, so that the sum does not depend on the batch size.
    for (const double value : terms[i]) sums_[i] += value;
  }
  samples_ += samples;
}

void MetricSums::clear() {
  sums_.assign(names_.size(), 0.0);
  samples_ = 0;
}

void MetricSums::set(std::vector<double> sums, int64_t samples) {
  sums_ = std::move(sums);
  samples_ = samples;
}

std::vector<MetricValue> MetricSums::values() const {
  std::vector<MetricValue> result;
  result.reserve(names_.size());
  for (size_t i = 0; i < names_.size(); ++i) {
    result.push_back({names_[i], sums_[i] / static_cast<double>(samples_)});
  }
  return result;
}

double accuracy_of(const std::vector<MetricValue>& values) {
  for (const MetricValue& each : values) {
    if (each.name == "accuracy") return each.value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double loss_sum(const Variable& losses, const Batch& batch) {
  if (losses.shape().rank() == 0) {
    return double{mean_loss(losses, batch.weights).value().item()} *
           static_cast<double>(batch.size());
  }
  const auto values = losses.value().f32();
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += batch.weights.empty()
               ? double{values[i]}
               : double{batch.weights.f32()[i]} * double{values[i]};
  }
  return sum;
}

}  // namespace octet::train
