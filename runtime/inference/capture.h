// The capture of a program: it runs functions once, and notes in a Graph what
// they compute.
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
  /// Nothing that is called from now on reads it.
  void release(const Variable& x);
  Graph finish(std::span<const Variable> outputs);

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
  // A value with zeros around it: what reads windows of it need not store it.
  struct Padded {
    int value;
    Pads pads;
  };
  struct Zeros {
    autograd::Expression around;
    Pads pads;
  };
  std::optional<Zeros> zeros_of(const Variable& y) const;
  // A Variable that later calls may read, and the memory that it is in.
  struct Held {
    Variable variable;
    std::vector<const Buffer*> buffers;
  };
  void hold(const Variable& x);
  void drop(const Buffer* buffer);
  void forget_since(const Graph::Sizes& before);
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
  int add_value(Value value, const Tensor& tensor);
  void compute(Pointwise p, const Tensor& value);
  int add_pointwise(const autograd::Expression& e, int first, int second);
  void fuse(Pointwise& p);

  Graph graph_;
  std::string name_;  // of the call that is running
  bool opaque_ = false;
  std::vector<Tensor> alive_;  // a tensor's address is its name here
  size_t looked_at_ = 0;       // of them, by give_memory()
  std::unordered_set<const Buffer*> full_;          // those with memory still
  std::unordered_map<const Buffer*, int> readers_;  // Variables of a buffer
  std::vector<const Buffer*> unread_;               // that may have no readers
  std::unordered_map<uint64_t, Held> held_;         // by Variable
  std::vector<const void*> named_;  // in the call that is running
  std::map<const void*, int> tensors_;
  std::map<const void*, autograd::Expression> evaluated_;
  std::map<const void*, int> resolved_;        // values of these
  std::vector<const void*> resolved_by_call_;  // the one that is running
  std::map<const void*, Zeros> padded_;        // what an op made
  std::map<int, Padded> padded_values_;        // what a call made
};

}  // namespace octet::inference
