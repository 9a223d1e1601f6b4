// A step of a plan, for people.
#pragma once

#include "plan.h"

namespace octet::inference {

ProgramStep describe(const Program::Plan& plan, const Step& step);

}  // namespace octet::inference
