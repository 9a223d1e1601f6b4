#include <octet/runtime/file.h>

#include "new_file.h"

namespace octet {

namespace fs = std::filesystem;

FileSet::FileSet() = default;
FileSet::~FileSet() = default;

void FileSet::add(const fs::path& path, std::string_view contents) {
  files_.push_back(std::make_unique<NewFile>(path, contents));
}

void FileSet::commit() {
  for (const auto& file : files_) file->put_in_place();
  for (const auto& file : files_) file->sync_name();
  files_.clear();
}

void write_file(const fs::path& path, std::string_view contents) {
  NewFile file(path, contents);
  file.put_in_place();
  file.sync_name();
}

}  // namespace octet
