// What all readers do with FileLimits. Internal to io.
#pragma once

#include <chrono>

#include <octet/io/file_limits.h>
#include <octet/layers/model.h>

namespace octet::io {

/// Throws: ValueError for a limit that nothing can keep to.
void check_limits(const FileLimits& limits);

/// Throws: FormatError, naming a layer, for a model from a file whose forward
/// pass on one sample needs more memory than the limit.
void check_activations(const Model& model, const FileLimits& limits);

/// When so many seconds are over: far away, but a time, for infinity.
std::chrono::steady_clock::time_point deadline_in(
    std::chrono::duration<double> seconds);

}  // namespace octet::io
