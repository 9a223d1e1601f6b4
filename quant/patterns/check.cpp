#include "patterns/check.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

template <class Named>
void check_names(const std::vector<Named>& list, std::string_view what) {
  std::set<std::string> seen;
  for (const Named& each : list) {
    if (each.name.empty()) {
      throw ValueError("missing_value", std::string(what),
                       "name must not be empty");
    }
    if (!seen.insert(each.name).second) {
      throw ValueError("duplicate_name",
                       fmt::format("{} '{}'", what, each.name),
                       "occurs twice in the list");
    }
  }
}

void check_class(const std::string& name) {
  const LayerDef* def = find_layer_def(name);
  if (def == nullptr) {
    std::vector<std::string> known;
    for (const LayerDef* each : layer_defs()) {
      known.emplace_back(each->class_name);
    }
    throw NotFoundError("unknown_name", "pattern step",
                        fmt::format("'{}' is not a layer class{}", name,
                                    suggest_names(name, known)));
  }
  if (def->role == LayerRole::identity) {
    throw ValueError(
        "invalid_value", "pattern step",
        fmt::format("{} is an identity in inference, which matching skips",
                    def->class_name));
  }
}

void check_condition(const Condition& condition, std::string_view which) {
  if (condition.text.empty() == !condition.holds) return;
  throw ValueError(
      "missing_value", "pattern step",
      fmt::format("{} needs a text and a function, got {}", which,
                  condition.holds ? "only a function" : "only a text"));
}

void check(const PatternStep& step) {
  if (step.classes.empty() && step.roles.empty() && step.activations.empty()) {
    throw ValueError("missing_value", "pattern step",
                     "needs classes, roles or activations");
  }
  for (const std::string& name : step.classes) check_class(name);
  for (const std::string& name : step.activations) {
    expect_activation_function(name);
  }
  check_condition(step.only_if, "only_if");
  check_condition(step.skip_if, "skip_if");
}

void check(const Pattern& pattern) {
  if (std::ranges::all_of(pattern.steps, &PatternStep::optional)) {
    throw ValueError("missing_value", fmt::format("pattern '{}'", pattern.name),
                     "needs a step that is not optional");
  }
  for (size_t i = 0; i < pattern.steps.size(); ++i) {
    with_context([&] { return fmt::format("in step {}", i); },
                 [&] { check(pattern.steps[i]); });
  }
}

}  // namespace

void check(const std::vector<Pattern>& patterns) {
  check_names(patterns, "pattern");
  for (const Pattern& pattern : patterns) {
    with_context([&] { return fmt::format("in pattern '{}'", pattern.name); },
                 [&] { check(pattern); });
  }
}

void check(const std::vector<Conversion>& conversions) {
  check_names(conversions, "conversion");
  for (const Conversion& conversion : conversions) {
    if (conversion.convert) continue;
    throw ValueError("missing_value",
                     fmt::format("conversion '{}'", conversion.name),
                     "convert must not be null");
  }
}

}  // namespace octet::quant
