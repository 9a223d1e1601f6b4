// Patterns: sequences of layers that are quantized, or converted, as a
// whole.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/layers/layer.h>
#include <octet/layers/model.h>
#include <octet/quant/plan.h>
#include <octet/quant/quantizer.h>
#include <octet/quant/spec.h>

namespace octet::quant {

// Patterns: chains of layers that a device runs as a single kernel, and the
// Q/DQ around them. Plain data: transform() tries a list in order, so put
// custom patterns first.
//
//   auto patterns = tensorrt_patterns();
//   patterns.insert(patterns.begin(),
//                   {.name = "FloatDepthwise",
//                    .steps = {{.classes = {"DepthwiseConv2D"}}},
//                    .rationale = "reformatting costs more than INT8 saves"});

/// A call of a layer, as the argument of a condition.
struct PatternLayer {
  const GraphNode& node;  ///< the call
  /// Consumers of its output, looking through Dropout and the like.
  std::vector<const GraphNode*> consumers = {};
};

/// A predicate on a layer and its description: both, or neither for no
/// condition.
struct Condition {
  std::string text;  ///< "a kernel of 7x7 on 3 channels"
  std::function<bool(const PatternLayer&)> holds;  ///< the predicate
};

/// A step of a chain: a layer that matches one of these classes, roles or
/// activation functions. At least one list is not empty.
struct PatternStep {
  std::vector<std::string> classes = {};  ///< layer classes or Keras aliases
  std::vector<LayerRole> roles = {};      ///< roles of layers
  /// Names of Activation functions. The option `activation` of the preceding
  /// layer also counts as a step: a chain whose next step accepts no activation
  /// ends there.
  std::vector<std::string> activations = {};
  bool optional = false;  ///< whether a chain may lack the step
  /// Required for the layer to fit the step.
  Condition only_if = {};
  /// If it holds, the match is listed with this text but not applied.
  Condition skip_if = {};
};

/// A Q/DQ position of a match.
enum class PatternPoint {
  input,           ///< inputs of the first layer
  residual_input,  ///< side inputs of later layers
  query,           ///< input 0 of the first layer
  key,             ///< input 1
  value,           ///< input 2
  output,          ///< after the last layer, unless a model output
};

/// Returns the name in the source documents: "INPUT", "RESIDUAL_INPUT", ...
std::string_view to_string(PatternPoint point);

/// A chain of layers and the Q/DQ around it.
struct Pattern {
  std::string name;  ///< unique in a list, not empty
  /// From first to last layer. Intermediate outputs have no other consumers. A
  /// layer called several times matches alone.
  std::vector<PatternStep> steps;
  /// Empty: the layers remain float. Otherwise the chain's weights are
  /// quantized too.
  std::vector<PatternPoint> qdq_points = {};
  std::string rationale = {};  ///< reason, shown by plans
};

/// Returns the chains that TensorRT fuses, longest first.
/// Source: Embedl Deploy's documentation, "QDQ point placement", and for
/// ConvBNAdd the TensorRT developer guide, "Q/DQ placement recommendations".
std::vector<Pattern> tensorrt_patterns();

/// Returns the chains that ONNX Runtime computes in integers on a CPU, for
/// InsertQdqOptions{.activation = {.is_signed = false}}: Q/DQ on both sides, an
/// unsigned range in place of ReLU. Batch normalization must be folded in the
/// file (io::Target::onnxruntime does so).
/// Source: ONNX Runtime 1.31's optimization of such graphs.
std::vector<Pattern> onnxruntime_patterns();

// Conversions: function-preserving rewrites that make layers fit the patterns
// or remove no-op layers.

/// A rewrite of layers that does not change the model's function.
struct Conversion {
  std::string name;       ///< unique in a list, not empty
  std::string rationale;  ///< reason, for readers of the list
  /// Called for every node but the inputs. Returns the node's replacement in
  /// the new model, or nothing (octet::NodeRewriter).
  NodeRewriter convert;
};

/// Returns FlattenDenseToConv1x1, RemoveIdentityPool and RemoveIdentity. Two
/// conversions of the source are not needed: a Model has no dead layers, and
/// multi_head_attention() has separate projections.
/// Source: Embedl Deploy's documentation, conversion patterns.
std::vector<Conversion> tensorrt_conversions();

/// Returns tensorrt_conversions() and SplitActivation, which splits a
/// convolution or Dense layer from an activation that is more than clipping,
/// such as swish, for Q/DQ between the two.
std::vector<Conversion> onnxruntime_conversions();

// transform(): first half of the pattern route. Conversions rewrite a copy of
// the model, then patterns are matched on it. The matches can be edited before
// insert_qdq() (quantize_model.h).

/// A pattern point resolved to a site of a layer.
struct MatchPoint {
  PatternPoint point = PatternPoint::input;  ///< as in Pattern::qdq_points
  std::string layer;                         ///< name of a layer of the match
  QdqSite site;                              ///< an input or the output
  bool operator==(const MatchPoint&) const = default;
};

/// Layers matched by a pattern. Each layer is in at most one match.
struct PatternMatch {
  std::string pattern;              ///< name of the pattern
  std::vector<std::string> layers;  ///< names, first to last
  /// Q/DQ on activations; empty: the layers remain float.
  std::vector<MatchPoint> qdq_points;
  std::string rationale;  ///< of the pattern
  /// Whether insert_qdq() uses the match; may be edited.
  bool apply = true;
  std::string skip_reason = {};  ///< set if transform() cleared `apply`

