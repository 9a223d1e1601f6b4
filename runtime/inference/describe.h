// Human-readable description of a plan's step.
#pragma once

#include "plan.h"

namespace octet::inference {

ProgramStep describe(const Program::Plan& plan, const Step& step);

}  // namespace octet::inference
