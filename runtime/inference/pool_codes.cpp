#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "passes.h"

namespace octet::inference {
namespace {

bool reads_codes(const Call& call) {
  return call.linear && call.linear->factor == autograd::GemmType::codes;
}

// Consumers of each value.
class Consumers {
 public:
  explicit Consumers(const LoweredGraph& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.calls.size(); ++i) {
      for (const int input : graph.calls[i].inputs) {
        add(calls_, input, static_cast<int>(i));
      }
    }
    add_expressions();
  }

  /// Adds expressions appended to the graph since the last call.
  void add_expressions() {
    for (; expressions_seen_ < graph_.pointwise.size(); ++expressions_seen_) {
      const Pointwise& p = graph_.pointwise[expressions_seen_];
      for (const int value : {p.first, p.second, p.multiplier, p.other}) {
        if (value >= 0) {
          add(expressions_, value, static_cast<int>(expressions_seen_));
        }
      }
    }
  }
  /// Replaces an input of a call.
  void move(int call, int from, int to) {
    std::erase(calls_[from], call);
    add(calls_, to, call);
  }

  /// Without duplicates, in order.
  std::span<const int> calls(int value) const { return of(calls_, value); }
  std::span<const int> expressions(int value) const {
    return of(expressions_, value);
  }

 private:
  using Lists = std::unordered_map<int, std::vector<int>>;
  static void add(Lists& lists, int value, int consumer) {
    std::vector<int>& list = lists[value];
    if (list.empty() || list.back() != consumer) list.push_back(consumer);
  }
  static std::span<const int> of(const Lists& lists, int value) {
    const auto found = lists.find(value);
    if (found == lists.end()) return {};
    return found->second;
  }

  const LoweredGraph& graph_;
  Lists calls_, expressions_;
  size_t expressions_seen_ = 0;
};

// Returns the quantized value of a call's output if it is the only one with
// consumers, otherwise -1.
int only_codes_of(const LoweredGraph& graph, const Consumers& consumers,
                  const std::unordered_set<int>& outputs, const Call& call) {
  if (outputs.contains(call.output) || !consumers.calls(call.output).empty()) {
    return -1;
  }
  int of = -1;  // identity expression
  for (const int i : consumers.expressions(call.output)) {
    if (of >= 0 || !at(graph.pointwise, i).plain()) return -1;
    of = i;
  }
  if (of < 0) return -1;
  int codes = -1;
  for (const int i : graph.evaluations(of)) {
    const LoweredValue& v = at(graph.values, i);
    if (v.pointwise != of) continue;
    if (codes >= 0 || v.qparams.empty()) return -1;
    codes = i;
  }
  if (codes < 0 || !consumers.expressions(codes).empty()) return -1;
  const kernels::CodeTable* table = nullptr;
  for (const int i : consumers.calls(codes)) {
    const Call& consumer = at(graph.calls, i);
    if (!reads_codes(consumer)) return -1;
    const kernels::CodeTable* own = &consumer.linear->kernels->code_table;
    if (table != nullptr && table != own) return -1;  // in two formats
    table = own;
  }
  return outputs.contains(codes) ? -1 : codes;
}

}  // namespace

void pool_codes(LoweredGraph& graph) {
  Consumers consumers(graph);
  std::unordered_set<int> outputs(graph.outputs.begin(), graph.outputs.end());
  for (const LoweredValue& v : graph.values) {
    if (v.alias >= 0) outputs.insert(v.alias);  // consumed as floats
  }
  for (size_t i = 0; i < graph.calls.size(); ++i) {
    Call& call = graph.calls[i];
    if (!call.pool) continue;
    const int codes = only_codes_of(graph, consumers, outputs, call);
    const LoweredValue x = at(graph.values, call.pool->value);
    const QuantParams qparams =
        codes < 0 ? QuantParams{} : at(graph.values, codes).qparams;
    const bool there =
        same_qparams(x.qparams, qparams);  // input is already quantized
    if (codes < 0 || !(x.qparams.empty() || there)) {
      call.pool.reset();
      continue;
    }
    const int before = call.inputs[0];
    if (there) {
      call.inputs = {call.pool->value};
    } else {
      const int of =
          x.pointwise < 0 ? graph.plain(call.pool->value) : x.pointwise;
      call.inputs = {graph.evaluation(of, x.shape, qparams)};
      consumers.add_expressions();
    }
    consumers.move(static_cast<int>(i), before, call.inputs[0]);
    call.pads = call.pool->pads;
    call.output = codes;
    LoweredValue& stored = at(graph.values, codes);
    stored.pointwise = -1;
    stored.call = static_cast<int>(i);
    stored.codes = true;
  }
}

}  // namespace octet::inference
