#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <octet/quant/patterns.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

#include "patterns/check.h"
#include "patterns/failure.h"
#include "patterns/match.h"
#include "plan/decisions.h"

namespace octet::quant {
namespace {

// Rewrites a copy of a model until no conversion applies.
class Converter {
 public:
  Converter(const Model& model, TransformReport& report)
      : model_(model),
        report_(report),
        rounds_left_(std::max<size_t>(64, model.nodes().size())) {}

  Model run(const std::vector<Conversion>& conversions) {
    std::vector<const Conversion*> active(conversions.size());
    std::ranges::transform(conversions, active.begin(),
                           [](const Conversion& each) { return &each; });
    for (bool changed = true; changed;) {
      changed = false;
      std::erase_if(active, [&](const Conversion* conversion) {
        std::string failure;
        while (const auto went = result_of<bool>(
                   [&] { return convert(*conversion); }, failure)) {
          if (!*went) return false;
          changed = true;
          count(*conversion);
        }
        report_.skipped.push_back({conversion->name, at_, failure});
        return true;
      });
    }
    return converted_ ? std::move(*converted_) : model_.clone();
  }

 private:
  // Applies a conversion everywhere. Returns whether it replaced anything.
  bool convert(const Conversion& conversion) {
    std::vector<TransformReport::Converted> done;
    const auto rewrite = [&](const GraphNode& node, Rebuild& rebuild) {
      at_ = node.layer->name();
      auto replacement = conversion.convert(node, rebuild);
      if (replacement) done.push_back({conversion.name, at_});
      return replacement;
    };
    const Model& current = converted_ ? *converted_ : model_;
    std::optional<Model> next = current.rebuild(rewrite);
    if (!next) return false;
    converted_ = std::move(next);
    report_.conversions.insert(report_.conversions.end(), done.begin(),
                               done.end());
    return true;
  }

  void count(const Conversion& conversion) {
    if (rounds_left_-- > 0) return;
    throw ValueError(
        "invalid_state", fmt::format("conversion '{}'", conversion.name),
        fmt::format("does not terminate: it replaced '{}' in every round",
                    at_));
  }

  const Model& model_;
  TransformReport& report_;
  size_t rounds_left_;
  std::optional<Model> converted_;
  std::string at_;  // last visited layer
};

std::vector<TransformReport::Count> counts(
    const std::vector<Pattern>& patterns,
    const std::vector<PatternMatch>& matches) {
  std::vector<TransformReport::Count> result;
  for (const Pattern& pattern : patterns) {
    TransformReport::Count count{.pattern = pattern.name};
    for (const PatternMatch& match : matches) {
      if (match.pattern != pattern.name) continue;
      ++(match.apply ? count.applied : count.skipped);
    }
    result.push_back(count);
  }
  return result;
}

}  // namespace

PatternMatch& TransformResult::match(std::string_view layer) {
  std::vector<std::string> names;
  for (PatternMatch& each : matches) {
    if (std::ranges::find(each.layers, layer) != each.layers.end()) return each;
    names.insert(names.end(), each.layers.begin(), each.layers.end());
  }
  throw NotFoundError("unknown_name", fmt::format("layer '{}'", layer),
                      fmt::format("in no match of model '{}'{}", model.name(),
                                  suggest_names(layer, names)));
}

TransformResult transform(const Model& model,
                          const std::vector<Pattern>& patterns,
                          const std::vector<Conversion>& conversions) {
  check(patterns);
  check(conversions);
  check_is_float(model, "transform");
  TransformReport report;
  Model converted = Converter(model, report).run(conversions);
  const GraphIndex graph(converted);
  Matching matching = match_patterns(graph, patterns);
  report.patterns = counts(patterns, matching.matches);
  report.skipped.insert(report.skipped.end(), matching.skipped.begin(),
                        matching.skipped.end());
  return {std::move(converted), std::move(matching.matches), std::move(report)};
}

}  // namespace octet::quant
