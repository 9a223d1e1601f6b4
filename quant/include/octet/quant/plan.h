// QdqPlan: where Q/DQ pairs go in a model and why, one point per quantized
// tensor and reader. Plans are values: they print, compare and can be edited
// before apply() turns them into wrappers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/quantizer.h>

namespace octet::quant {

enum class SiteKind { input, weight };

/// One place at a layer: QdqSite::input(0), QdqSite::weight("kernel").
struct QdqSite {
  SiteKind kind = SiteKind::input;
  int index = 0;          ///< of the input
  std::string parameter;  ///< of the weight

  static QdqSite input(int index);
  static QdqSite weight(std::string parameter);
  bool operator==(const QdqSite&) const = default;
};

struct QdqPoint {
  std::string layer;  ///< name
  QdqSite site;
  QuantizerConfig config;
  std::string reason;  ///< the rule that put it here
  /// Points of one group read the same tensor and share one quantizer.
  std::string group;
  bool operator==(const QdqPoint&) const = default;
};

struct QdqPlan {
  std::vector<QdqPoint> points;  ///< in the model's order, inputs first

  /// Q/DQ pairs of the exported graph: one per group.
  int64_t pairs() const;
  /// One point per line.
  std::string to_string() const;
  bool operator==(const QdqPlan&) const = default;
};

/// A new model with wrappers around copies of the layers the plan names; the
/// given model is untouched. Wrapped layers are named "quant_<name>".
/// Throws: NotFoundError for an unknown layer or parameter; ValueError for an
/// input index out of range, a point given twice, or points of one group that
/// read different tensors or differ in their configuration; UnsupportedError
/// for a live or per-channel scale on an input.
Model apply(const QdqPlan& plan, const Model& model);

/// The points of a quantized model, as apply() got them.
QdqPlan plan_of(const Model& model);

}  // namespace octet::quant
