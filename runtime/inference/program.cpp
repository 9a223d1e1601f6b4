#include <octet/runtime/detail/program_capture.h>
#include <octet/runtime/error.h>
#include <octet/runtime/program.h>

#include "describe.h"
#include "passes.h"
#include "plan_executor.h"

namespace octet {

Program::Program(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

bool Program::run(std::span<const Tensor> inputs,
                  std::span<Tensor> outputs) const {
  return inference::run_plan(*plan_, inputs, outputs);
}

void Program::reserve(int64_t most) const { inference::reserve(*plan_, most); }

std::vector<ProgramStep> Program::steps() const {
  std::vector<ProgramStep> result;
  for (const inference::Step& step : plan_->steps) {
    result.push_back(inference::describe(*plan_, step));
  }
  return result;
}

std::vector<ProgramStep> Program::profile(std::span<const Tensor> inputs,
                                          std::span<Tensor> outputs) const {
  std::vector<ProgramStep> result = steps();
  std::vector<double> seconds(result.size());
  if (!inference::time_plan(*plan_, inputs, outputs, seconds)) {
    throw ValueError("not_finite", "profile",
                     "a value to be quantized is NaN. Hint: look for NaN or "
                     "infinity in the inputs");
  }
  for (size_t i = 0; i < result.size(); ++i) result[i].seconds = seconds[i];
  return result;
}

int64_t Program::activation_bytes() const { return plan_->block; }
int64_t Program::weight_bytes() const { return plan_->weights; }

std::string Program::to_string() const { return inference::to_string(*plan_); }

class ProgramCapture::Impl : public inference::Trace {};

ProgramCapture::ProgramCapture() : impl_(std::make_unique<Impl>()) {}
ProgramCapture::~ProgramCapture() = default;

Variable ProgramCapture::input(const Shape& shape) {
  return impl_->input(shape);
}

Variable ProgramCapture::call(
    const std::string& name, std::span<const Variable> inputs,
    const Program::Function& function,
    const std::function<Program::Function()>& lasting) {
  return impl_->call(name, inputs, function, lasting);
}

Program ProgramCapture::finish(std::span<const Variable> outputs) {
  for (const Variable& y : outputs) {
    if (!impl_->contains(y.id())) {
      throw InternalError("internal", "trace", "an output was not traced");
    }
    impl_->outputs.push_back(y.id());
  }
  return Program(std::make_shared<const Program::Plan>(
      inference::compile(std::move(*impl_))));
}

}  // namespace octet
