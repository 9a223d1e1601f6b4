// compare_outputs: acceptance test of a quantized model against its float
// model.
//
//   const OutputComparison found = compare_outputs(model, int8, test);
//   if (!found.sufficient()) {
//     throw ValueError("accuracy_dropped", "int8", found.problems());
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

/// Fields in order: min_sqnr, min_agreement, batch_size
struct OutputComparisonOptions {
  /// Minimum SQNR of each output in dB, both pooled and median over the
  /// samples.
  double min_sqnr = 15;
  /// Minimum top-1 agreement, [0, 1].
  double min_agreement = 0.9;
  int64_t batch_size = 64;
};

/// Loss of an output of a quantized model against the float model.
struct OutputLoss {
  std::string output = {};  ///< name
  /// SQNR in dB over all samples, 10 log10(sum of squares / sum of squared
  /// errors); infinite without error, NaN for NaN in an output.
  double sqnr = 0;
  /// Median of the per-sample SQNR. Ignores samples below 1/100 of the 90th
  /// percentile's power.
  double median_sqnr = 0;
  /// Share of samples (or pixels) with the float model's class. Set for class
  /// outputs: class labels, a softmax, or a sigmoid of width 1.
  std::optional<double> agreement = {};
  int64_t compared = 0;       ///< samples or pixels compared
  int64_t disagreements = 0;  ///< of `compared`
};

struct OutputComparison {
  int64_t samples = 0;                      ///< number of compared samples
  std::vector<OutputLoss> outputs = {};     ///< in the model's order
  OutputComparisonOptions thresholds = {};  ///< the thresholds

  /// Lowest value over all outputs.
  double sqnr() const;
  double median_sqnr() const;
  std::optional<double> agreement() const;

  /// Whether every output meets `least`. A single disagreement never fails.
  bool sufficient() const;
  /// Describes the failing outputs in a sentence; empty if none fail.
  std::string problems() const;
  /// "SQNR of the outputs 41.2 dB, median of the samples 40.8 dB, ..."
  std::string to_string() const;
};

/// Runs both models on all samples of `data`. Remove unusual samples first
/// (check_samples()).
/// Throws: ValueError for no samples, options out of range, and models with
/// different outputs; as Model::predict().
OutputComparison compare_outputs(const Model& reference, const Model& quantized,
                                 const Dataset& data,
                                 const OutputComparisonOptions& options = {});

}  // namespace octet::quant
