// Readers of array files for open_data(). Internal to io.
#pragma once

#include <octet/io/data.h>

namespace octet::io {

bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

/// Converts samples in [0,1] back to bytes, then applies options.preprocess.
Dataset preprocessed(const Dataset& unit, const OpenDataOptions& options);

/// Reads x.npy and its labels; no labels if `y` is empty.
Dataset read_pair(const std::filesystem::path& x,
                  const std::filesystem::path& y,
                  const OpenDataOptions& options);
/// Reads x_train.npy, y_train.npy, x_test.npy and y_test.npy.
OpenedData open_npy_folder(const std::filesystem::path& folder,
                           const OpenDataOptions& options);

bool holds_idx(const std::filesystem::path& folder);
OpenedData open_idx(const std::filesystem::path& folder,
                    const OpenDataOptions& options);

}  // namespace octet::io
