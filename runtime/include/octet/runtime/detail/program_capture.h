// ProgramCapture: builds a Program from calls of functions of Variables.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include <octet/runtime/program.h>
#include <octet/runtime/tensor.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Captures a program. For a single thread, under NoGradGuard:
///   ProgramCapture capture;
///   const Variable x = capture.input({1, 32, 32, 3});
///   const Variable y = capture.call("conv", {&x, 1}, run, lasting);
///   const Program program = capture.finish({&y, 1});
class ProgramCapture {
 public:
  /// An empty program.
  ProgramCapture();
  ~ProgramCapture();
  ProgramCapture(const ProgramCapture&) = delete;
  ProgramCapture& operator=(const ProgramCapture&) = delete;

  /// Declares an input of the program.
  /// Shapes: [N, ...]; the result [1, ...] has undefined contents.
  Variable input(const Shape& shape);
  /// Captures `function`. Its ops become steps, with fused pointwise
  /// expressions. If it contains ops of other kinds, as record() adds,
  /// it becomes a single step as a whole, which calls the function that
  /// `lasting` returns.
  /// Throws: UnsupportedError if the first axis of the output is not the batch,
  /// or if `function` inspects values.
  Variable call(const std::string& name, std::span<const Variable> inputs,
                const Program::Function& function,
                const std::function<Program::Function()>& lasting);
  /// Compiles the captured calls into a program with these outputs, in order.
  /// The capture cannot be used again.
  /// Throws: InternalError if an output is no result of input() or call();
  /// UnsupportedError for a tensor that its consumers need in too many formats.
  Program finish(std::span<const Variable> outputs);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace octet
