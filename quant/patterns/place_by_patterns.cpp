#include <algorithm>

#include <octet/quant/patterns.h>
#include <octet/quant/quantize_model.h>

namespace octet::quant {

PatternPlacement place_by_patterns(const Model& model,
                                   const std::vector<Pattern>& patterns,
                                   const InsertQdqOptions& config,
                                   const std::vector<Conversion>& conversions) {
  TransformResult result = transform(model, patterns, conversions);
  Placement placement{
      .plan = plan_of_matches(result.model, result.matches, config),
      .notes = {}};
  const auto is_pattern = [&](const std::string& name) {
    return std::ranges::find(patterns, name, &Pattern::name) != patterns.end();
  };
  for (const auto& layer : result.model.layers()) {
    const auto note = [&](std::string rule, std::string text) {
      placement.notes.push_back({.kind = PlacementNote::Kind::skipped,
                                 .layer = layer->name(),
                                 .rule = std::move(rule),
                                 .text = std::move(text)});
    };
    for (const PatternMatch& match : result.matches) {
      if (match.layers.front() == layer->name() && match.apply &&
          match.qdq_points.empty()) {
        note("pattern " + match.pattern, match.rationale);
      }
    }
    for (const TransformReport::Skipped& skipped : result.report.skipped) {
      if (skipped.layer != layer->name()) continue;
      const bool known = is_pattern(skipped.name);
      note(skipped.name.empty()
               ? "patterns"
               : (known ? "pattern " : "conversion ") + skipped.name,
           skipped.reason);
    }
  }
  return {std::move(result.model), std::move(placement),
          std::move(result.report)};
}

}  // namespace octet::quant
