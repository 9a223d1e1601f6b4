// insert_qdq(): second half of the pattern route. Converts matches, edited or
// not, to a plan and applies it.
#pragma once

#include <string>
#include <vector>

#include <octet/quant/layer_bits.h>
#include <octet/quant/plan.h>
#include <octet/quant/transform.h>

namespace octet::quant {

struct QuantConfig {
  QuantizerConfig activation = activation_quantizer();
  QuantizerConfig weight = weight_quantizer();
  /// Bit widths of single layers, as for with_bits().
  std::vector<LayerBits> bits = {};
  /// Layer classes (or aliases) whose weights remain float; their inputs are
  /// still quantized.
  std::vector<std::string> skip_weight_quant_for = {};
};

/// Returns the points of all matches with `apply` set. Rule: "pattern ConvBN";
/// reason: the pattern's rationale. Consumers of a tensor share a quantizer.
/// Throws: UnsupportedError for live or per-channel activation scales, which
/// TensorRT rejects; ValueError for bits out of range, a quantized model, a
/// match whose layers are not consecutive in the model, or a layer in two
/// matches; NotFoundError, with similar names, for unknown layers and classes.
QdqPlan plan_of_matches(const Model& model,
                        const std::vector<PatternMatch>& matches,
                        const QuantConfig& config = {});

/// Returns apply(plan_of_matches(model, matches, config), model), ready for
/// calibrate().
/// Throws: as plan_of_matches(); ValueError for a plan without points.
Model insert_qdq(const Model& model, const std::vector<PatternMatch>& matches,
                 const QuantConfig& config = {});

/// Result of the pattern route. The plan refers to `model`, which conversions
/// may have changed.
struct PatternPlacement {
  Model model;
  Placement placement;
  TransformReport report;
};

/// Runs transform() and plan_of_matches().
/// Throws: as these.
PatternPlacement place_by_patterns(
    const Model& model,
    const std::vector<Pattern>& patterns = tensorrt_patterns(),
    const QuantConfig& config = {},
    const std::vector<Conversion>& conversions = tensorrt_conversions());

}  // namespace octet::quant
