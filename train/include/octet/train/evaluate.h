// evaluate and predict: a trained model on data, without changing it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/communicator.h>
#include <octet/train/loss.h>
#include <octet/train/metric.h>

namespace octet::train {

struct Evaluation {
  /// Mean over the samples, plus the parameters' regularizers.
  double loss = 0;
  /// Share of right top-1 answers, [0, 1]; NaN if that is not measured.
  double accuracy = 0;
  int64_t samples = 0;
  std::vector<MetricValue> metrics = {};  ///< all, in the order asked for

  /// "loss" or a metric. Throws: NotFoundError naming the nearest.
  double value(std::string_view name) const;
};

/// "accuracy 91.23 %, loss 0.2456 (10000 samples)", then other metrics.
std::ostream& operator<<(std::ostream& out, const Evaluation& evaluation);

/// Fields in order: batch_size, loss, metrics, verbose, communicator
struct EvaluateOptions {
  int64_t batch_size = 1000;
  Losses loss = losses::sparse_categorical_cross_entropy();
  Metrics metrics = {};  ///< of the only output; none: those of the loss
  /// Show how far it is; unless given, on a terminal after a second.
  std::optional<bool> verbose = {};
  /// Ranks that share the batches among them, if any; all call evaluate() with
  /// the same model and data, and get the same bits as one would.
  Communicator* communicator = nullptr;
};

/// Runs the model in inference on all samples, in order. The same bits for
/// any batch size if loss and metrics look at each sample alone. Quantizers
/// that collect ranges see nothing of it.
/// Throws: ValueError for options out of range, data that does not fit the
/// model or the loss, labels out of range, or a quantized model that is not
/// calibrated; on all ranks, what throws on one.
Evaluation evaluate(const Model& model, const Dataset& data,
                    const EvaluateOptions& options = {});

/// The model's only output for all samples, in order.
/// Shapes: -> [n,...]. Throws: ValueError as evaluate, and for several outputs.
Tensor predict(const Model& model, const Dataset& data,
               int64_t batch_size = 1000);
/// All outputs for all samples, in the model's order.
std::vector<Tensor> predict_all(const Model& model, const Dataset& data,
                                int64_t batch_size = 1000);

}  // namespace octet::train
