// transform(): first half of the pattern route. Conversions rewrite a copy of
// the model, then patterns are matched on it. The matches can be edited before
// insert_qdq() (insert_qdq.h).
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

/// A pattern point resolved to a site of a layer.
struct MatchPoint {
  PatternPoint point = PatternPoint::input;
  std::string layer;
  QdqSite site;
  bool operator==(const MatchPoint&) const = default;
};

/// Layers matched by a pattern. Each layer is in at most one match.
struct PatternMatch {
  std::string pattern;
  std::vector<std::string> layers;  ///< names, first to last
  std::vector<MatchPoint> qdq_points;
  std::string rationale;
  /// Whether insert_qdq() uses the match; may be edited.
  bool apply = true;
  std::string skip_reason = {};  ///< set if transform() cleared `apply`

  /// Returns the last layer, which identifies the match.
  const std::string& key() const { return layers.back(); }
  bool operator==(const PatternMatch&) const = default;
};

/// Summary of transform().
struct TransformReport {
  struct Converted {
    std::string conversion;
    std::string layer;  ///< the replaced layer
    bool operator==(const Converted&) const = default;
  };
  struct Count {
    std::string pattern;
    int64_t applied = 0;
    int64_t skipped = 0;
    bool operator==(const Count&) const = default;
  };
  /// A pattern or conversion not applied to a layer.
  struct Skipped {
    std::string name;  ///< empty for a layer without a pattern
    std::string layer;
    std::string reason;
    bool operator==(const Skipped&) const = default;
  };

  std::vector<Converted> conversions;
  std::vector<Count> patterns;  ///< in the order tried
  std::vector<Skipped> skipped;

  /// Returns tables, with a line per reason.
  std::string to_string() const;
  bool operator==(const TransformReport&) const = default;
};

struct [[nodiscard]] TransformResult {
  Model model;
  std::vector<PatternMatch> matches;  ///< by first layer
  TransformReport report;

  /// Returns the match of a layer.
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

}  // namespace octet::quant
