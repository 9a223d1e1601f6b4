// QdqPlan: where Q/DQ pairs go in a model and why, one point per quantized
// edge. Plans are values: they print, compare, can be edited, saved and
// loaded before apply() turns them into wrappers.
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
  /// Points of one group read the same tensor and share one quantizer. Empty
  /// in a plan made by hand: that of the tensor, with all who read it.
  std::string group = {};
  bool operator==(const QdqPoint&) const = default;
};

struct [[nodiscard]] QdqPlan {
  std::vector<QdqPoint> points;  ///< in the model's order, inputs first

  /// One point per line: layer, site, configuration, rule, reason.
  std::string to_string() const;
  bool operator==(const QdqPlan&) const = default;
};

/// Something a placement did not do, or a disagreement it settled.
struct PlacementNote {
  enum class Kind {
    skipped,   ///< a layer without Q/DQ, and why
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

/// How many Q/DQ pairs a plan makes of a model.
struct PairCount {
  int64_t activations = 0;  ///< one an edge
  int64_t weights = 0;
  int64_t shared = 0;  ///< with one pair a tensor, as in exported files

  int64_t per_edge() const { return activations + weights; }
  /// "pairs: 71 activations + 54 weights = 125 per edge, 109 shared".
  std::string to_string() const;
  bool operator==(const PairCount&) const = default;
};

/// Layers that are called several times have an edge for each call. The model
/// may be the float one or what apply() made of it:
/// `count_pairs(plan_of(q), q)`. Throws: as apply().
PairCount count_pairs(const QdqPlan& plan, const Model& model);

/// What separates two plans, one line each: "- " and a point of the first,
/// "+ " and a point of the second, in order. Empty if they are equal.
std::string diff(const QdqPlan& from, const QdqPlan& to);

Config to_config(const QdqPlan& plan);
/// Throws: ValueError, NotFoundError saying what is wrong with which point.
QdqPlan plan_from_config(const Config& config);

/// A new model with wrappers around copies of the layers the plan names; the
/// given model is untouched. Wrapped layers are named "quant_<name>".
/// Throws: NotFoundError for an unknown layer or parameter; ValueError for an
/// input index out of range, a point given twice, or points of one group that
/// read different tensors or differ in their configuration; UnsupportedError
/// for a live or per-channel scale on an activation.
Model apply(const QdqPlan& plan, const Model& model,
            CopyOf weights = CopyOf::values);

/// The points of a quantized model, as apply() got them.
QdqPlan plan_of(const Model& model);

}  // namespace octet::quant
