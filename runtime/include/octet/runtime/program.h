// Program: what a network computes in inference, as a flat list of fused
// steps. It is captured by running the network's own ops once.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <octet/runtime/tensor.h>
#include <octet/runtime/variable.h>

namespace octet {

/// One step of a program, for people.
struct ProgramStep {
  std::string name;    ///< of the call it belongs to; of an evaluation none
  std::string op;      ///< "conv2d", "evaluate", "call"
  std::string reads;   ///< "int8 32x32x16", "f32 10"
  std::string fused;   ///< what follows the sums: "scale, add, clip"
  std::string stores;  ///< "int8 32x32x16"; several are joined by " + "
  std::string note;    ///< why it is a step of its own, where it might not be,
                       ///< or what of the op's output it leaves out
  int64_t multiply_adds = 0;  ///< of one sample, of what it computes
  int64_t weight_bytes = 0;   ///< as they are packed
  double seconds = 0;         ///< where it was profiled: of all samples
};

/// Immutable, and safe to run from several threads.
class Program {
 public:
  /// What a program calls for a part it cannot see into.
  using Function = std::function<Variable(std::span<const Variable>)>;

  /// Runs n samples; inputs [n, ...] and outputs [n, ...] as they were
  /// captured. False if a value that is computed and has to be rounded to a
  /// grid was NaN: then the outputs are of no use. Throws: ValueError if the
  /// instruction set is another one than at the capture.
  bool run(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;

  /// Takes the memory of activations for runs of up to `most` samples on as
  /// many threads as now, and keeps it: such a run, one at a time, takes no
  /// more than its outputs, and what called functions read and do. Throws:
  /// ValueError for most < 1.
  void reserve(int64_t most) const;

  /// The steps in order.
  std::vector<ProgramStep> steps() const;
  /// The same, each with its time in a run of all samples at once.
  std::vector<ProgramStep> profile(std::span<const Tensor> inputs,
                                   std::span<Tensor> outputs) const;

  /// Bytes of activations that one sample needs at a time, and of weights.
  int64_t activation_bytes() const;
  int64_t weight_bytes() const;

  struct Plan;
  explicit Program(std::shared_ptr<const Plan> plan);

 private:
  std::shared_ptr<const Plan> plan_;
};

/// Captures a program. Used by one thread, under NoGradGuard:
///   ProgramCapture capture;
///   const Variable x = capture.input({1, 32, 32, 3});
///   const Variable y = capture.call("conv", {&x, 1}, run, lasting);
///   const Program program = capture.finish({&y, 1});
class ProgramCapture {
 public:
  ProgramCapture();
  ~ProgramCapture();
  ProgramCapture(const ProgramCapture&) = delete;
  ProgramCapture& operator=(const ProgramCapture&) = delete;

  /// Shapes: [N, ...]; the result [1, ...] has undefined values.
  Variable input(const Shape& shape);
  /// Runs `function` on what was captured. Convolutions, dense layers and
  /// pointwise expressions in it become steps; where there is anything else,
  /// all of it becomes one step that calls what `lasting` returns.
  Variable call(const std::string& name, std::span<const Variable> inputs,
                const Program::Function& function,
                const std::function<Program::Function()>& lasting);
  /// Says that what input() or call() gave is read no more, so that its memory
  /// can go.
  void release(const Variable& x);
  Program finish(std::span<const Variable> outputs);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace octet
