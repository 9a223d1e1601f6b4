// insert_qdq(): the second half of the pattern route. Matches, edited or not,
// become a plan, and the plan a model with wrappers.
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
  /// Widths of single layers, as with_bits() gives them.
  std::vector<LayerBits> bits = {};
  /// Layer classes, by any of their names, whose weights stay float; Q/DQ on
  /// what they read stays.
  std::vector<std::string> skip_weight_quant_for = {};
};

/// The points of the matches that are to be applied: rule "pattern ConvBN",
/// reason its rationale. Readers of one tensor share a quantizer.
/// Throws: UnsupportedError for what TensorRT does not take (activations on a
/// live scale or with one a channel); ValueError for bits out of range, a
/// quantized model, a match whose layers do not follow one another in the
/// model, or a layer in two matches; NotFoundError, with near names, for layers
/// that the model does not have and classes that do not exist.
QdqPlan plan_of_matches(const Model& model,
                        const std::vector<PatternMatch>& matches,
                        const QuantConfig& config = {});

/// apply(plan_of_matches(model, matches, config), model): a new model, ready
/// for calibrate(). Throws: as plan_of_matches(); ValueError if nothing would
/// be quantized.
Model insert_qdq(const Model& model, const std::vector<PatternMatch>& matches,
                 const QuantConfig& config = {});

/// The pattern route in one call, as a placement: its plan is for `model`,
/// which conversions may have changed.
struct PatternPlacement {
  Model model;
  Placement placement;
  TransformReport report;
};

/// transform() and plan_of_matches(). Throws: as they do.
PatternPlacement place_by_patterns(
    const Model& model,
    const std::vector<Pattern>& patterns = tensorrt_patterns(),
    const QuantConfig& config = {},
    const std::vector<Conversion>& conversions = tensorrt_conversions());

}  // namespace octet::quant
