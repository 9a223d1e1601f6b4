// Placement of Q/DQ tuned by measured latency.
//
//   const Tuned tuned =
//       autotune(int8, {.latencies = in_rounds(time_on_device)});
//   std::cout << tuned.to_string();
//   io::export_onnx(tuned.model, "tuned.onnx");
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/plan.h>
#include <octet/runtime/config.h>

namespace octet::quant {

/// Latencies in milliseconds: a row per round, a value per model.
using LatencyRounds = std::vector<std::vector<double>>;

/// Measures models, interleaved in rounds, so that a change of the machine's
/// speed affects all of them.
using MeasureLatencies =
    std::function<LatencyRounds(const std::vector<const Model*>& models)>;

/// Returns a function that calls `latency`, in milliseconds, for each model in
/// turn, `rounds` times.
/// Throws: ValueError unless rounds >= 1.
MeasureLatencies in_rounds(std::function<double(const Model&)> latency,
                           int64_t rounds = 7);

/// Latency of a model over that of another, from pairs of the same round.
struct LatencyRatio {
  double ratio = 1;  ///< median over the rounds
  /// Twice the standard error of the median, from the median absolute
  /// deviation; 0 for a single round.
  double noise = 0;

  /// Returns whether the first model is slower beyond noise.
  bool is_slower() const { return ratio - noise > 1; }
};

/// Compares the models in columns `a` and `b`.
LatencyRatio latency_ratio(const LatencyRounds& rounds, size_t a, size_t b);
/// Returns the median latency of the model in a column.
double median_latency(const LatencyRounds& rounds, size_t column);

/// A measurement of models that were compared.
struct LatencyMeasurement {
  /// Hash of all properties that affect the latency: layers with shapes and
  /// options, and Q/DQ. Weights and names of layers are not included.
  std::string key = {};
  std::string subject = {};              ///< "Conv2D, ReLU" or "model"
  std::vector<std::string> models = {};  ///< "float", "planned", ...
  LatencyRounds milliseconds = {};       ///< a column per model
  std::vector<std::string> errors = {};  ///< per model, or empty
  bool operator==(const LatencyMeasurement&) const = default;
};

/// Measurements that an interrupted run, or a model with equal regions,
/// continues from.
struct AutotuneState {
  std::vector<LatencyMeasurement> measurements = {};  ///< in order
};

/// Return the state as a tree of values, and the state of such a tree.
/// Throws: ValueError, NotFoundError for a missing or invalid value.
Config to_config(const AutotuneState& state);
AutotuneState autotune_state_from_config(const Config& config);

/// Options of autotune().
/// Fields in order: latencies, gain, largest_region, state, on_change
struct AutotuneOptions {
  /// Measures float and quantized models with the inputs of the model or of
  /// its regions. Required.
  MeasureLatencies latencies = {};
  /// Least share of the latency that Q/DQ must save, [0, 1).
  double gain = 0.02;
  /// Largest number of layers with weights in a region, >= 1; a block with more
  /// is split.
  int64_t largest_region = 8;
  AutotuneState state = {};  ///< of an interrupted run
  /// Called after every measurement, to save the state.
  std::function<void(const AutotuneState&)> on_change = {};
};

/// A way to place Q/DQ in a region.
struct TunedScheme {
  /// "float", "planned", "without residual" (no Q/DQ at inputs of additions) or
  /// "weights only" (Q/DQ at layers with quantized weights only).
  std::string name = {};
  double latency = 0;      ///< median of the region alone, in milliseconds
  int64_t points = 0;      ///< Q/DQ points per region
  std::string error = {};  ///< why it was not measured, or empty
};

/// Regions with equal layers, shapes, options and Q/DQ, which share a scheme.
struct TunedPattern {
  std::string name = {};  ///< "Conv2D, ReLU, Conv2D, Add"
  /// Layer names of each region.
  std::vector<std::vector<std::string>> regions = {};
  std::vector<TunedScheme> schemes = {};  ///< the measured schemes
  std::string chosen = {};                ///< name of the scheme
  /// "kept: 0.410 -> 0.290 ms".
  std::string reason = {};
};

/// The model that autotune() selected.
enum class TunedModel {
  tuned,       ///< with Q/DQ where they gain
  planned,     ///< the given placement: no other was faster
  float_model  ///< without Q/DQ: none gained
};
/// "tuned", "planned", "float".
std::string_view to_string(TunedModel model);

/// Result of autotune().
struct Tuned {
  Model model;        ///< calibrated
  QdqPlan plan = {};  ///< of the model, with measured reasons
  TunedModel selected = TunedModel::tuned;  ///< kind of the model
  std::vector<TunedPattern> patterns = {};  ///< in the model's order
  double latency = 0;                       ///< of the model, in milliseconds
  double planned_latency = 0;               ///< of the given model
  double float_latency = 0;                 ///< of the model without Q/DQ
  LatencyRatio to_planned = {};  ///< of the model over the given model
  LatencyRatio to_float = {};    ///< of the model over the float model
  std::string note = {};  ///< why the tuned model was not selected, or empty

  /// Returns the latencies and a table of the patterns.
  std::string to_string() const;
};

/// Removes Q/DQ from the regions of a calibrated model where they do not save
/// latency:
///
///   1. The model is split into regions: blocks between tensors through which
///      all data flows, such as residual blocks. Regions of equal structure
///      form a pattern.
///   2. The schemes of each pattern are measured on a region alone. Q/DQ stay
///      if they save at least `gain` of the float region's latency.
///   3. Alone, a region also converts its inputs and outputs, which quantized
///      neighbors save. Therefore models with the decisions of all patterns and
///      of only the clearest half, quarter, ... are measured, with the given
///      model and the float model. The fastest is selected; among equally fast
///      ones the one with the fewest Q/DQ.
///   4. The selected model is measured again with the given and the float
///      model. It is replaced by the faster of them if it is slower beyond
///      noise, or by more than `gain` in the median.
///
/// Layers called several times keep their Q/DQ, and so do regions that
/// `latencies` cannot measure. Scales and zero points are those of the given
/// model. Equal measurements give an equal result; those in `state` are not
/// repeated.
/// Throws: ValueError for a model without quantizers, uncalibrated quantizers,
/// options out of range, and latencies that are not positive numbers, a row per
/// round; the error of `latencies` for the whole model.
Tuned autotune(const Model& int8, const AutotuneOptions& options);

}  // namespace octet::quant
