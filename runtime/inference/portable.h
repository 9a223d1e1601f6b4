// Conversion of a plan to plain data for code generators.
#pragma once

#include <octet/runtime/detail/portable_program.h>

#include "plan.h"

namespace octet::inference {

/// Returns the steps of a plan that was compiled while a ProgramRecorder
/// existed: linear steps then have their weights.
detail::PortableProgram portable(const Program::Plan& plan);

}  // namespace octet::inference
