// Quantization recipes, and the search for the cheapest recipe that meets a
// goal.
//
//   const Optimized found = optimize(
//       model, calibration, validation,
//       {.goal = {.accuracy_drop = 0.005, .latency = 2}});
//   std::cout << found.to_string();
//   if (found.met) io::export_onnx(found.model, "best.onnx");
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/post_training.h>
#include <octet/quant/quantize_model.h>
#include <octet/runtime/config.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

/// Rounding of quantized weights.
enum class WeightRounding {
  nearest,       ///< to the nearest quantized value
  second_order,  ///< round_weights()
  adaround,      ///< adaround()
  blocks,        ///< reconstruct_blocks()
};
/// "nearest", "second_order", ...
std::string_view to_string(WeightRounding rounding);

/// Training that follows the post-training methods of a recipe.
enum class FineTuning {
  none,     ///< no training
  teacher,  ///< on the outputs of the float model; needs no labels
  labels,   ///< on the labels of the data
};
/// "none", "teacher", "labels".
std::string_view to_string(FineTuning tuning);

/// Settings of all steps that quantize a float model.
struct Recipe {
  std::string format = "int8";  ///< number format; see RecipeOptions::place
  bool equalize = false;        ///< equalize channel ranges (equalize())
  /// Calibration method; none: auto_calibrate() selects it.
  std::optional<Calibration> calibration = {};
  float percentile = 99.99f;  ///< of Calibration::percentile
  WeightRounding rounding = WeightRounding::nearest;  ///< of the weights
  bool correct_biases = false;                        ///< correct_biases()
  std::vector<std::string> float_layers = {};         ///< names of float layers
  FineTuning fine_tuning = FineTuning::none;          ///< training afterwards

  bool operator==(const Recipe&) const = default;

  /// Returns whether batch normalization is folded first, which equalization,
  /// rounding and bias correction require.
  bool folds() const;
  /// Returns a summary: "mse, equalization, AdaRound, 2 float layers".
  std::string to_string() const;
};

/// Convert a recipe to a Config and back.
/// Throws: ValueError, NotFoundError for a missing or unknown value.
Config to_config(const Recipe& recipe);
Recipe recipe_from_config(const Config& config);

/// Options of quantize_with().
/// Fields in order: place, weights, methods, check_samples
struct RecipeOptions {
  /// Returns the model with uncalibrated Q/DQ in the recipe's number format,
  /// except at Recipe::float_layers; with fixed weight scales if the recipe
  /// rounds weights. Default: quantize_model(), for "int8" only.
  std::function<Model(const Model&, const Recipe&)> place = {};
  /// As CalibrationOptions::weights. Default: least error below 8 bits.
  std::optional<WeightRange> weights = {};
  PostTrainingOptions methods = {};  ///< of rounding and bias correction
  /// Ignore unusual samples (check_samples()), with a warning.
  bool check_samples = true;
};

/// Result of quantize_with().
struct RecipeModel {
  Model model;  ///< calibrated
  /// Result of auto_calibrate(), if it selected the method.
  std::optional<AutoCalibration> calibration = {};
};

/// Calibrates a model by the method of a recipe; only weight scales if no
/// activation is quantized. Returns the result of auto_calibrate(), if it
/// selected the method.
/// Throws: as auto_calibrate() and calibrate().
std::optional<AutoCalibration> calibrate_with(
    Model& model, const Dataset& data, const Recipe& recipe,
    const RecipeOptions& options = {});

/// Quantizes a float model by all steps of a recipe except fine-tuning:
/// folding, equalization, placement, calibration, rounding, bias correction.
/// Throws: as the functions of these steps; ValueError for live weight scales
/// of `place` in a recipe that rounds weights.
RecipeModel quantize_with(const Model& model, const Dataset& data,
                          const Recipe& recipe,
                          const RecipeOptions& options = {});

/// Requirements of optimize().
struct OptimizeGoal {
  /// Largest drop of the score below the float model's, [0, 1). Without labels
  /// and OptimizeOptions::score, for class outputs: largest share of samples
  /// whose class differs from the float model's, an upper bound of the drop.
  double accuracy_drop = 0.005;
  /// Lowest output SQNR in dB, for models without score and classes; finite.
  double min_sqnr = 30;
  /// Largest latency of one sample in milliseconds, > 0.
  std::optional<double> latency = {};
  /// Largest file size in bytes, > 0; needs OptimizeOptions::bytes.
  std::optional<int64_t> bytes = {};
};

