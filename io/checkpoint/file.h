// Serialization of Octet's HDF5 files. Internal to io.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/io/model_file.h>
#include <octet/runtime/file.h>
#include <octet/train/fit.h>

namespace octet::io {

/// Maximum file size in bytes.
inline constexpr int64_t kLargestFile = int64_t{1} << 38;

/// Description of the expected file, for messages.
inline constexpr std::string_view kOctetFile = "an Octet model or checkpoint";

/// Returns the options as entries that files store.
Config to_config(const SaveModelOptions& options);

/// Returns the bytes of a file with the model or the state.
/// Throws: ValueError for values that cannot be stored.
std::string file_of(const quant::ModelState& model,
                    const SaveModelOptions& options = {});
std::string file_of(const train::TrainingState& state);

/// Parses the contents of a file, which are moved, as they may be as large as
/// the result. `name` is for messages.
/// Throws: FormatError, UnsupportedError.
quant::ModelState model_in(std::string contents, const std::string& name,
                           const FileLimits& limits);
SaveModelOptions options_in(std::string contents, const std::string& name,
                            const FileLimits& limits);
train::TrainingState state_in(std::string contents, const std::string& name,
                              const FileLimits& limits);

}  // namespace octet::io
