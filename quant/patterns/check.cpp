#include "patterns/check.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/registry.h>
#include <octet/runtime/error.h>
#include <octet/runtime/near_names.h>

namespace octet::quant {
namespace {

template <class Named>
void check_names(const std::vector<Named>& list, std::string_view what) {
  std::set<std::string> seen;
  for (const Named& each : list) {
    if (each.name.empty()) {
      throw ValueError(fmt::format("{}: expected a name, got none", what));
    }
    if (!seen.insert(each.name).second) {
      throw ValueError(fmt::format(
          "{}: expected each name once, got '{}' twice", what, each.name));
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
    throw NotFoundError(fmt::format("expected a layer class, got '{}'{}", name,
                                    suggest_names(name, known)));
  }
  if (def->role == LayerRole::identity) {
    throw ValueError(fmt::format(
        "expected a layer that does something in inference, got {}, which "
        "matching looks through",
        def->class_name));
  }
}

void check_condition(const Condition& condition, std::string_view which) {
  if (condition.text.empty() == !condition.holds) return;
  throw ValueError(
      fmt::format("{}: expected words and a function, got {}", which,
                  condition.holds ? "a function alone" : "words alone"));
}

void check(const PatternStep& step) {
  if (step.classes.empty() && step.roles.empty() && step.activations.empty()) {
    throw ValueError("expected classes, roles or activations, got none");
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
    throw ValueError("expected a step that is not optional, got none");
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
    throw ValueError(fmt::format(
        "conversion '{}': expected a function, got none", conversion.name));
  }
}

}  // namespace octet::quant
