// ptq_ladder: post-training methods one after another, until the model is good
// enough.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <octet/quant/post_training.h>
#include <octet/quant/quantize_model.h>

namespace octet::quant {

/// Fields in order: quantize, place, score, held_out, below_float, methods
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
  /// How good a model is on samples; more is better. Unless given: top-1
  /// accuracy, where labels are classes and the model ends in [n,classes].
  std::function<double(const Model&, const Dataset&)> score = {};
  double held_out = 0.25;  ///< share of the samples that judge, (0, 1)
  /// Whether `target` is how far the score may be below the float model's, on
  /// the samples that judge.
  bool below_float = false;
  PostTrainingOptions methods = {};
};

/// A rung: what was done, and what came of it on the samples that judge.
struct LadderRung {
  std::string method;
  double score = 0;
};

struct Ladder {
  Model model;  ///< of the best rung
  double float_score = 0;
  double target = 0;
  std::vector<LadderRung> rungs = {};  ///< in the order they were tried
  std::string kept = {};               ///< the method of the best
  bool met = false;
  int64_t held_out = 0;  ///< samples that judged

  /// Whether the target was met, or by how much it was missed; then the rungs.
  std::string to_string() const;
};

/// Folds batch normalization, quantizes and calibrates (calibrate_auto, which
/// holds out samples of its own to choose by; below 8 bits weights get scales
/// of least square error). Then it goes on until the score is at least
/// `target`: equalize(), correct_biases(), round_weights(), these two together,
/// adaround(), and reconstruct_blocks() where a block has several layers; from
/// the second on, on the better of the models with and without equalisation.
/// The model given stays as it is. A target that is not met is no error: `met`
/// says so, and the best model is returned. Throws: as quantize_model() and
/// calibrate_auto(); ValueError for a target or score that is NaN, where there
/// is neither a score nor labels to have one, and for live scales of `place`.
Ladder ptq_ladder(const Model& model, const Dataset& data, double target,
                  const LadderOptions& options = {});

}  // namespace octet::quant
