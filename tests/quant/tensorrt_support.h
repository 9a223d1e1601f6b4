// Support for placement tests: edges with their rules, and notes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "support.h"

namespace octet {

using Strings = std::vector<std::string>;

/// "conv 0 P01" of each activation point, in the plan's order.
inline Strings edges(const quant::QdqPlan& plan) {
  Strings result;
  for (const quant::QdqPoint& point : plan.points) {
    if (point.site.kind != quant::SiteKind::input) continue;
    result.push_back(
        fmt::format("{} {} {}", point.layer, point.site.index, point.rule));
  }
  return result;
}

/// "conv kernel P01" of each weight.
inline Strings weights(const quant::QdqPlan& plan) {
  Strings result;
  for (const quant::QdqPoint& point : plan.points) {
    if (point.site.kind != quant::SiteKind::weight) continue;
    result.push_back(
        fmt::format("{} {} {}", point.layer, point.site.parameter, point.rule));
  }
  return result;
}

inline Strings edges_for(const Model& model,
                         const quant::QuantizeOptions& options = {}) {
  return edges(plan_for(model, options));
}

/// Returns the point at a layer's input; fails the test if there is none.
inline const quant::QdqPoint& point_at(const quant::QdqPlan& plan,
                                       const std::string& layer,
                                       int input = 0) {
  for (const quant::QdqPoint& point : plan.points) {
    if (point.layer == layer && point.site == quant::QdqSite::input(input)) {
      return point;
    }
  }
  throw NotFoundError("unknown_name", layer,
                      fmt::format("no point at input {}", input));
}

/// Returns "P10: reason" of a skipped layer, or "" without a note.
inline std::string note_of(const Model& model, const std::string& layer,
                           const quant::QuantizeOptions& options = {}) {
  for (const auto& note : quant::place(model, options).notes) {
    if (note.layer == layer &&
        note.kind == quant::PlacementNote::Kind::skipped) {
      return fmt::format("{}: {}", note.rule, note.text);
    }
  }
  return "";
}

/// Returns a spec that switches layers off.
inline quant::QuantizeOptions without(const Strings& layers) {
  quant::QuantizeOptions options;
  options.spec.add(layers,
                   {.quantize_input = {false}, .quantize_weight = {false}});
  return options;
}

/// A 1x1 convolution without bias, which keeps the shape.
inline SymbolicTensor conv(const SymbolicTensor& x, const std::string& name,
                           int64_t filters = 0) {
  return Conv2D({.filters = filters == 0 ? x.shape()[-1] : filters,
                 .kernel_size = {1, 1},
                 .use_bias = false,
                 .name = name})(x);
}

inline SymbolicTensor norm(const SymbolicTensor& x, const std::string& name) {
  return BatchNormalization({.name = name})(x);
}

inline SymbolicTensor relu(const SymbolicTensor& x, const std::string& name) {
  return ReLU({.name = name})(x);
}

inline SymbolicTensor add(std::vector<SymbolicTensor> inputs,
                          const std::string& name = "add") {
  return Add({.name = name})(std::move(inputs));
}

}  // namespace octet
