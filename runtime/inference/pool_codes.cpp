#include <algorithm>
#include <unordered_set>
#include <vector>

#include "consumers.h"
#include "passes.h"

namespace octet::inference {
namespace {

bool reads_codes(const Call& call) {
  return call.linear && call.linear->factor == autograd::GemmType::codes;
}

// Whether parts of a concatenation fill words: pooling stores whole words.
bool fills_words(const LoweredGraph& graph, int concatenation) {
  const std::vector<int>& parts = at(graph.values, concatenation).parts;
  return std::ranges::all_of(parts, [&](int part) {
    return at(graph.values, part).shape[-1] % kernels::kMostCodesPerWord == 0;
  });
}

// Whether all consumers of a quantized value, and of values that are stored
// like it, are linear ops of one storage format.
bool in_one_format(const LoweredGraph& graph, const Consumers& consumers,
                   const std::unordered_set<int>& outputs, int codes) {
  std::vector<int> stored{codes};
  const kernels::CodeTable* table = nullptr;
  for (size_t k = 0; k < stored.size(); ++k) {
    for (const int whole : consumers.concatenations(stored[k])) {
      if (!fills_words(graph, whole) || outputs.contains(whole) ||
          !consumers.expressions(whole).empty()) {
        return false;
      }
      stored.push_back(whole);
    }
    for (const int i : consumers.calls(stored[k])) {
      const Call& consumer = at(graph.calls, i);
      if (consumer.pool && at(graph.values, consumer.output).codes) {
        stored.push_back(consumer.output);
        continue;
      }
      if (!reads_codes(consumer)) return false;
      const kernels::CodeTable* own = &consumer.linear->kernels->code_table;
      if (table != nullptr && table != own) return false;
      table = own;
    }
  }
  return true;
}

// Returns the quantized value of a call's output if it is the only one with
// consumers, otherwise -1.
int only_codes_of(const LoweredGraph& graph, const Consumers& consumers,
                  const std::unordered_set<int>& outputs, const Call& call) {
  if (outputs.contains(call.output) || !consumers.calls(call.output).empty() ||
      !consumers.concatenations(call.output).empty()) {
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
  if (outputs.contains(codes)) return -1;
  return in_one_format(graph, consumers, outputs, codes) ? codes : -1;
}

}  // namespace

void pool_codes(LoweredGraph& graph) {
  Consumers consumers(graph);
  std::unordered_set<int> outputs(graph.outputs.begin(), graph.outputs.end());
  for (const LoweredValue& v : graph.values) {
    if (v.alias >= 0) outputs.insert(v.alias);  // consumed as floats
  }
  // The last first: it may leave only quantized consumers to others.
  for (size_t i = graph.calls.size(); i-- > 0;) {
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
