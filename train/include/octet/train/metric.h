// Metrics: what is measured besides the loss, as a mean over samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::train {

struct MetricValue {
  std::string name;
  double value = 0;
};

/// One value per sample, of which the mean is reported. Of a model with several
/// outputs it sees one, and a Batch with the labels of that one alone. Class
/// weights and sample weights have no part in it, as in Keras.
struct Metric {
  /// Shapes: outputs [n,...] f32, a batch of n samples -> n values.
  using Function =
      std::function<std::vector<double>(const Tensor& outputs, const Batch&)>;

  Metric() = default;
  Metric(std::string metric_name, Function function,
         std::function<Metric(const std::string& activation)> adapted = {})
      : name(std::move(metric_name)),
        each(std::move(function)),
        adapt(std::move(adapted)) {}
  /// The metric that Octet or Keras calls so: see loss_names.h.
  /// Throws: NotFoundError with the nearest names.
  Metric(const char* known);
  Metric(const std::string& known);

  std::string name;
  Function each;
  /// The metric for a model that ends in an activation, see
  /// output_activation(); empty: the same for all.
  std::function<Metric(const std::string& activation)> adapt = {};
};

using Metrics = std::vector<Metric>;

/// The metrics as they are for an output of `model`: fit() and evaluate() ask
/// for it.
Metrics for_model(const Metrics& metrics, const Model& model, size_t output);

namespace metrics {

/// "accuracy": whether the label is the first of the largest outputs. A row
/// with a NaN is wrong. The label of targets [n,classes] is the first of the
/// largest. Where a sample has several places, pixels of an image, the share of
/// those that are right, without those labelled `ignore_label`; 0 if there are
/// no others. Of a single output it is binary_accuracy(), as in Keras.
/// Shapes: outputs [n,...,classes]; labels [n,...] i64, or as outputs, f32.
Metric accuracy(std::optional<int64_t> ignore_label = {});

/// "top_5_accuracy": whether fewer than k outputs are before the label, being
/// larger, or equal and of a lower class. A row with a NaN is wrong.
/// Shapes: as accuracy. Throws: ValueError for k < 1.
Metric top_k_accuracy(int64_t k = 5);

/// "binary_accuracy": the share of outputs on the same side as their targets:
/// above `threshold` for targets above 0.5. If it is not given, fit() and
/// evaluate() take 0.5 for a model that ends in a sigmoid or softmax; others,
/// and custom loops, have 0, which suits logits.
/// Shapes: outputs [n,...]; labels of the same shape but for axes of size 1 at
/// the end, f32 or i64.
Metric binary_accuracy(std::optional<float> threshold = {});

/// "mean_absolute_error", "mean_squared_error" over a sample's outputs.
/// Shapes: outputs [n,...]; labels of the same shape but for axes of size 1 at
/// the end.
Metric mean_absolute_error();
Metric mean_squared_error();

}  // namespace metrics
}  // namespace octet::train
