#include "lasting_values.h"

#include <octet/runtime/parallel.h>

#include "run.h"

namespace octet::inference {

LastingValues::Values LastingValues::of(const Program::Plan& plan, int64_t n) {
  if (plan.lasting_block == 0) return {};
  const std::lock_guard lock(mutex_);
  if (n <= values_.samples) return values_;
  // A parallel loop under a lock could run tasks that wait for it.
  const SerialGuard alone;
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  Values values{.block = Tensor({plan.lasting_block * n / kFloat}),
                .samples = n};
  Run run(plan, n, values);
  for (const Step& step : plan.steps) {
    if (step.lasting) run.step(step);
  }
  values.nan = run.nan();
  values_ = values;
  return values_;
}

}  // namespace octet::inference
