// Files: the checked read and the atomic write that everyone uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace octet {

/// The whole file. Throws: IoError (missing, unreadable, or larger than
/// `limit` bytes) with path and reason.
std::string read_file(const std::filesystem::path& path,
                      int64_t limit = int64_t{1} << 31);

/// Writes beside `path`, flushes to the disk and renames over it, so that a
/// reader sees the old file or the new one, never a part. On failure (disk
/// full, no permission) the old file stays and the temporary is removed.
/// Throws: IoError.
void write_file(const std::filesystem::path& path, std::string_view contents);

/// Creates `folder` with its parents and proves that files can be written
/// there. Throws: IoError.
void ensure_writable_folder(const std::filesystem::path& folder);

}  // namespace octet
