// Planner: selects buffers and formats first, then emits the steps that fill
// them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan.h"

namespace octet::inference {

/// Returns the padding `a` around the padding `b`.
inline Pads sum(const Pads& a, const Pads& b) {
  return {a.top + b.top, a.bottom + b.bottom, a.left + b.left,
          a.right + b.right};
}

class Planner {
 public:
  explicit Planner(LoweredGraph graph) : graph_(std::move(graph)) {}

  Program::Plan run();

 private:
  // Selects the stored values and their formats.
  void collect();
  int require_buffer(int value, kernels::StorageFormat form, const Pads& pads,
                     bool tensor);
  // A request for a storage, possibly as the operand that an expression adds.
  struct BufferRequest {
    int value;
    kernels::StorageFormat form;
    Pads pads;
    bool tensor;
    int added_by = -1;    // expression
    int slice_of = -1;    // storage to be written in part,
    int64_t channel = 0;  // from this channel on
  };
  // Returns the storage; appends requests for its inputs to `open`.
  int store(BufferRequest request, std::vector<BufferRequest>& open);
  // Returns an existing storage that serves the request, or -1.
  int reuse(const BufferRequest& request);
  // Whether the request is served by part of another storage.
  bool reads_slice(const BufferRequest& request) const;
  // Returns a storage that is part of the storage of the sliced value.
  int store_slice(const BufferRequest& request);
  bool is_slice(const Call& call) const {
    return at(graph_.values, call.output).slice.of >= 0;
  }
  // Plans the slices that are read as tensors.
  void collect_slices();
  // Appends a request for the quantized input of an expression that a table
  // replaces. Returns whether it does.
  bool request_table(const Pointwise& p, int storage,
                     std::vector<BufferRequest>& open);
  // Appends requests for the values that are computed into the storage.
  void request_inputs(int value, int storage, std::vector<BufferRequest>& open);
  // Returns the storage, or -1.
  int find_buffer(int value, kernels::StorageFormat form, bool tensor) const;
  // Evaluates expressions in separate steps if they compete for the same sums
  // or have too many outputs. Returns whether there were any.
  bool unfuse();
  // Makes epilogues add tensors that other ops consume, instead of copies.
  // Returns whether there are more of them.
  bool share_tensors();
  int identity_of(int value);
  // Adds a tensor for the duration of a step.
  int add_scratch(const Shape& shape);
  // Returns the value that a called layer consumes: it applies affine
  // expressions itself.
  int term_of(int value) const {
    const LoweredValue& v = at(graph_.values, value);
    if (v.pointwise < 0 || !v.qparams.empty()) return value;
    const Pointwise& p = at(graph_.pointwise, v.pointwise);
    return p.e.affine() && p.expression_only() ? p.first : value;
  }
  kernels::StorageFormat floats_of(int value) const {
    return at(graph_.values, value).qparams.empty()
               ? kernels::StorageFormat::values
               : kernels::StorageFormat::real;
  }
  kernels::StorageFormat form_of(const LinearCall& call, int x) const;
  // Returns the format of the first linear consumer, or the default.
  kernels::StorageFormat code_form_of(int value) const;
  void find_code_forms();

  // Drops pixels without consumers from the outputs of fused steps: only
  // strided convolutions with 1x1 windows follow.
  void skip_pixels();
  // Returns the expressions in the epilogue of a call.
  std::vector<int> followers(const Call& call) const;
  // Pads the pixel stride of fused outputs.
  void pad_pixel_strides();
  void emit();
  void emit_call(int call);
  FusedStep emit_fused(const Call& call, int pointwise);
  void emit_evaluations(const std::vector<int>& expressions);
  std::string why_not_fused(const Pointwise& p) const;

  LoweredGraph graph_;
  Program::Plan plan_;
  std::map<std::tuple<int, kernels::StorageFormat, bool>, int>
      found_;                                                   // by find()
  std::unordered_map<int, kernels::StorageFormat> code_forms_;  // by value
  std::set<int> unfused_;                                       // expressions
  std::set<int> shared_;                       // values that are tensors
  std::map<int, std::vector<int>> followers_;  // expressions by sums
  std::vector<std::vector<int>> outputs_;      // storages of each expression
  std::vector<int> others_;  // added operand of each fused expression
  // Tables of expressions, by output storage.
  std::unordered_map<int, TableStep> tables_;
  std::unordered_map<int, int> table_inputs_;  // values
  // Outputs of max pooling of quantized values, by value.
  std::unordered_map<int, std::vector<int>> pooled_;
  std::vector<std::vector<int>> reads_;  // inputs of each call
  std::vector<bool> read_;               // whether each call has a consumer
};

}  // namespace octet::inference
