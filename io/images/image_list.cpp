// Image files of any folders, without labels.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <octet/io/detail/checks.h>
#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "image_files.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

struct Found {
  std::vector<fs::path> images;
  std::vector<fs::path> others;
  std::set<fs::path> folders = {};  // canonical: links can form loops
};

void collect(const fs::path& folder, Found& found) {
  if (!found.folders.insert(fs::canonical(folder)).second) return;
  for (const fs::directory_entry& entry : folder_entries(folder)) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) {
      collect(entry.path(), found);
    } else if (is_image_file(entry)) {
      found.images.push_back(entry.path());
    } else {
      found.others.push_back(entry.path());
    }
  }
}

}  // namespace

std::string extension_of(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return extension;
}

std::string unread_formats(const std::vector<fs::path>& files) {
  constexpr std::array kFormats = {".avif", ".bmp", ".gif",  ".heic",
                                   ".heif", ".jp2", ".mpo",  ".pgm",
                                   ".ppm",  ".tif", ".tiff", ".webp"};
  std::string found;
  for (const char* format : kFormats) {
    if (std::ranges::none_of(files, [&](const fs::path& file) {
          return extension_of(file) == format;
        })) {
      continue;
    }
    found += fmt::format("{}{}", found.empty() ? "" : ", ", format);
  }
  return found;
}

std::vector<fs::path> list_images(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw IoError("file_not_found", path.string(), "file or folder not found");
  }
  Found found;
  if (!fs::is_directory(path, ignored)) {
    if (is_image_file(fs::directory_entry(path))) return {path};
    found.others.push_back(path);
  } else {
    collect(path, found);
  }
  const std::string unread = unread_formats(found.others);
  if (found.images.empty()) {
    throw FormatError(
        "unsupported_format", path.string(),
        fmt::format("must have .png, .jpg or .jpeg files, got {}",
                    !unread.empty()
                        ? fmt::format("{}. Hint: {}", unread, kConvertImages)
                    : fs::is_directory(path, ignored) ? "none"
                                                      : describe_file(path)));
  }
  if (!unread.empty()) {
    warn("files_ignored", path.string(),
         fmt::format("ignored images of unsupported formats ({}). Hint: {}",
                     unread, kConvertImages));
  }
  std::ranges::sort(found.images, {},
                    [](const fs::path& file) { return file.native(); });
  return std::move(found.images);
}

ImageFiles load_unlabeled_images(std::vector<fs::path> files,
                                 const ImageOptions& options) {
  constexpr const char* kName = "load_unlabeled_images";
  check_image_options(kName, options);
  if (files.empty()) {
    throw ValueError("missing_value", kName, "no files given");
  }
  return read_images(kName, std::move(files), {}, options);
}

}  // namespace octet::io
