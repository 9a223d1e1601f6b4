#include "draft.h"

#include <algorithm>

#include <fmt/format.h>

#include "chains.h"

namespace octet::quant {
namespace {

bool has_input(const Decision& decision, int input) {
  return std::ranges::any_of(decision.sites, [&](const PlacedSite& placed) {
    return placed.site == QdqSite::input(input);
  });
}

// What all calls of a layer want, in the words of the first.
Decision common(std::span<const Decision* const> calls) {
  Decision result = *calls.front();
  const size_t wanted = result.sites.size();
  std::erase_if(result.sites, [&](const PlacedSite& placed) {
    return !std::ranges::all_of(calls, [&](const Decision* other) {
      return std::ranges::find(other->sites, placed.site, &PlacedSite::site) !=
             other->sites.end();
    });
  });
  if (result.sites.empty() && wanted > 0) {
    result.reason =
        fmt::format("called {} times, and not all calls want Q/DQ at one place",
                    calls.size());
  }
  return result;
}

}  // namespace

Draft::Draft(const GraphIndex& graph, const Decisions& fixed)
    : graph_(graph), fixed_(fixed) {}

bool Draft::is_fixed(const GraphNode& node) const {
  return fixed_.contains(node.layer.get());
}

const Decision* Draft::find(const GraphNode& node) const {
  const auto fixed = fixed_.find(node.layer.get());
  if (fixed != fixed_.end()) return &fixed->second;
  const auto draft = drafts_.find(&node);
  return draft == drafts_.end() ? nullptr : &draft->second;
}

void Draft::decide(const GraphNode& node, Decision decision) {
  drafts_[&node] = std::move(decision);
}

bool Draft::reads_int8(const GraphNode& node, int input) const {
  if (input == 0 && behind_pads_.contains(&node)) return true;
  const Decision* decision = find(node);
  return decision != nullptr && has_input(*decision, input);
}

void Draft::move_to_pad(const GraphNode& node) {
  behind_pads_.insert(&node);
  take_back(node, 0, "P20", "its Q/DQ stands before the pad");
}

void Draft::take_back(const GraphNode& node, int input, std::string rule,
                      std::string reason) {
  const auto found = drafts_.find(&node);
  if (found == drafts_.end()) return;
  Decision& decision = found->second;
  std::erase_if(decision.sites, [&](const PlacedSite& placed) {
    return placed.site == QdqSite::input(input);
  });
  if (decision.sites.empty()) {
    decision.rule = std::move(rule);
    decision.reason = std::move(reason);
  }
}

void Draft::look_ahead(const GraphNode& node) {
  Ahead result;
  const auto keep = [](const GraphNode*& first, const GraphNode* next) {
    if (first == nullptr) first = next;
  };
  for (const auto& [reader, input] : graph_.readers(node)) {
    const Ahead behind =
        lets_through(graph_, *reader) ? ahead(*reader) : Ahead();
    // A pad with Q/DQ has it for the layer behind it.
    const bool pad = GraphIndex::is(*reader, "ZeroPadding2D");
    if (reads_int8(*reader, input) && !pad) {
      keep(result.quantized, reader);
      keep(result.unmerged, reader);
    }
    keep(result.quantized, behind.quantized);
    if (!is_merge(graph_, *reader)) keep(result.unmerged, behind.unmerged);
    keep(result.floating,
         stays_float(graph_, *reader) ? reader : behind.floating);
  }
  ahead_[&node] = result;
}

const Ahead& Draft::ahead(const GraphNode& node) const {
  return ahead_.at(&graph_.source(node));
}

Decisions Draft::decisions() const {
  Decisions result;
  for (const auto& layer : graph_.model().layers()) {
    if (fixed_.contains(layer.get())) continue;
    std::vector<const Decision*> calls;
    for (const GraphNode* node : graph_.calls(*layer)) {
      if (const Decision* decision = find(*node)) calls.push_back(decision);
    }
    if (!calls.empty()) result.emplace(layer.get(), common(calls));
  }
  return result;
}

Decision left_alone(std::string rule, std::string reason) {
  return {.sites = {}, .rule = std::move(rule), .reason = std::move(reason)};
}

Decision quantized_input(int input, const std::string& rule,
                         std::string reason) {
  return {.sites = {{QdqSite::input(input), rule, std::move(reason)}},
          .rule = rule};
}

}  // namespace octet::quant
