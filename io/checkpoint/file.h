// Octet's HDF5 files as bytes. Internal to io.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/io/checkpoint.h>
#include <octet/io/file_limits.h>
#include <octet/train/training_state.h>

namespace octet::io {

/// Bytes that a file may have.
inline constexpr int64_t kLargestFile = int64_t{1} << 38;

/// What readers of such files expect, for messages.
inline constexpr std::string_view kOctetFile = "a model or checkpoint of Octet";

/// A whole file with the model, or all of a state.
/// Throws: ValueError for what cannot be written.
std::string file_of(const quant::ModelState& model,
                    const SaveOptions& options = {});
std::string file_of(const train::TrainingState& state);

/// What is in the contents of a file, which are given away: they may be as
/// large as all that is read. `name` is for messages. Throws: FormatError,
/// UnsupportedError.
quant::ModelState model_in(std::string contents, const std::string& name,
                           const FileLimits& limits);
SaveOptions options_in(std::string contents, const std::string& name,
                       const FileLimits& limits);
train::TrainingState state_in(std::string contents, const std::string& name,
                              const FileLimits& limits);

}  // namespace octet::io
