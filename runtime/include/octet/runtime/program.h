// Program: the inference computation of a network as a flat list of fused
// steps, captured by running the network's ops once.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <octet/runtime/tensor.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Description of a program step.
struct ProgramStep {
  std::string name;    ///< of the captured call; empty for evaluations
  std::string op;      ///< "conv2d", "evaluate"; "call": a layer
  std::string reads;   ///< inputs: "int8 32x32x16", "f32 10"
  std::string fused;   ///< epilogue: "scale, add, clip"
  std::string stores;  ///< outputs: "int8 32x32x16", joined by " + "
  std::string note;    ///< why the step is not fused, or which outputs it skips
  int64_t multiply_adds = 0;  ///< per sample, of computed outputs
  int64_t weight_bytes = 0;   ///< of packed weights
  double seconds = 0;         ///< if profiled: time for all samples
};

/// A captured computation, compiled into steps. Immutable: several threads may
/// run it.
class Program {
 public:
  /// Function called for a part that cannot be captured.
  using Function = std::function<Variable(std::span<const Variable>)>;

  /// Runs n samples; inputs and outputs [n, ...] match the capture. Returns
  /// false if a computed value to be quantized was NaN: outputs are then
  /// invalid. Throws: ValueError if the instruction set has changed since the
  /// capture.
  bool run(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;

  /// Allocates and retains activation memory for runs of up to `most` samples
  /// on the current number of threads. Such a run, one at a time, then
  /// allocates only the memory of called functions (steps with `op` "call").
  /// Throws: ValueError for most < 1.
  void reserve(int64_t most) const;

  /// Descriptions of the steps, in order.
  std::vector<ProgramStep> steps() const;
  /// steps() with times, from a run of all samples at once.
  /// Throws: as run(); ValueError if a computed value to be quantized was NaN.
  std::vector<ProgramStep> profile(std::span<const Tensor> inputs,
                                   std::span<Tensor> outputs) const;

  /// Returns a line per step. With the environment variable
  /// OCTET_TRACE=program, compilation prints the program after each pass.
  std::string to_string() const;

  /// Peak bytes of activations per sample, and bytes of packed weights.
  int64_t activation_bytes() const;
  int64_t weight_bytes() const;

  /// The compiled steps, defined by the runtime. ProgramCapture creates it.
  struct Plan;
  explicit Program(std::shared_ptr<const Plan> plan);

 private:
  std::shared_ptr<const Plan> plan_;
};

/// Prints a line per step.
std::ostream& operator<<(std::ostream& out, const Program& program);

}  // namespace octet
