#include "placement/tensorrt/placement_state.h"

#include <algorithm>

#include <fmt/format.h>

namespace octet::quant {
namespace {

bool has_input(const Decision& decision, int input) {
  return std::ranges::any_of(decision.sites, [&](const PlacedSite& placed) {
    return placed.site == QdqSite::input(input);
  });
}

// Returns the sites common to all calls of a layer, with the first call's
// reasons.
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
    result.reason = fmt::format(
        "called {} times, and no site is common to all calls", calls.size());
  }
  return result;
}

}  // namespace

PlacementState::PlacementState(const GraphIndex& graph, const Decisions& fixed)
    : graph_(graph), fusions_(graph), fixed_(fixed) {}

bool PlacementState::is_fixed(const GraphNode& node) const {
  return fixed_.contains(node.layer.get());
}

const Decision* PlacementState::find(const GraphNode& node) const {
  const auto fixed = fixed_.find(node.layer.get());
  if (fixed != fixed_.end()) return &fixed->second;
  const auto state = decided_.find(&node);
  return state == decided_.end() ? nullptr : &state->second;
}

void PlacementState::decide(const GraphNode& node, Decision decision) {
  decided_[&node] = std::move(decision);
}

bool PlacementState::reads_int8(const GraphNode& node, int input) const {
  if (input == 0 && padded_.contains(&node)) return true;
  const Decision* decision = find(node);
  return decision != nullptr && has_input(*decision, input);
}

void PlacementState::move_to_pad(const GraphNode& node) {
  padded_.insert(&node);
  take_back(node, 0, "P20", "its Q/DQ is before the pad");
}

void PlacementState::take_back(const GraphNode& node, int input,
                               std::string rule, std::string reason) {
  const auto found = decided_.find(&node);
  if (found == decided_.end()) return;
  Decision& decision = found->second;
  std::erase_if(decision.sites, [&](const PlacedSite& placed) {
    return placed.site == QdqSite::input(input);
  });
  if (decision.sites.empty()) {
    decision.rule = std::move(rule);
    decision.reason = std::move(reason);
  }
}

void PlacementState::find_successors(const GraphNode& node) {
  Successors result;
  const auto keep = [](const GraphNode*& first, const GraphNode* next) {
    if (first == nullptr) first = next;
  };
  for (const auto& [consumer, input] : graph_.consumers(node)) {
    const FusionKind kind = graph_.kind(*consumer);
    const Successors further =
        commutes_with_quantization(kind) ? successors(*consumer) : Successors();
    // Q/DQ of a pad serves its consumer.
    const bool pad = GraphIndex::is_spatial(*consumer, "ZeroPadding");
    if (reads_int8(*consumer, input) && !pad) {
      keep(result.quantized, consumer);
      keep(result.unmerged, consumer);
    }
    keep(result.quantized, further.quantized);
    if (!is_merge(kind) || silu_gate(graph_, *consumer) != nullptr) {
      keep(result.unmerged, further.unmerged);
    }
    keep(result.floating, is_never_int8(kind) ? consumer : further.floating);
  }
  successors_[&node] = result;
}

const Successors& PlacementState::successors(const GraphNode& node) const {
  return successors_.at(&graph_.source(node));
}

Decisions PlacementState::decisions() const {
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

std::string name_list(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  if (names.size() == 2) return fmt::format("{} and {}", names[0], names[1]);
  if (names.size() == 3) {
    return fmt::format("{}, {} and {}", names[0], names[1], names[2]);
  }
  return fmt::format("{}, {} and {} more", names[0], names[1],
                     names.size() - 2);
}

Decision skipped(std::string rule, std::string reason) {
  return {.sites = {}, .rule = std::move(rule), .reason = std::move(reason)};
}

Decision quantized_input(int input, const std::string& rule,
                         std::string reason) {
  return {.sites = {{QdqSite::input(input), rule, std::move(reason)}},
          .rule = rule};
}

}  // namespace octet::quant
