// How a plan is made: first what is stored, then the steps that store it.
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

/// `a` and `b` one around the other.
inline Pads sum(const Pads& a, const Pads& b) {
  return {a.top + b.top, a.bottom + b.bottom, a.left + b.left,
          a.right + b.right};
}

class Planner {
 public:
  explicit Planner(Graph graph) : graph_(std::move(graph)) {}

  Program::Plan run();

 private:
  // Which values are stored, in which forms.
  void collect();
  int need(int value, kernels::Stored form, const Pads& pads, bool tensor);
  // A storage that is needed, maybe as what an expression adds.
  struct Need {
    int value;
    kernels::Stored form;
    Pads pads;
    bool tensor;
    int added_by = -1;  // an expression
  };
  // The storage; what it is computed of is appended to `open`.
  int store(Need need, std::vector<Need>& open);
  // Where that is, or -1.
  int find(int value, kernels::Stored form, bool tensor) const;
  // Expressions that compete for the same sums, or want too many outputs, are
  // evaluated by themselves. Whether there were any.
  bool unfuse();
  int plain_of(int value);
  // What a call reads of an expression that it may go on with.
  int term_of(int value) const {
    const Value& v = at(graph_.values, value);
    if (v.pointwise < 0 || !v.grid.empty()) return value;
    const Pointwise& p = at(graph_.pointwise, v.pointwise);
    return p.e.affine() && p.expression_only() ? p.first : value;
  }
  kernels::Stored floats_of(int value) const {
    return at(graph_.values, value).grid.empty() ? kernels::Stored::values
                                                 : kernels::Stored::real;
  }
  kernels::Stored form_of(const LinearCall& call, int x) const;
  // As the first linear op reads them, or, where none does, as any could.
  kernels::Stored code_form_of(int value) const;
  void find_code_forms();

  // Leaves out what fused steps would store and nobody reads: all pixels but
  // some, where only convolutions with a stride and windows of one pixel
  // follow.
  void skip_pixels();
  // What follows the sums of a call as they are complete.
  std::vector<int> followers(const Call& call) const;
  // Lays pixels apart that fused steps store.
  void spread();
  void emit();
  void emit_call(int call);
  FusedStep emit_fused(const Call& call, int pointwise);
  void emit_evaluations(const std::vector<int>& expressions);
  std::string why_not_fused(const Pointwise& p) const;

  Graph graph_;
  Program::Plan plan_;
  std::map<std::tuple<int, kernels::Stored, bool>, int> found_;  // by find()
  std::unordered_map<int, kernels::Stored> code_forms_;          // of values
  std::set<int> unfused_;                                        // expressions
  std::map<int, std::vector<int>> followers_;  // expressions, of sums
  std::vector<std::vector<int>> outputs_;      // storages of each expression
  std::vector<int> others_;                    // and what is added, where fused
  std::vector<std::vector<int>> reads_;        // storages of each call
  std::vector<bool> read_;                     // whether its output is read
};

}  // namespace octet::inference
