// Fusion: turns traced ops into calls of kernels and pointwise expressions that
// their epilogues may evaluate.
#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>

#include "graph.h"
#include "trace.h"

namespace octet::inference {

class Fusion {
 public:
  explicit Fusion(const Trace& trace) : trace_(trace) {}
  LoweredGraph run();

  // For the rows of the op table: each adds an op to the graph and returns the
  // value of its output.
  int input(const TraceNode& node);
  int constant(const TraceNode& node);
  int expression(const TraceNode& node);
  int linear(const TraceNode& node);
  int activation(const TraceNode& node);
  int concatenation(const TraceNode& node);
  int product(const TraceNode& node);
  int max_pool(const TraceNode& node);
  int resize(const TraceNode& node);
  int slice(const TraceNode& node);
  int zero_padding(const TraceNode& node);
  int reshape(const TraceNode& node);
  /// An op without fusion: runs its `forward`, or calls its layer.
  int unfused(const TraceNode& node);

 private:
  // A value and its zero padding. Consumers of windows need no padded copy.
  struct Padded {
    int value;
    Pads pads;
  };

  int value_of(uint64_t id) const { return values_.at(id); }
  int value_of(const autograd::Expression& e);
  int quantized(int value, const QuantParams& qparams);
  autograd::Expression expression_of(uint64_t id) const;
  Padded padded_input(uint64_t id);
  int add_value(LoweredValue value);
  int add_call(const TraceNode& node, Call call, bool sums = false);
  int add_pointwise(const autograd::Expression& e, int first, int second);
  int compute(Pointwise p, const Shape& shape);
  void fuse(Pointwise& p);

  const Trace& trace_;
  LoweredGraph graph_;
  std::unordered_map<uint64_t, int> values_;     // by id in the trace
  std::unordered_map<uint64_t, int> constants_;  // not repeated per sample
  std::unordered_map<int, Padded> padded_;  // by value of the padded output
};

/// How an op is fused.
struct OpRow {
  std::string_view op;
  int (Fusion::*fuse)(const TraceNode& node);
};

/// Returns the row of an op; Fusion::unfused for ops without one.
OpRow op_row(std::string_view op);

}  // namespace octet::inference
