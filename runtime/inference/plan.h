// The plan of a program: buffers with their formats, and the steps that fill
// them.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "graph.h"
#include "lasting_values.h"
#include "requantization.h"
#include "storage.h"
#include "workspaces.h"

namespace octet::inference {

/// A linear op with its epilogue.
struct FusedStep {
  LinearCall linear;
  WindowStrides windows;
  Pads pads{};             // padding of the input
  bool flat = false;       // all images form one row of pixels
  bool pairs = false;      // windows of pairs of outputs
  int64_t upsampling = 1;  // output rows per row of windows
  int64_t rows = 0, cols = 0, channels = 0;  // computed outputs
  Size2 other_every{1, 1};  // pixel stride of `other` per output
  Tensor a, b;
  Requantization requantization;
  kernels::FusedEpilogue fused;  // without pointers into storages
  int x = -1;
  int other = -1;
  std::vector<int> outputs;
};

/// An expression outside of epilogues, with the reason.
struct EvaluateStep {
  std::string why;
  autograd::Expression e;
  std::optional<kernels::Activation> function;  // applied to e before Q
  int multiplier = -1;                          // storage of e.a per sample
  int scratch = -1;  // storage of e before the function
  int first = -1, second = -1;
  int output = -1;
};

/// Max pooling or enlargement of quantized values.
struct PoolStep {
  std::variant<kernels::MaxPool, NearestPixels> kind;
  Pads pads{};  // padding of the input
  int x = -1;
  int output = -1;
};

/// An expression of a quantized value, by a table of its results.
struct TableStep {
  std::vector<char> table;  // elements of the output, by byte of x
  int x = -1;
  int output = -1;
};

/// An op that computes all samples by itself.
struct OpStep {
  Forward forward;
  Attributes attributes = {};
  std::vector<int> inputs;
  int scratch = -1;  // storage of its temporary tensors
  int output = -1;
};

/// A layer with ops that are not traced.
struct CallStep {
  LayerCall layer;
  std::vector<int> inputs;
  std::vector<autograd::Expression> forms;  // of the inputs, without tensors
  int output = -1;
};

struct Step {
  std::string name;  // of the layer
  std::string op;
  std::variant<FusedStep, EvaluateStep, PoolStep, TableStep, OpStep, CallStep>
      what;
  std::vector<int> gone;  // tensors without later consumers
  bool lasting = false;   // depends on no input: runs once
};

}  // namespace octet::inference

namespace octet {

struct Program::Plan {
  std::vector<inference::Storage> storages;
  std::vector<inference::Step> steps;
  std::vector<int> inputs, outputs;
  std::vector<bool> direct;    // outputs that steps write in place
  std::vector<int> constants;  // storages
  int64_t block = 0;           // bytes per sample
  int64_t lasting_block = 0;   // bytes per sample of lasting values
  int64_t weights = 0;         // bytes
  const kernels::Table* table = nullptr;
  std::unique_ptr<inference::Workspaces> workspaces =
      std::make_unique<inference::Workspaces>();
  std::unique_ptr<inference::LastingValues> lasting =
      std::make_unique<inference::LastingValues>();
};

}  // namespace octet
