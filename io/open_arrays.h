// The readers of open_data() for files of arrays. Internal to io.
#pragma once

#include <octet/io/open_data.h>

namespace octet::io {

bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

/// The bytes of numbers in [0,1] again, then as options.preprocess has it.
Dataset preprocessed(const Dataset& unit, const OpenOptions& options);

/// x.npy and its labels; none if `y` is empty.
Dataset read_pair(const std::filesystem::path& x,
                  const std::filesystem::path& y, const OpenOptions& options);
/// x_train.npy, y_train.npy, x_test.npy, y_test.npy.
OpenedData open_npy_folder(const std::filesystem::path& folder,
                           const OpenOptions& options);

bool holds_idx(const std::filesystem::path& folder);
OpenedData open_idx(const std::filesystem::path& folder,
                    const OpenOptions& options);

}  // namespace octet::io
