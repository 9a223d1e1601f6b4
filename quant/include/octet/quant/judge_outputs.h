// judge_outputs: whether a quantized model is worth delivering.
//
//   const OutputJudgment found = judge_outputs(model, int8, test);
//   if (!found.sufficient()) throw ValueError(found.problems());
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

/// Fields in order: least_sqnr, least_agreement, batch_size
struct JudgmentOptions {
  /// Least SQNR of each output in dB, pooled and as the median of the samples.
  double least_sqnr = 15;
  /// Least share of equal top-1 classes, [0, 1].
  double least_agreement = 0.9;
  int64_t batch_size = 64;
};

/// One output of a quantized model beside that of the float model.
struct OutputLoss {
  std::string output = {};  ///< name of the output
  /// 10 log10(sum of squares / sum of squared errors) in dB over all samples;
  /// infinite without an error, NaN for NaN in an output.
  double sqnr = 0;
  /// The median of the samples' own SQNR. Samples with less than a hundredth of
  /// the power of the 90th percentile are left out.
  double median_sqnr = 0;
  /// Share of the samples (or pixels) whose class is that of the float model,
  /// in an output of classes: labels are classes, or the output is a softmax or
  /// a sigmoid of width 1.
  std::optional<double> agreement = {};
  int64_t compared = 0;       ///< samples or pixels in `agreement`
  int64_t disagreements = 0;  ///< of these
};

struct OutputJudgment {
  int64_t samples = 0;                   ///< number that was compared
  std::vector<OutputLoss> outputs = {};  ///< in the model's order
  JudgmentOptions least = {};

  /// The least of all outputs.
  double sqnr() const;
  double median_sqnr() const;
  std::optional<double> agreement() const;

  /// Whether every output reaches `least`. A single disagreement never fails.
  bool sufficient() const;
  /// The outputs that fail and their figures, as a sentence; empty if none do.
  std::string problems() const;
  /// "SQNR of the outputs 41.2 dB, median of the samples 40.8 dB, ..."
  std::string to_string() const;
};

/// Runs both models on all samples of `data`. Unusual samples belong out of it:
/// check_samples().
/// Throws: ValueError for no samples, options out of range, and models of
/// different outputs; as Model::predict().
OutputJudgment judge_outputs(const Model& reference, const Model& quantized,
                             const Dataset& data,
                             const JudgmentOptions& options = {});

}  // namespace octet::quant
