// Traces and checks of program steps (system.h).
#pragma once

#include <chrono>

#include "run.h"

namespace octet::inference {

/// Reports a step that has run since `begin`.
/// Throws: ValueError for an output that is not finite, if checked.
void observe_step(Run& run, const Step& step,
                  std::chrono::steady_clock::time_point begin);

}  // namespace octet::inference
