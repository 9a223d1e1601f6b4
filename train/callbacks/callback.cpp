#include <fmt/format.h>

#include <octet/train/callback.h>

namespace octet::train {

std::vector<MetricValue> Progress::logs() const {
  std::vector<MetricValue> result{{"loss", loss}};
  result.insert(result.end(), metrics.begin(), metrics.end());
  if (validation != nullptr) {
    result.push_back({"val_loss", validation->loss});
    for (const MetricValue& each : validation->metrics) {
      result.push_back({fmt::format("val_{}", each.name), each.value});
    }
  }
  if (gradient_norm) result.push_back({"gradient_norm", *gradient_norm});
  result.push_back({"learning_rate", learning_rate});
  return result;
}

}  // namespace octet::train
