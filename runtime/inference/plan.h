// The plan of a program: what is stored in which form, and the steps that store
// it.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "graph.h"
#include "storage.h"
#include "workspaces.h"

namespace octet::inference {

/// A linear op and the expression that follows its sums.
struct FusedStep {
  LinearCall linear;
  Windows windows;
  Pads pads{};        // around the image that they are of
  bool flat = false;  // all images are one row of pixels
  int64_t rows = 0, cols = 0, channels = 0;  // that are computed
  Size2 other_every{1, 1};  // pixels of what is added, to each of them
  Tensor rescale, a, b;
  kernels::Fused fused;  // but for pointers into storages
  int x = -1;
  int other = -1;
  std::vector<int> outputs;
};

/// An expression that could not follow a linear op, and why.
struct EvaluateStep {
  std::string why;
  autograd::Expression e;
  std::optional<kernels::Activation> function;  // of e before Q
  int multiplier = -1;                          // a storage: e.a of each sample
  int first = -1, second = -1;
  int output = -1;
};

/// The largest codes of windows.
struct PoolStep {
  kernels::MaxPool sizes;
  Pads pads{};  // around the image that they are of
  int x = -1;
  int output = -1;
};

struct CallStep {
  Program::Function function;
  std::vector<int> inputs;
  std::vector<autograd::Expression> forms;  // of the inputs, without tensors
  bool affine = false;  // the output is what the result is an expression of
  int output = -1;
};

struct Step {
  std::string name;
  std::variant<FusedStep, EvaluateStep, PoolStep, CallStep> what;
  std::vector<int> gone;  // tensors that no later step reads
};

/// Finds when each storage lives, and a place for it.
void place_storages(Program::Plan& plan);

/// Storages of the graph's inputs and outputs included.
Program::Plan make_plan(Graph graph);

}  // namespace octet::inference

namespace octet {

struct Program::Plan {
  std::vector<inference::Storage> storages;
  std::vector<inference::Step> steps;
  std::vector<int> inputs, outputs;
  std::vector<bool> direct;  // outputs that steps may write where they go
  int64_t block = 0;         // bytes a sample
  int64_t weights = 0;       // bytes
  const kernels::Table* table = nullptr;
  std::unique_ptr<inference::Workspaces> workspaces =
      std::make_unique<inference::Workspaces>();
};

}  // namespace octet
