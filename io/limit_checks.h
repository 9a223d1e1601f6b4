// Checks of FileLimits, shared by all readers. Internal to io.
#pragma once

#include <chrono>

#include <octet/layers/model.h>
#include <octet/runtime/file.h>

namespace octet::io {

/// Throws: ValueError for a limit that is not positive.
void check_limits(const FileLimits& limits);

/// Throws: FormatError, naming the largest layer, if the forward pass of one
/// sample needs more memory than the limit.
void check_activations(const Model& model, const FileLimits& limits);

/// Returns the time `seconds` from now; a finite, distant time for infinity.
std::chrono::steady_clock::time_point deadline_in(
    std::chrono::duration<double> seconds);

}  // namespace octet::io
