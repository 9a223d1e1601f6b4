// Captures a program: runs functions once and records their computation in a
// CapturedGraph. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <octet/runtime/program.h>

#include "graph.h"
#include "recorder.h"

namespace octet::inference {

class Capture : public Recorder {
 public:
  Variable input(const Shape& shape);
  Variable call(const std::string& name, std::span<const Variable> inputs,
                const Program::Function& function,
                const std::function<Program::Function()>& lasting);
  /// Declares that later calls do not consume x.
  void release(const Variable& x);
  CapturedGraph finish(std::span<const Variable> outputs);

  bool linear(const LinearCall& call) override;
  bool evaluated(const autograd::Expression& expression,
                 const Tensor& value) override;
  bool activated(const Variable& x, const kernels::Activation& f,
                 const Tensor& value) override;
  bool multiplied(const Variable& x, const Variable& by,
                  const Tensor& value) override;
  bool called(const Variable& x, const Program::Function& function,
              const Tensor& value) override;
  bool pooled(const Variable& x, const kernels::MaxPool& sizes,
              const Program::Function& function, const Tensor& value) override;
  void padded(const Variable& x, const Pads& pads,
              const Tensor& value) override;

 private:
  // A value and its zero padding. Consumers of windows need no padded copy.
  struct Padded {
    int value;
    Pads pads;
  };
  struct Zeros {
    autograd::Expression around;
    Pads pads;
  };
  std::optional<Zeros> zeros_of(const Variable& y) const;
  // A Variable that later calls may consume, and its buffers.
  struct Held {
    Variable variable;
    std::vector<const Buffer*> buffers;
  };
  void hold(const Variable& x);
  void drop(const Buffer* buffer);
  void forget_since(const CapturedGraph::Sizes& before);
  Variable run(const std::string& name, std::span<const Variable> inputs,
               const Program::Function& function,
               const std::function<Program::Function()>& lasting);
  void give_memory();
  void name(const Tensor& tensor);
  std::pair<int, Pads> windows_of(const autograd::Expression& e);
  int value_of(const Tensor& tensor);
  int value_of(const autograd::Expression& e);
  int value_of(const Variable& v);
  int resolve(const void* tensor, const autograd::Expression& e);
  int add_value(CapturedValue value, const Tensor& tensor);
  void compute(Pointwise p, const Tensor& value);
  int add_pointwise(const autograd::Expression& e, int first, int second);
  void fuse(Pointwise& p);

  CapturedGraph graph_;
  std::string name_;  // of the current call
  bool opaque_ = false;
  std::vector<Tensor> alive_;  // since addresses identify tensors
  size_t looked_at_ = 0;       // number of these that give_memory() has seen
  std::unordered_set<const Buffer*> full_;            // still allocated
  std::unordered_map<const Buffer*, int> consumers_;  // Variables per buffer
  std::vector<const Buffer*> unread_;        // possibly without Variables
  std::unordered_map<uint64_t, Held> held_;  // by Variable
  std::vector<const void*> named_;           // by the current call
  std::map<const void*, int> tensors_;
  std::map<const void*, autograd::Expression> evaluated_;
  std::map<const void*, int> resolved_;        // their values
  std::vector<const void*> resolved_by_call_;  // added by the current call
  std::map<const void*, Zeros> padded_;        // outputs of ops
  std::map<int, Padded> padded_values_;        // outputs of calls
};

}  // namespace octet::inference
