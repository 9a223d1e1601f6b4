// ptq_pipeline: the PTQ pipeline. Tries post-training methods in order and
// returns the best model.
//
//   const PtqPipeline best = ptq_pipeline(model, samples, {}, {.quantize =
//   w4a8});
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <octet/quant/post_training.h>
#include <octet/quant/quantize_model.h>

namespace octet::quant {

/// Fields in order: quantize, place, score, check, held_out, below_float,
/// methods
struct PtqPipelineOptions {
  /// Q/DQ placement and widths. Live weight scales become fixed.
  QuantizeOptions quantize = {};
  /// Alternative to `quantize`: returns an uncalibrated model with Q/DQ and
  /// fixed weight scales. Example with patterns:
  ///   .place = [](const Model& m) {
  ///     const TransformResult found = transform(m, tensorrt_patterns());
  ///     return insert_qdq(found.model, found.matches, {.weight = fixed});
  ///   }
  std::function<Model(const Model&)> place = {};
  /// Custom score of a model on samples, higher is better, that selects the
  /// model. Default: the SQNR of the outputs selects; `target` refers to top-1
  /// accuracy for class labels and an output [n,classes].
  std::function<double(const Model&, const Dataset&)> score = {};
  /// Metric for `target` instead of top-1 accuracy; does not select.
  std::function<double(const Model&, const Dataset&)> check = {};
  double held_out = 0.25;  ///< share of held-out samples, (0, 1)
  /// `target` is the largest drop below the float model's score on the held-out
  /// samples.
  bool below_float = false;
  PostTrainingOptions methods = {};
};

/// A stage: its method and the result on the held-out samples.
struct PtqStage {
  std::string method;
  /// Accuracy or custom score; empty without labels.
  std::optional<double> score = {};
  /// In dB, as CalibrationTrial::output_sqnr.
  double output_sqnr = 0;
};

struct PtqPipeline {
  Model model;  ///< of the best stage
  std::optional<double> float_score = {};
  std::optional<double> target = {};
  std::vector<PtqStage> stages = {};  ///< stages, in order
  std::string kept = {};              ///< method of the best stage
  bool met = false;      ///< the best stage meets the target, if any
  int64_t held_out = 0;  ///< held-out samples

  /// Returns whether the target was met, or the shortfall; then the stages.
  std::string to_string() const;
};

/// Folds batch normalization, quantizes and calibrates with auto_calibrate(),
/// which holds out samples separately; below 8 bits weight scales have least
/// square error. Then tries equalize(), correct_biases(), round_weights(), the
/// last two together, adaround(), and reconstruct_blocks() if a block has
/// several layers. All but equalize() start from the better of the models with
/// and without it. Returns the model with the highest output SQNR on the
/// held-out samples, or with the highest custom score; 100 labels cannot rank
/// two methods. With a `target`, stops at the first model whose accuracy or
/// score meets it; otherwise tries all methods and needs no labels. A missed
/// target is not an error: `met` is false, and the best model is returned.
/// Ignores unusual samples (check_samples()) with a warning. Fewer than four
/// samples are not split: all serve both purposes, with a warning.
/// Throws: as quantize_model() and auto_calibrate(); ValueError for a target or
/// score that is NaN, a target without labels or a score, and live weight
/// scales of `place`.
PtqPipeline ptq_pipeline(const Model& model, const Dataset& data,
                         std::optional<double> target = {},
                         const PtqPipelineOptions& options = {});

}  // namespace octet::quant
