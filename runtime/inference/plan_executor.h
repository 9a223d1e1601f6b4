// Execution of a plan.
#pragma once

#include <span>
#include <vector>

#include "plan.h"

namespace octet::inference {

/// Runs chunks of samples in parallel, or one sample on all threads. See
/// Program::run.
bool run_plan(const Program::Plan& plan, std::span<const Tensor> inputs,
              std::span<Tensor> outputs);

/// See Program::reserve.
void reserve(const Program::Plan& plan, int64_t most);

/// Runs all samples at once and adds the time of each step to `seconds`. See
/// Program::profile.
bool time_plan(const Program::Plan& plan, std::span<const Tensor> inputs,
               std::span<Tensor> outputs, std::vector<double>& seconds);

}  // namespace octet::inference
