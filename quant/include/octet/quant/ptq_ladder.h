// ptq_ladder: the PTQ pipeline: post-training methods one after another, of
// which the best model is kept.
//
//   const Ladder best = ptq_ladder(model, samples, {}, {.quantize = w4a8});
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
struct LadderOptions {
  /// Where Q/DQ goes, and its widths. Live scales of weights become fixed.
  QuantizeOptions quantize = {};
  /// Likewise, in place of `quantize`: a model with Q/DQ, not calibrated, whose
  /// weights have fixed scales. By patterns, say:
  ///   .place = [](const Model& m) {
  ///     const TransformResult found = transform(m, tensorrt_patterns());
  ///     return insert_qdq(found.model, found.matches, {.weight = fixed});
  ///   }
  std::function<Model(const Model&)> place = {};
  /// A custom measure of a model on samples, more being better, that chooses
  /// the model. Unless given, the SQNR of the outputs chooses, and top-1
  /// accuracy is what `target` is compared with where labels are classes of an
  /// output [n,classes].
  std::function<double(const Model&, const Dataset&)> score = {};
  /// A measure for `target` in place of top-1 accuracy, which chooses nothing.
  std::function<double(const Model&, const Dataset&)> check = {};
  double held_out = 0.25;  ///< share of the samples that judge, (0, 1)
  /// Whether `target` is how far the score may be below the float model's, on
  /// the samples that judge.
  bool below_float = false;
  PostTrainingOptions methods = {};
};

/// A rung: what was done, and what came of it on the samples that judge.
struct LadderRung {
  std::string method;
  /// Accuracy, or the custom score; nothing without labels.
  std::optional<double> score = {};
  /// Of the outputs, in dB, as CalibrationTrial::output_sqnr.
  double output_sqnr = 0;
};

struct Ladder {
  Model model;  ///< of the best rung
  std::optional<double> float_score = {};
  std::optional<double> target = {};
  std::vector<LadderRung> rungs = {};  ///< in the order they were tried
  std::string kept = {};               ///< the method of the best
  bool met = false;      ///< whether the best has the target; true without one
  int64_t held_out = 0;  ///< samples that judged

  /// Whether the target was met, or by how much it was missed; then the rungs.
  std::string to_string() const;
};

/// Folds batch normalization, quantizes and calibrates (calibrate_auto, which
/// holds out samples of its own to choose by; below 8 bits weights get scales
/// of least square error). Then it tries equalize(), correct_biases(),
/// round_weights(), these two together, adaround(), and reconstruct_blocks()
/// where a block has several layers; from the second on, on the better of the
/// models with and without equalization.
/// The model whose outputs have the highest SQNR on the samples held out is
/// returned, or the one with the highest custom score: 100 labels cannot tell
/// two methods apart. With a `target` it stops at the first model whose
/// accuracy or score is at least that, and returns this one; without, it tries
/// all methods, and labels are not needed. A target that is not met is no
/// error: `met` is false, and the best model is returned.
/// Unusual samples are ignored, with a warning (check_samples()). Fewer than
/// four samples are not split: all of them fit and judge, with a warning.
/// The model given stays as it is. Throws: as quantize_model() and
/// calibrate_auto(); ValueError for a target or score that is NaN, a target
/// without labels or a score to compare it with, and for live scales of
/// `place`.
Ladder ptq_ladder(const Model& model, const Dataset& data,
                  std::optional<double> target = {},
                  const LadderOptions& options = {});

}  // namespace octet::quant
