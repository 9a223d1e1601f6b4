// Quantized models as plain values: QdqPlan, every Q/DQ pair with its rule and
// reason, and ModelState, the content of a model file. A quantized model is
// stored as its float counterpart, a plan and quantizer states.
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/quantizer.h>
#include <octet/quant/spec.h>
#include <octet/runtime/config.h>

namespace octet::quant {

/// A Q/DQ pair of a plan: its position and its quantizer.
struct QdqPoint {
  std::string layer;            ///< name of the layer in the float model
  QdqSite site = {};            ///< position at the layer
  QuantizerConfig config = {};  ///< of the quantizer
  /// Points of a group are on the same tensor and share a quantizer. Empty
  /// (hand-written plans): the group of all points on the tensor.
  std::string group = {};
  /// "user", "case ResNetV1", "default", the id of a placement rule ("P04") or
  /// "pattern ConvBNReLU".
  std::string rule = {};
  std::string reason = {};  ///< explanation for users
  bool operator==(const QdqPoint&) const = default;
};

/// Q/DQ positions in a model with reasons, one point per quantized edge. Plans
/// are values: print, compare, edit, save and load them before apply().
struct [[nodiscard]] QdqPlan {
  std::vector<QdqPoint> points;  ///< in the model's order, inputs first

  /// One point per line: layer, site, configuration, rule, reason.
  std::string to_string() const;
  bool operator==(const QdqPlan&) const = default;
};

/// Prints a line per point: layer, site, configuration, rule, reason.
std::ostream& operator<<(std::ostream& out, const QdqPlan& plan);

/// A layer left out or a conflict resolved by a placement.
struct PlacementNote {
  /// Kind of a note.
  enum class Kind {
    skipped,   ///< a layer without Q/DQ, with the reason
    conflict,  ///< user, case and policy disagreed; `text` names the winner
  };
  Kind kind = Kind::skipped;  ///< kind of the note
  std::string layer;          ///< name of the layer
  std::string rule;           ///< rule that decided, as QdqPoint::rule
  std::string text;           ///< the reason, or the conflict and its winner
  bool operator==(const PlacementNote&) const = default;
};

/// Result of place().
struct [[nodiscard]] Placement {
  QdqPlan plan;                      ///< the Q/DQ pairs
  std::vector<PlacementNote> notes;  ///< in the model's order
};

/// Number of Q/DQ pairs of a plan in a model.
struct PairCount {
  int64_t activations = 0;  ///< per edge
  int64_t weights = 0;      ///< on parameters
  int64_t shared = 0;       ///< in all, per tensor, as in exported files

  /// activations + weights.
  int64_t per_edge() const { return activations + weights; }
  /// "pairs: 71 activations + 54 weights = 125 per edge, 109 shared".
  std::string to_string() const;
  bool operator==(const PairCount&) const = default;
};

/// Prints the numbers of Q/DQ pairs.
std::ostream& operator<<(std::ostream& out, const PairCount& pairs);

/// Counts the pairs. A layer called several times has an edge for each call.
/// The model may be the float model or its counterpart:
/// `count_pairs(plan_of(q), q)`.
/// Throws: as apply().
PairCount count_pairs(const QdqPlan& plan, const Model& model);

/// Returns the differences of two plans, one per line, in order: "- " and a
/// point of the first or "+ " and a point of the second. Empty if equal.
std::string diff(const QdqPlan& from, const QdqPlan& to);

/// Serializes a plan as {"plan": [{"layer": "conv1", "site": "input", ...}]}.
Config to_config(const QdqPlan& plan);
/// Parses the result of to_config().
/// Throws: ValueError, NotFoundError naming the faulty point.
QdqPlan plan_from_config(const Config& config);

/// Returns a new model with wrapped copies of the layers in the plan, named
/// "quant_<name>".
/// Throws: NotFoundError for an unknown layer or parameter; ValueError for an
/// input index out of range, a duplicate point, or points of a group with
/// different tensors or configurations; UnsupportedError for a live or
/// per-channel scale on an activation.
Model apply(const QdqPlan& plan, const Model& model,
            Weights weights = Weights::copy);

/// Returns the points of a quantized model as passed to apply().
QdqPlan plan_of(const Model& model);

// Bit widths of single layers.

/// Bit widths of the layers with matching names, such as 8 bits for the first
/// and last.
struct LayerBits {
  std::string layer;  ///< name; * matches any characters, ? a single one
  std::optional<int> weight = {};      ///< [2, 8]
  std::optional<int> activation = {};  ///< [2, 8], of the layer's inputs
};

/// Returns the plan with other bit widths; later entries override earlier ones.
/// A tensor with several consumers gets their largest width; a warning names
/// the layers that requested less. Activations below 8 bits that cannot be
/// negative become unsigned, others signed.
/// Throws: ValueError for bits outside [2,8] or absent; NotFoundError, with
/// similar names, for an entry that matches no layer with Q/DQ of that kind.
QdqPlan with_bits(const QdqPlan& plan, const Model& model,
                  const std::vector<LayerBits>& layers);

/// Drops widths of layers without such Q/DQ in the plan, e.g. a first or last
/// layer in float. The entry "*" is unchanged.
std::vector<LayerBits> bits_of_quantized(std::vector<LayerBits> layers,
                                         const QdqPlan& plan);

/// A parameter or statistic of a layer, by its name in the float model.
struct NamedWeight {
  std::string layer;      ///< name in the float model
  std::string name;       ///< "kernel"
  bool trainable = true;  ///< false: a statistic
  Tensor value;           ///< may share memory with the model
};

/// The content of a model file.
struct ModelState {
  Config graph;  ///< to_config() of the float model
  Config plan;   ///< to_config() of the plan; null for a float model
  /// Other mutable state: number of training passes, frozen flags, quantizer
  /// scales, switches and observations.
  Config status;
  /// In layer order; shared weights are listed for each layer.
  std::vector<NamedWeight> weights;
};

/// Returns the model's state. Tensors are shared with the model: clone them to
/// keep a snapshot.
/// Throws: ValueError for duplicate names of layers or quantizers.
ModelState state_of(const Model& model);
/// Returns the weights alone, shared with the model.
std::vector<NamedWeight> weights_of(const Model& model);

/// Builds a model from graph and plan, with initial weights.
/// Throws: ValueError, NotFoundError, ShapeError for an inconsistent state;
/// UnsupportedError for unregistered classes.
Model initial_model(const ModelState& state);

/// Builds a model and restores its state. Takes over the state's tensors,
/// without copying those it alone owns.
/// Throws: as initial_model() and restore().
Model model_from_state(ModelState state);

/// Restores weights and status of an equal model. All or nothing.
/// Throws: ValueError, NotFoundError, ShapeError naming the mismatch.
void restore(Model& model, const ModelState& state);

/// Assigns weights to an equal model or a counterpart. All or nothing.
/// Throws: as restore().
void assign_weights(Model& model, std::span<const NamedWeight> weights);

/// Copies all weights and statistics to a counterpart or an equal model. All or
/// nothing. Quantizer scales and frozen flags are not copied.
/// Throws: ValueError naming layers missing from either model; ShapeError.
void copy_weights(const Model& from, Model& to);

}  // namespace octet::quant
