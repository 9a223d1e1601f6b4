// Images that a table lists more than once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::io {

/// Warns of images in both parts of a table, of images with several labels, and
/// of repeated images that a random split may put into both parts. `train` and
/// `test` are rows of `files` and `labels`; labels may be empty.
void warn_of_repetition(const std::filesystem::path& table,
                        const std::vector<std::filesystem::path>& files,
                        const Tensor& labels, const std::vector<int64_t>& train,
                        const std::vector<int64_t>& test);

}  // namespace octet::io
