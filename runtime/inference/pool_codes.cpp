#include "pool_codes.h"

#include <algorithm>

namespace octet::inference {
namespace {

bool reads_codes(const Call& call) {
  return call.linear && call.linear->factor == autograd::Factor::codes;
}

// What a call's output is on a grid, if codes of that are all that is read.
int only_codes_of(const Graph& graph, const Call& call) {
  if (std::ranges::find(graph.outputs, call.output) != graph.outputs.end()) {
    return -1;
  }
  for (const Call& reader : graph.calls) {
    if (std::ranges::find(reader.inputs, call.output) != reader.inputs.end()) {
      return -1;
    }
  }
  int of = -1;  // its own expression
  for (size_t i = 0; i < graph.pointwise.size(); ++i) {
    const Pointwise& p = graph.pointwise[i];
    const int reads[] = {p.first, p.second, p.multiplier, p.other};
    if (std::ranges::find(reads, call.output) == std::end(reads)) continue;
    if (of >= 0 || !p.plain()) return -1;
    of = static_cast<int>(i);
  }
  int codes = -1;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (of < 0 || graph.values[i].pointwise != of) continue;
    if (codes >= 0 || graph.values[i].grid.empty()) return -1;
    codes = static_cast<int>(i);
  }
  if (codes < 0) return -1;
  for (const Pointwise& p : graph.pointwise) {
    const int reads[] = {p.first, p.second, p.multiplier, p.other};
    if (std::ranges::find(reads, codes) != std::end(reads)) return -1;
  }
  const kernels::CodeTable* table = nullptr;
  for (const Call& reader : graph.calls) {
    const bool reads =
        std::ranges::find(reader.inputs, codes) != reader.inputs.end();
    if (!reads) continue;
    if (!reads_codes(reader)) return -1;
    const kernels::CodeTable* own = &reader.linear->kernels->code_table;
    if (table != nullptr && table != own) return -1;  // in two forms
    table = own;
  }
  return std::ranges::find(graph.outputs, codes) == graph.outputs.end() ? codes
                                                                        : -1;
}

}  // namespace

void pool_codes(Graph& graph) {
  for (size_t i = 0; i < graph.calls.size(); ++i) {
    Call& call = graph.calls[i];
    if (!call.pool) continue;
    const int codes = only_codes_of(graph, call);
    const Value x = at(graph.values, call.pool->value);
    const Grid grid = codes < 0 ? Grid{} : at(graph.values, codes).grid;
    const bool there = same_grid(x.grid, grid);  // the pooled value, already
    if (codes < 0 || !(x.grid.empty() || there)) {
      call.pool.reset();
      continue;
    }
    if (there) {
      call.inputs = {call.pool->value};
    } else {
      const int of =
          x.pointwise < 0 ? graph.plain(call.pool->value) : x.pointwise;
      call.inputs = {graph.evaluation(of, x.shape, grid)};
    }
    call.pads = call.pool->pads;
    call.output = codes;
    Value& stored = at(graph.values, codes);
    stored.pointwise = -1;
    stored.call = static_cast<int>(i);
    stored.codes = true;
  }
}

}  // namespace octet::inference
