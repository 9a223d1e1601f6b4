// The keyword model of MLPerf Tiny, as its authors trained it, and 1,000 inputs
// of its test set.
#pragma once

#include <filesystem>
#include <optional>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::program {

struct Keywords {
  Model model;
  Dataset data;  ///< f32 [49,10,1], classes 0 to 11
};

/// From models/ and kws01/ of a folder; nothing if there is no kws01.
/// Throws: IoError; FormatError for files of other sizes.
std::optional<Keywords> keywords(const std::filesystem::path& folder);

}  // namespace octet::program
