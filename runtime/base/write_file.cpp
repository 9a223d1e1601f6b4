#include <octet/runtime/file.h>

#include "new_file.h"

namespace octet {

namespace fs = std::filesystem;

FileSet::FileSet() = default;
FileSet::~FileSet() = default;

void FileSet::add(const fs::path& path, std::string_view contents) {
  files_.push_back(std::make_unique<NewFile>(
      path, [&](const PutBytes& put) { put(contents); }));
}

// Each step is durable before the next begins: after a power failure the disk
// has the state after some step.
void FileSet::commit(const fs::path& manifest, std::string_view contents) {
  NewFile last(manifest, [&](const PutBytes& put) { put(contents); });
  last.remove_old();
  last.sync_name();
  for (const auto& file : files_) file->put_in_place();
  for (const auto& file : files_) file->sync_name();
  last.put_in_place();
  last.sync_name();
  files_.clear();
}

void write_file(const fs::path& path, std::string_view contents) {
  write_file(path, [&](const PutBytes& put) { put(contents); });
}

void write_file(const fs::path& path,
                const std::function<void(const PutBytes& put)>& write) {
  NewFile file(path, write);
  file.put_in_place();
  file.sync_name();
}

}  // namespace octet
