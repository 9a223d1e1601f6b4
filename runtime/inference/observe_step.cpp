#include "observe_step.h"

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "base/trace_events.h"

namespace octet::inference {
namespace {

std::vector<int> outputs_of(const Step& step) {
  return std::visit(
      [](const auto& what) -> std::vector<int> {
        if constexpr (requires { what.outputs; }) {
          return what.outputs;
        } else {
          return {what.output};
        }
      },
      step.what);
}

void trace_step(const Run& run, const Step& step, int output,
                std::chrono::steady_clock::time_point begin) {
  const Shape shape = run.storage(output).shape.with(0, run.samples());
  diagnosis::write_event(
      {.category = "step",
       .name = step.op,
       .layer = step.name,
       .shape = shape.to_string(),
       .begin = std::chrono::nanoseconds(begin.time_since_epoch()).count(),
       .end = diagnosis::now()});
}

}  // namespace

void observe_step(Run& run, const Step& step,
                  std::chrono::steady_clock::time_point begin) {
  const std::vector<int> outputs = outputs_of(step);
  if (traces(TraceKind::ops)) trace_step(run, step, outputs[0], begin);
  if (!checks_nan()) return;
  if (run.nan()) {
    throw ValueError("not_finite", diagnosis::op_of_layer(step.op, step.name),
                     "produced NaN, which has no quantized value");
  }
  for (const int output : outputs) {
    const Tensor values = run.values_of(output);
    if (values.empty()) continue;
    check_finite(values, diagnosis::op_of_layer(step.op, step.name));
  }
}

}  // namespace octet::inference
