// transform(): the first half of the pattern route. Conversions rewrite a copy
// of the model, then patterns are matched on it; the matches can be edited
// before insert_qdq() (insert_qdq.h) makes Q/DQ of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/conversion.h>
#include <octet/quant/pattern.h>
#include <octet/quant/qdq_site.h>

namespace octet::quant {

/// A point of a pattern at the layer where it came to stand.
struct MatchPoint {
  PatternPoint point = PatternPoint::input;
  std::string layer;
  QdqSite site;
  bool operator==(const MatchPoint&) const = default;
};

/// Layers that a pattern found. Every layer is in one match at most.
struct PatternMatch {
  std::string pattern;
  std::vector<std::string> layers;  ///< names, from the first to the last
  std::vector<MatchPoint> qdq_points;
  std::string rationale;
  /// Whether insert_qdq() uses the match; may be changed.
  bool apply = true;
  std::string skip_reason = {};  ///< why transform() said no, if it did

  /// The last layer, as the name of the match.
  const std::string& key() const { return layers.back(); }
  bool operator==(const PatternMatch&) const = default;
};

/// What transform() did.
struct TransformReport {
  struct Converted {
    std::string conversion;
    std::string layer;  ///< that something else took the place of
    bool operator==(const Converted&) const = default;
  };
  struct Count {
    std::string pattern;
    int64_t applied = 0;
    int64_t skipped = 0;
    bool operator==(const Count&) const = default;
  };
  /// A pattern or conversion that was not applied, at a layer.
  struct Skipped {
    std::string name;  ///< empty for a layer that no pattern takes
    std::string layer;
    std::string reason;
    bool operator==(const Skipped&) const = default;
  };

  std::vector<Converted> conversions;
  std::vector<Count> patterns;  ///< in the order they were tried
  std::vector<Skipped> skipped;

  /// As tables, layers of one reason on one line.
  std::string to_string() const;
  bool operator==(const TransformReport&) const = default;
};

struct [[nodiscard]] TransformResult {
  Model model;
  std::vector<PatternMatch> matches;  ///< in the order of their first layers
  TransformReport report;

  /// The match that a layer is in. Throws: NotFoundError with near names.
  PatternMatch& match(std::string_view layer);
};

/// Converts a copy of the model until nothing changes, then matches the
/// patterns in their order, each along the model's; the model itself is
/// untouched. Where two convolutions lead into one Add, the one further from
/// their common ancestor is in the match. Conditions and conversions that throw
/// are skipped and reported.
/// Throws: ValueError for a quantized model, for a pattern or conversion that
/// lacks what it needs or shares its name with another, for a function that
/// does not exist, and for conversions that come to no end; NotFoundError, with
/// near names, for a layer class that does not exist.
TransformResult transform(
    const Model& model,
    const std::vector<Pattern>& patterns = tensorrt_patterns(),
    const std::vector<Conversion>& conversions = tensorrt_conversions());

}  // namespace octet::quant