  /// Returns the last layer, which identifies the match.
  const std::string& key() const { return layers.back(); }
  bool operator==(const PatternMatch&) const = default;
};

/// Summary of transform().
struct TransformReport {
  /// A layer replaced by a conversion.
  struct Converted {
    std::string conversion;  ///< name of the conversion
    std::string layer;       ///< name of the replaced layer
    bool operator==(const Converted&) const = default;
  };
  /// Number of matches of a pattern.
  struct Count {
    std::string pattern;  ///< name of the pattern
    int64_t applied = 0;  ///< matches with `apply` set
    int64_t skipped = 0;  ///< matches with a skip_reason
    bool operator==(const Count&) const = default;
  };
  /// A pattern or conversion not applied to a layer.
  struct Skipped {
    /// Name of the pattern or conversion; empty for a linear layer without a
    /// pattern.
    std::string name;
    std::string layer;   ///< name of the layer, the first of a match
    std::string reason;  ///< condition that failed, or error
    bool operator==(const Skipped&) const = default;
  };

  std::vector<Converted> conversions;  ///< in the order performed
  std::vector<Count> patterns;         ///< in the order tried
  std::vector<Skipped> skipped;        ///< conversions, then patterns

  /// Returns tables, with a line per reason.
  std::string to_string() const;
  bool operator==(const TransformReport&) const = default;
};

/// Result of transform().
struct [[nodiscard]] TransformResult {
  Model model;                        ///< the converted copy
  std::vector<PatternMatch> matches;  ///< by first layer
  TransformReport report;             ///< conversions and counts of matches

  /// Returns the match that contains a layer.
  /// Throws: NotFoundError with similar names.
  PatternMatch& match(std::string_view layer);
};

/// Converts a copy of the model to a fixed point, then matches the patterns in
/// order, each in the model's order. For an Add of two convolutions, the match
/// contains the convolution further from their common ancestor. Conditions and
/// conversions that throw are skipped and reported.
/// Throws: ValueError for a quantized model, an incomplete pattern or
/// conversion or duplicate names, an unknown function, and conversions without
/// a fixed point; NotFoundError, with similar names, for an unknown layer
/// class.
TransformResult transform(
    const Model& model,
    const std::vector<Pattern>& patterns = tensorrt_patterns(),
    const std::vector<Conversion>& conversions = tensorrt_conversions());

// insert_qdq(): second half of the pattern route. Converts matches, edited or
// not, to a plan and applies it.

/// Options of insert_qdq() and plan_of_matches().
/// Fields in order: activation, weight, bits, skip_weight_quant_for
struct InsertQdqOptions {
  /// Quantizers of activations: per tensor, not live.
  QuantizerConfig activation = activation_quantizer();
  /// Quantizers of weights: signed, with a live, fixed or learned scale.
  QuantizerConfig weight = weight_quantizer();
  /// Bit widths of single layers, as for with_bits().
  std::vector<LayerBits> bits = {};
  /// Layer classes (or aliases) whose weights remain float; their inputs are
  /// still quantized.
  std::vector<std::string> skip_weight_quant_for = {};
};
/// The name in Embedl Deploy.
using QuantConfig = InsertQdqOptions;

/// Returns the points of all matches with `apply` set. Rule: "pattern ConvBN";
/// reason: the pattern's rationale. Consumers of a tensor share a quantizer.
/// Throws: UnsupportedError for live or per-channel activation scales, which
/// TensorRT rejects; ValueError for bits out of range, a quantized model, a
/// match whose layers are not consecutive in the model, or a layer in two
/// matches; NotFoundError, with similar names, for unknown layers and classes.
QdqPlan plan_of_matches(const Model& model,
                        const std::vector<PatternMatch>& matches,
                        const InsertQdqOptions& config = {});

/// Returns apply(plan_of_matches(model, matches, config), model), ready for
/// calibrate().
/// Throws: as plan_of_matches(); ValueError for a plan without points.
Model insert_qdq(const Model& model, const std::vector<PatternMatch>& matches,
                 const InsertQdqOptions& config = {});

/// Result of the pattern route. The plan refers to `model`, which conversions
/// may have changed.
struct PatternPlacement {
  Model model;             ///< the converted float model
  Placement placement;     ///< plan, and notes on skipped layers
  TransformReport report;  ///< of transform()
};

/// Runs transform() and plan_of_matches().
/// Throws: as these.
PatternPlacement place_by_patterns(
    const Model& model,
    const std::vector<Pattern>& patterns = tensorrt_patterns(),
    const InsertQdqOptions& config = {},
    const std::vector<Conversion>& conversions = tensorrt_conversions());

}  // namespace octet::quant