/// A recipe and its result on validation samples.
struct OptimizeTrial {
  Recipe recipe = {};     ///< of the trial
  int64_t samples = 0;    ///< validation samples; fewer in early rounds
  bool complete = false;  ///< on all samples
  /// Score, else the agreement with the float model's classes, if defined.
  std::optional<double> score = {};
  std::optional<double> drop = {};     ///< of the score, as in OptimizeGoal
  double sqnr = 0;                     ///< of the outputs, in dB
  std::optional<double> latency = {};  ///< in milliseconds, if measured
  std::optional<int64_t> bytes = {};   ///< size of the file
  double seconds = 0;                  ///< time of the trial
  std::string error = {};              ///< why the recipe failed, or empty

  bool operator==(const OptimizeTrial&) const = default;
};

/// Results of an interrupted search, from which optimize() continues.
struct OptimizeState {
  std::vector<OptimizeTrial> trials = {};    ///< in order
  std::vector<std::string> sensitive = {};   ///< layers, most sensitive first
  std::optional<double> float_latency = {};  ///< in milliseconds
};

/// Convert a state to a Config and back.
/// Throws: ValueError, NotFoundError for a missing or unknown value.
Config to_config(const OptimizeState& state);
OptimizeState optimize_state_from_config(const Config& config);

/// Options of optimize().
/// Fields in order: goal, formats, recipe, score, latency, bytes, fine_tune,
/// fine_tuning, seconds, state, on_change
struct OptimizeOptions {
  OptimizeGoal goal = {};  ///< the search ends with the first recipe meeting it
  /// Number formats of the target, the preferred format first; each supported
  /// by `recipe.place`.
  std::vector<std::string> formats = {"int8"};
  /// Placement and effort of all recipes.
  RecipeOptions recipe = {};
  /// Score of a model on samples, higher is better. Default: top-1 accuracy for
  /// class labels and an output [n,classes], else the agreement.
  std::function<double(const Model&, const Dataset&)> score = {};
  /// Returns the latency of a model in milliseconds; none if it cannot be
  /// measured. Called once for all recipes with equal Q/DQ, and for the float
  /// model with format "float". Default: the median of an InferenceSession on
  /// one sample.
  std::function<std::optional<double>(const Model&, const Recipe&)> latency =
      {};
  /// Returns the file size of a model in bytes.
  std::function<int64_t(const Model&, const Recipe&)> bytes = {};
  /// Returns the model of a recipe with fine-tuning.
  std::function<Model(const Recipe&)> fine_tune = {};
  /// Kinds of fine-tuning to try, in order; they need `fine_tune`.
  std::vector<FineTuning> fine_tuning = {};
  /// Time after which no trial starts, > 0, except for the first on all
  /// samples.
  double seconds = 1800;
  OptimizeState state = {};  ///< of an interrupted search
  /// Called after every trial, to save the state.
  std::function<void(const OptimizeState&)> on_change = {};
};

/// Result of optimize().
struct Optimized {
  Model model;                             ///< of the selected trial
  size_t selected = 0;                     ///< index into `trials`
  std::vector<OptimizeTrial> trials = {};  ///< in order
  OptimizeGoal goal = {};                  ///< the requirements
  std::string score_name = {};             ///< "accuracy", "agreement", "SQNR"
  std::optional<double> float_score = {};  ///< of the float model
  std::optional<double> float_latency = {};  ///< in milliseconds
  bool met = false;                          ///< the goal is met
  bool out_of_time = false;                  ///< ended by `seconds`
  std::string blocked = {};  ///< why steps were skipped, or empty

  /// Returns the indices of complete trials that no other trial beats in score,
  /// latency and size, best score first.
  std::vector<size_t> pareto() const;
  /// Describes how the selected trial misses the goal; empty if it is met.
  std::string shortfall() const;
  /// Returns whether the goal is met, and the trials as a table.
  std::string to_string() const;
};

/// Searches recipes from cheap to expensive and stops at the first that meets
/// the goal on all validation samples:
///
///   1. calibration methods, each with and without equalization
///   2. bias correction, second-order rounding, AdaRound, reconstruction
///   3. the most sensitive layers in float, 1, 2, 4, ... of them
///   4. the other number formats
///   5. fine-tuning
///
/// Steps 2, 3 and 5 start from the best trial so far. Step 1 ranks candidates
/// by output SQNR on 64, then 256 samples and drops half of them each time. If
/// the preferred format misses the latency or size, steps 2, 3 and 5 are
/// skipped for it, as none of them reduces either. A recipe that fails is a
/// trial with an error. If no recipe meets the goal, `met` is false and `model`
/// is that of the closest trial. Equal data, options and times per trial give
/// an equal result; trials in `state` are not repeated. `calibration` and
/// `validation` should share no samples and contain no unusual samples.
/// Throws: ValueError for a goal or options out of range or no samples; the
/// error of the first trial if all fail.
Optimized optimize(const Model& model, const Dataset& calibration,
                   const Dataset& validation,
                   const OptimizeOptions& options = {});

}  // namespace octet::quant
