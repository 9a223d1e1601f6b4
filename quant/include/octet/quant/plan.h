// QdqPlan: Q/DQ positions in a model with reasons, one point per quantized
// edge. Plans are values: print, compare, edit, save and load them before
// apply().
#pragma once

#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/qdq_site.h>
#include <octet/quant/quantizer.h>

namespace octet::quant {

struct QdqPoint : PlacedSite {
  std::string layer;  ///< name
  QuantizerConfig config;
  /// Points of a group are on the same tensor and share a quantizer. Empty
  /// (hand-written plans): the group of all points on the tensor.
  std::string group = {};
  bool operator==(const QdqPoint&) const = default;
};

struct [[nodiscard]] QdqPlan {
  std::vector<QdqPoint> points;  ///< in the model's order, inputs first

  /// One point per line: layer, site, configuration, rule, reason.
  std::string to_string() const;
  bool operator==(const QdqPlan&) const = default;
};

/// A layer left out or a conflict resolved by a placement.
struct PlacementNote {
  enum class Kind {
    skipped,   ///< a layer without Q/DQ, with the reason
    conflict,  ///< user, case and policy disagreed; `text` names the winner
  };
  Kind kind = Kind::skipped;
  std::string layer;
  std::string rule;
  std::string text;
  bool operator==(const PlacementNote&) const = default;
};

struct [[nodiscard]] Placement {
  QdqPlan plan;
  std::vector<PlacementNote> notes;  ///< in the model's order
};

/// Number of Q/DQ pairs of a plan in a model.
struct PairCount {
  int64_t activations = 0;  ///< per edge
  int64_t weights = 0;
  int64_t shared = 0;  ///< per tensor, as in exported files

  int64_t per_edge() const { return activations + weights; }
  /// "pairs: 71 activations + 54 weights = 125 per edge, 109 shared".
  std::string to_string() const;
  bool operator==(const PairCount&) const = default;
};

/// Counts the pairs. A layer called several times has an edge for each call.
/// The model may be the float model or its counterpart:
/// `count_pairs(plan_of(q), q)`.
/// Throws: as apply().
PairCount count_pairs(const QdqPlan& plan, const Model& model);

/// Returns the differences of two plans, one per line, in order: "- " and a
/// point of the first or "+ " and a point of the second. Empty if equal.
std::string diff(const QdqPlan& from, const QdqPlan& to);

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

}  // namespace octet::quant
