#include "metric_sums.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/loss.h>

namespace octet::train {

MetricSums::MetricSums(Metrics metrics)
    : metrics_(std::move(metrics)), sums_(metrics_.size()) {}

void MetricSums::add(const Tensor& outputs, const Batch& batch) {
  const int64_t count = batch.inputs.shape()[0];
  for (size_t i = 0; i < metrics_.size(); ++i) {
    const std::vector<double> each = metrics_[i].each(outputs, batch);
    if (static_cast<int64_t>(each.size()) != count) {
      throw ValueError(fmt::format(
          "metric '{}': expected a value for each of {} samples, got {}",
          metrics_[i].name, count, each.size()));
    }
    // One after another, so that the size of the batches does not matter.
    for (const double value : each) sums_[i] += value;
  }
  samples_ += count;
}

void MetricSums::clear() {
  sums_.assign(metrics_.size(), 0.0);
  samples_ = 0;
}

void MetricSums::set(std::vector<double> sums, int64_t samples) {
  sums_ = std::move(sums);
  samples_ = samples;
}

std::vector<MetricValue> MetricSums::values() const {
  std::vector<MetricValue> result;
  result.reserve(metrics_.size());
  for (size_t i = 0; i < metrics_.size(); ++i) {
    result.push_back(
        {metrics_[i].name, sums_[i] / static_cast<double>(samples_)});
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
           static_cast<double>(batch.inputs.shape()[0]);
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
