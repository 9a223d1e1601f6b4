// Moves pointwise expressions of concatenations to their parts, so that the
// epilogues that compute the parts write the result.
#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "consumers.h"
#include "ops/weights.h"
#include "passes.h"

namespace octet::inference {
namespace {

Tensor channels_of(const Tensor& factors, int64_t first, int64_t count) {
  return factors.size() < 2 ? factors : factors.slice(first, count);
}

// Returns the value of an expression of a concatenation for one part.
int part_of(LoweredGraph& graph, const Pointwise& whole,
            const QuantParams& qparams, int part, int64_t channel) {
  const LoweredValue v = at(graph.values, part);
  if (whole.plain()) {
    if (!v.qparams.empty() && same_qparams(v.qparams, qparams)) return part;
    const bool expression = v.pointwise >= 0 && v.qparams.empty();
    return graph.evaluation(expression ? v.pointwise : graph.plain(part),
                            v.shape, qparams);
  }
  Pointwise p;
  p.e = whole.e;
  p.e.shape = v.shape;
  p.e.first.a = channels_of(whole.e.first.a, channel, v.shape[-1]);
  p.e.first.b = channels_of(whole.e.first.b, channel, v.shape[-1]);
  p.function = whole.function;
  p.first = part;
  p.after = graph.after(part);
  p.fusable = v.sums;
  if (v.sums) p.sums = part;
  p.a = p.e.first.a;
  p.b = p.e.first.b;
  p.low2 = -autograd::kInfinity;
  p.high2 = autograd::kInfinity;
  const int known = p.function ? -1 : graph.find(p);
  return graph.evaluation(known >= 0 ? known : graph.add(std::move(p)), v.shape,
                          qparams);
}

// Returns the only consumer of a concatenation if it is an expression that can
// be moved, otherwise -1.
int only_expression(const LoweredGraph& graph, const Consumers& consumers,
                    const std::unordered_set<int>& outputs, int value) {
  if (outputs.contains(value) || !consumers.calls(value).empty() ||
      !consumers.concatenations(value).empty()) {
    return -1;
  }
  int only = -1;
  for (const int i : consumers.expressions(value)) {
    if (graph.evaluations(i).empty()) continue;  // only part of another
    const Pointwise& p = at(graph.pointwise, i);
    if (only >= 0 || p.second >= 0 || p.multiplier >= 0) return -1;
    only = i;
  }
  return only;
}

// Replaces parts that are concatenations without other consumers.
void flatten(LoweredGraph& graph, const Consumers& consumers,
             const std::unordered_set<int>& outputs, int value) {
  std::vector<int> parts;
  for (const int part : at(graph.values, value).parts) {
    const std::vector<int>& nested = at(graph.values, part).parts;
    const bool merges = !nested.empty() && !outputs.contains(part) &&
                        consumers.calls(part).empty() &&
                        consumers.expressions(part).empty() &&
                        consumers.concatenations(part).size() == 1;
    if (merges) {
      parts.insert(parts.end(), nested.begin(), nested.end());
    } else {
      parts.push_back(part);
    }
  }
  at(graph.values, value).parts = std::move(parts);
}

}  // namespace

void distribute(LoweredGraph& graph) {
  std::unordered_set<int> outputs(graph.outputs.begin(), graph.outputs.end());
  for (const LoweredValue& v : graph.values) {
    if (v.alias >= 0) outputs.insert(v.alias);
  }
  const Consumers consumers(graph);
  const int count = static_cast<int>(graph.values.size());
  for (int i = 0; i < count; ++i) {
    if (!at(graph.values, i).parts.empty()) {
      flatten(graph, consumers, outputs, i);
    }
  }
  for (int i = 0; i < count; ++i) {
    const std::vector<int> parts = at(graph.values, i).parts;
    if (parts.empty()) continue;
    const int of = only_expression(graph, consumers, outputs, i);
    if (of < 0) continue;
    const Pointwise p = at(graph.pointwise, of);
    const std::vector<int> evaluations = graph.evaluations(of);
    for (const int evaluation : evaluations) {
      if (at(graph.values, evaluation).pointwise != of) continue;
      const QuantParams qparams = at(graph.values, evaluation).qparams;
      std::vector<int> moved;
      int64_t channel = 0;
      for (const int part : parts) {
        moved.push_back(part_of(graph, p, qparams, part, channel));
        channel += at(graph.values, part).shape[-1];
      }
      LoweredValue& v = at(graph.values, evaluation);
      v.pointwise = -1;
      v.call = at(graph.values, i).call;
      v.parts = std::move(moved);
    }
    at(graph.values, i).parts.clear();  // without consumers
  }
}

}  // namespace octet::inference
