#include "patterns/match.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include <octet/quant/detail/fusion_rules.h>
#include <octet/runtime/error.h>

#include "patterns/chain.h"

namespace octet::quant {
namespace {

// A chain and its path through a layer with several inputs, if any.
struct Candidate {
  Chain chain;
  const GraphNode* merge = nullptr;
  int input = 0;
  int64_t length = 0;  // of its branch, in layers
};

/// Lengths of the branches of each merge (P07).
using BranchLengths =
    std::unordered_map<const GraphNode*, std::vector<int64_t>>;

Candidate candidate_of(const GraphIndex& graph, Chain chain,
                       BranchLengths& lengths) {
  Candidate result{.chain = std::move(chain)};
  for (const ChainLink& link : result.chain) {
    if (link.input < 0 || link.node->inputs.size() < 2) continue;
    result.merge = link.node;
    result.input = link.input;
    const auto [found, is_new] = lengths.try_emplace(link.node);
    if (is_new) found->second = paths_to_ancestor(graph, *link.node).layers;
    result.length = found->second.at(static_cast<size_t>(link.input));
    break;
  }
  return result;
}

bool is_free(const Candidate& candidate, const std::set<const Layer*>& taken) {
  return std::ranges::none_of(candidate.chain, [&](const ChainLink& link) {
    return taken.contains(link.node->layer.get());
  });
}

// Returns the chain with the longest branch of the candidates through a merge
// (P07).
const Candidate& preferred(const std::vector<Candidate>& candidates,
                           const Candidate& first,
                           const std::set<const Layer*>& taken) {
  const Candidate* best = &first;
  for (const Candidate& other : candidates) {
    if (first.merge == nullptr || other.merge != first.merge ||
        !is_free(other, taken)) {
      continue;
    }
    if (other.length > best->length ||
        (other.length == best->length && other.input < best->input)) {
      best = &other;
    }
  }
  return *best;
}

// Returns the sites of a point in a chain.
std::vector<MatchPoint> sites_of(const GraphIndex& graph, const Chain& chain,
                                 PatternPoint point) {
  const GraphNode& first = *chain.front().node;
  const GraphNode& last = *chain.back().node;
  std::vector<MatchPoint> result;
  const auto add_input = [&](const GraphNode& node, size_t index) {
    result.push_back(
        {point, node.layer->name(), QdqSite::input(static_cast<int>(index))});
  };
  const auto add_only = [&](size_t index) {
    if (index >= first.inputs.size()) {
      throw ValueError(
          "out_of_range", std::string(to_string(point)),
          fmt::format("needs input {} of '{}', which has {} inputs", index,
                      first.layer->name(), first.inputs.size()));
    }
    add_input(first, index);
  };
  switch (point) {
    case PatternPoint::input:
      for (size_t i = 0; i < first.inputs.size(); ++i) add_input(first, i);
      break;
    case PatternPoint::residual_input:
      for (size_t at = 1; at < chain.size(); ++at) {
        const ChainLink& link = chain[at];
        if (link.node == chain[at - 1].node) continue;
        for (size_t i = 0; i < link.node->inputs.size(); ++i) {
          if (static_cast<int>(i) != link.input) add_input(*link.node, i);
        }
      }
      break;
    case PatternPoint::query:
      add_only(0);
      break;
    case PatternPoint::key:
      add_only(1);
      break;
    case PatternPoint::value:
      add_only(2);
      break;
    case PatternPoint::output: {
      // Model outputs remain float (P16).
      const auto calls = graph.calls(*last.layer);
      const bool returned = std::ranges::any_of(
          calls, [&](const GraphNode* call) { return graph.is_output(*call); });
      if (!returned) {
        result.push_back({point, last.layer->name(), QdqSite::output()});
      }
      break;
    }
  }
  return result;
}

PatternMatch match_of(const GraphIndex& graph, const Pattern& pattern,
                      const Chain& chain) {
  PatternMatch match{.pattern = pattern.name,
                     .layers = {},
                     .qdq_points = {},
                     .rationale = pattern.rationale};
  for (const ChainLink& link : chain) {
    const std::string& name = link.node->layer->name();
    if (match.layers.empty() || match.layers.back() != name) {
      match.layers.push_back(name);
    }
  }
  for (const PatternPoint point : pattern.qdq_points) {
    for (MatchPoint& each : sites_of(graph, chain, point)) {
      const bool known =
          std::ranges::any_of(match.qdq_points, [&](const MatchPoint& other) {
            return other.layer == each.layer && other.site == each.site;
          });
      if (!known) match.qdq_points.push_back(std::move(each));
    }
  }
  return match;
}

class Matcher {
 public:
  explicit Matcher(const GraphIndex& graph) : graph_(graph) {}

  void match(const Pattern& pattern) {
    ChainFinder finder(graph_, pattern, taken_, result_.skipped);
    std::vector<Candidate> candidates;
    for (const auto& node : graph_.model().nodes()) {
      Chain chain = finder.from(*node);
      if (chain.empty()) continue;
      candidates.push_back(candidate_of(graph_, std::move(chain), lengths_));
    }
    for (const Candidate& candidate : candidates) {
      if (!is_free(candidate, taken_)) continue;
      accept(pattern, finder, preferred(candidates, candidate, taken_));
    }
  }

  Matching finish() {
    std::unordered_map<std::string, size_t> position;
    for (const auto& layer : graph_.model().layers()) {
      position.emplace(layer->name(), position.size());
      if (taken_.contains(layer.get())) continue;
      if (!graph_.is_linear(*graph_.calls(*layer)[0])) continue;
      result_.skipped.push_back(
          {.name = {},
           .layer = layer->name(),
           .reason =
               fmt::format("no pattern for class {}", layer->class_name())});
    }
    std::ranges::stable_sort(result_.matches, {}, [&](const PatternMatch& m) {
      return position.at(m.layers.front());
    });
    return std::move(result_);
  }

 private:
  void accept(const Pattern& pattern, const ChainFinder& finder,
              const Candidate& candidate) {
    const std::string& first = candidate.chain.front().node->layer->name();
    try {
      PatternMatch match = match_of(graph_, pattern, candidate.chain);
      match.skip_reason = finder.objection(candidate.chain);
      match.apply = match.skip_reason.empty();
      if (!match.apply) {
        result_.skipped.push_back({pattern.name, first, match.skip_reason});
      }
      result_.matches.push_back(std::move(match));
    } catch (const ValueError& error) {
      result_.skipped.push_back({pattern.name, first, error.message()});
      return;
    }
    for (const ChainLink& link : candidate.chain) {
      taken_.insert(link.node->layer.get());
    }
  }

  const GraphIndex& graph_;
  // For lookup only: the order of pointers varies.
  std::set<const Layer*> taken_;
  BranchLengths lengths_;
  Matching result_;
};

}  // namespace

Matching match_patterns(const GraphIndex& graph,
                        const std::vector<Pattern>& patterns) {
  Matcher matcher(graph);
  for (const Pattern& pattern : patterns) matcher.match(pattern);
  return matcher.finish();
}

}  // namespace octet::quant
