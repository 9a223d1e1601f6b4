// Metrics: what is measured besides the loss, as a mean over samples.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <octet/runtime/dataset.h>

namespace octet::train {

struct MetricValue {
  std::string name;
  double value = 0;
};

/// One value per sample, of which the mean is reported. Class weights and
/// sample weights have no part in it, as in Keras.
struct Metric {
  /// Shapes: outputs [n,...] f32, a batch of n samples -> n values.
  using Function =
      std::function<std::vector<double>(const Tensor& outputs, const Batch&)>;
  std::string name;
  Function each;
};

using Metrics = std::vector<Metric>;

namespace metrics {

/// "accuracy": whether the label is the first of the largest outputs. A row
/// with a NaN is wrong. The label of targets [n,classes] is the first of the
/// largest.
/// Shapes: outputs [n,classes]; labels [n] i64 or [n,classes] f32.
Metric accuracy();

/// "top_5_accuracy": whether fewer than k outputs are before the label, being
/// larger, or equal and of a lower class. A row with a NaN is wrong.
/// Shapes: as accuracy. Throws: ValueError for k < 1.
Metric top_k_accuracy(int64_t k = 5);

/// "binary_accuracy": the share of outputs on the same side as their targets:
/// above `threshold` for targets above 0.5. The default suits logits.
/// Shapes: outputs [n,...]; labels of as many numbers, f32 or i64.
Metric binary_accuracy(float threshold = 0.0f);

/// "mean_absolute_error", "mean_squared_error" over a sample's outputs.
/// Shapes: outputs [n,...]; labels of as many numbers, f32.
Metric mean_absolute_error();
Metric mean_squared_error();

}  // namespace metrics
}  // namespace octet::train
