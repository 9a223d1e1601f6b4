// Evaluation, and other passes over a data set without gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/calibrate.h>
#include <octet/runtime/dataset.h>
#include <octet/train/communicator.h>
#include <octet/train/loss.h>
#include <octet/train/metric.h>

namespace octet::train {

// evaluate and predict: run a model on data in inference mode. The model stays
// unchanged.

/// Loss and metrics of a model on a dataset.
struct Evaluation {
  /// Mean over the samples, plus the regularization loss of the parameters.
  double loss = 0;
  /// Top-1 accuracy, [0, 1]; NaN unless "accuracy" is among the metrics.
  double accuracy = 0;
  int64_t samples = 0;                    ///< number of evaluated samples
  std::vector<MetricValue> metrics = {};  ///< in the requested order

  /// Returns the loss ("loss") or a metric by its name.
  /// Throws: NotFoundError with similar names.
  double value(std::string_view name) const;
};

/// Prints "accuracy 91.23 %, loss 0.2456, top_5_accuracy 0.9900 (10000
/// samples)".
std::ostream& operator<<(std::ostream& out, const Evaluation& evaluation);

/// Options of evaluate().
/// Fields in order: batch_size, loss, metrics, verbose, communicator
struct EvaluateOptions {
  int64_t batch_size = 1000;  ///< samples per batch, >= 1
  /// Loss of a single output, or of several outputs: see Losses.
  Losses loss = losses::sparse_categorical_cross_entropy();
  /// Metrics of a model with a single output. Default: the loss' metrics.
  Metrics metrics = {};
  /// Whether to print progress. Default: on a terminal, after a second.
  std::optional<bool> verbose = {};
  /// Ranks to distribute the batches over. All ranks call evaluate() with the
  /// same model and data; the result is bit-identical to that of a single
  /// process. Null: this process alone.
  Communicator* communicator = nullptr;
};

/// Evaluates loss and metrics on all samples in order, in inference mode. The
/// result does not depend on the batch size, bit for bit, if the loss and the
/// metrics are computed per sample. Quantizers observe no ranges meanwhile.
/// Throws: ValueError for options out of range, data that does not match the
/// model or the loss, labels out of range, or a quantized model without
/// calibration. An error on any rank is thrown on all ranks.
Evaluation evaluate(const Model& model, const Dataset& data,
                    const EvaluateOptions& options = {});

/// Returns the output of a single-output model for all samples, in order.
/// Shapes: -> [n,...]. Throws: ValueError as evaluate(), and for a model with
/// several outputs.
Tensor predict(const Model& model, const Dataset& data,
               int64_t batch_size = 1000);
/// Returns all outputs for all samples, in the order of the model's outputs.
/// Throws: ValueError as evaluate().
std::vector<Tensor> predict_all(const Model& model, const Dataset& data,
                                int64_t batch_size = 1000);

// update_batch_statistics: re-estimates the running statistics of batch
// normalization.

/// Options of update_batch_statistics().
/// Fields in order: batch_size, samples, seed
struct BatchStatisticsOptions {
  int64_t batch_size = 64;  ///< samples per batch, >= 1
  int64_t samples = 0;      ///< number of samples, a random subset; 0: all
  uint64_t seed = 0;        ///< for selection and order of the samples
};

/// Sets the running means and variances of all layers that are not frozen to
/// their averages over the batches of `data` with the current parameters; for
/// weights that were averaged or modified after training. Parameters stay
/// unchanged. Returns the number of updated layers.
/// As PyTorch's torch.optim.swa_utils.update_bn, but batches are weighted by
/// their samples, and every call of a shared layer counts.
/// Throws: ValueError for options out of range, data that does not match the
/// model, or a batch that is not finite; errors of the data source. The
/// statistics are then unchanged.
int64_t update_batch_statistics(Model& model, const Dataset& data,
                                const BatchStatisticsOptions& options = {});

// calibrate: calibration distributed over ranks.

/// Distributes quant::calibrate() over ranks, each with a contiguous range of
/// batches. Observer states are merged in sample order, so scales are
/// bit-identical to those of a single process. With a custom observer, whose
/// state cannot be merged, each rank runs all samples. All ranks must call it
/// with the same model, data and options.
/// Throws: as quant::calibrate(). An error on any rank is thrown on all ranks.
std::vector<quant::CalibratedRange> calibrate(
    Model& model, const Dataset& data, Communicator& ranks,
    const quant::CalibrationOptions& options = {});

}  // namespace octet::train
