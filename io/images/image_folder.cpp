#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <octet/io/detail/checks.h>
#include <octet/io/image.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

#include "image_files.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

/// Entries of a folder by their use in load_image_folder().
struct Contents {
  std::vector<fs::path> folders;
  std::vector<fs::path> images;
  std::vector<fs::path> others;
};

Contents contents_of(const fs::path& folder) {
  Contents contents;
  for (const fs::directory_entry& entry : folder_entries(folder)) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) {
      contents.folders.push_back(entry.path());
    } else if (is_image_file(entry)) {
      contents.images.push_back(entry.path());
    } else {
      contents.others.push_back(entry.path());
    }
  }
  return contents;
}

/// "'cat', 'dog', ... (10 in total)".
std::string names_text(const std::vector<fs::path>& paths) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, paths.size()); ++i) {
    text +=
        fmt::format("{}'{}'", i == 0 ? "" : ", ", paths[i].filename().string());
  }
  if (paths.size() > kShown) {
    text += fmt::format(", ... ({} in total)", paths.size());
  }
  return text;
}

/// Whether subfolders contain images.
bool holds_classes(const fs::path& folder) {
  const Contents contents = contents_of(folder);
  return std::ranges::any_of(contents.folders, [](const fs::path& inner) {
    return !contents_of(inner).images.empty();
  });
}

[[noreturn]] void refuse_class(const fs::path& folder,
                               const Contents& contents) {
  if (!contents.folders.empty()) {
    throw FormatError(
        "malformed_file", folder.string(),
        fmt::format(
            "class folder has no .png, .jpg or .jpeg files, only subfolders "
            "({}){}",
            names_text(contents.folders),
            holds_classes(folder)
                ? fmt::format(". Hint: these are the classes; load '{}'",
                              folder.string())
                : ""));
  }
  throw FormatError(
      "malformed_file", folder.string(),
      fmt::format(
          "class folder has no .png, .jpg or .jpeg files{}",
          contents.others.empty()
              ? ". Hint: remove the folder if it is not a class"
              : fmt::format(", only others ({}). Hint: {}",
                            names_text(contents.others), kConvertImages)));
}

[[noreturn]] void refuse_without_classes(const fs::path& folder,
                                         const Contents& contents) {
  if (contents.images.empty()) {
    const std::string unread = unread_formats(contents.others);
    throw FormatError(
        "malformed_file", folder.string(),
        fmt::format("must have a subfolder of images per class, got none{}",
                    unread.empty() ? ""
                                   : fmt::format(", but {} files. Hint: {}",
                                                 unread, kConvertImages)));
  }
  const fs::path whole = fs::absolute(folder / ".").lexically_normal();
  throw FormatError(
      "malformed_file", folder.string(),
      fmt::format(
          "must have a subfolder of images per class, got images in the folder "
          "itself ({}). Hint: if this folder is a class, load '{}'; otherwise "
          "move each image to a subfolder named like its class",
          names_text(contents.images),
          whole.parent_path().parent_path().string()));
}

struct Listing {
  std::vector<std::string> classes;
  std::vector<fs::path> files;
  std::vector<int64_t> labels;  // of the files
  std::vector<fs::path> others = {};
};

/// Returns the class index of each folder. Warns about classes without a
/// folder.
/// Throws: ValueError for folders that are not in `names`, and for duplicate
/// names.
std::vector<int64_t> labels_by_name(const fs::path& folder,
                                    const std::vector<fs::path>& folders,
                                    const std::vector<std::string>& names) {
  std::set<std::string> without(names.begin(), names.end());
  if (without.size() != names.size()) {
    throw ValueError("duplicate_name", "class_names", "names must be unique");
  }
  std::vector<int64_t> labels;
  for (const fs::path& inner : folders) {
    const std::string name = inner.filename().string();
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      throw ValueError(
          "unknown_name", fmt::format("class '{}'", printable(name, 80)),
          fmt::format(
              "folder in '{}', but not a class of the model{}. Hint: class "
              "names list the folders in the order of the model's outputs",
              folder.string(), suggest_names(name, names)));
    }
    labels.push_back(found - names.begin());
    without.erase(name);
  }
  if (!without.empty()) {
    warn("missing_classes", folder.string(),
         fmt::format("{} of {} classes have no folder, such as '{}'",
                     without.size(), names.size(),
                     printable(*without.begin(), 80)));
  }
  return labels;
}

/// Warns about images and folders that are ignored because of their place.
void warn_of_stray(const fs::path& folder, std::string_view what,
                   const std::vector<fs::path>& paths, std::string_view hint) {
  if (paths.empty()) return;
  warn("files_ignored", folder.string(),
       fmt::format("ignored {} ({}). Hint: {}", what, names_text(paths), hint));
}

Listing list_files(const fs::path& folder,
                   const std::vector<std::string>& names) {
  Listing listing;
  const Contents root = contents_of(folder);
  if (root.folders.empty()) refuse_without_classes(folder, root);
  warn_of_stray(folder, "images beside the class folders", root.images,
                "move each to the folder of its class");
  listing.others = root.others;
  std::vector<int64_t> labels;
  if (!names.empty()) {
    labels = labels_by_name(folder, root.folders, names);
    listing.classes = names;
  }
  for (size_t i = 0; i < root.folders.size(); ++i) {
    const fs::path& inner = root.folders[i];
    const Contents contents = contents_of(inner);
    if (contents.images.empty()) refuse_class(inner, contents);
    warn_of_stray(
        inner, "subfolders of a class", contents.folders,
        "move their images up, or load this folder if they are the classes");
    if (names.empty()) {
      labels.push_back(static_cast<int64_t>(i));
      listing.classes.push_back(inner.filename().string());
      if (!is_utf8(listing.classes.back())) {
        throw FormatError("invalid_value", folder.string(),
                          fmt::format("folder name '{}' is not UTF-8. Hint: "
                                      "rename it",
                                      printable(listing.classes.back(), 80)));
      }
    }
    listing.files.insert(listing.files.end(), contents.images.begin(),
                         contents.images.end());
    listing.labels.resize(listing.files.size(), labels[i]);
    listing.others.insert(listing.others.end(), contents.others.begin(),
                          contents.others.end());
  }
  return listing;
}

/// Rejects classes whose files were all skipped: nothing would train them.
void check_classes(const fs::path& folder, const Listing& listing,
                   const Dataset& data) {
  // Classes without a folder are not checked.
  std::vector<int64_t> images(listing.classes.size(), 1);
  for (const int64_t label : listing.labels) {
    images[static_cast<size_t>(label)] = 0;
  }
  const Tensor labels = data.labels();
  for (const int64_t label : labels.data<int64_t>()) {
    ++images[static_cast<size_t>(label)];
  }
  for (size_t i = 0; i < images.size(); ++i) {
    if (images[i] > 0) continue;
    throw FormatError(
        "malformed_file", folder.string(),
        fmt::format("class '{}' has no valid images", listing.classes[i]));
  }
}

}  // namespace

ImageFolder load_image_folder(const fs::path& folder,
                              const ImageOptions& options) {
  if (folder.empty()) {
    throw IoError("missing_value", "image folder", "path must not be empty");
  }
  check_image_options("image folder", options);
  std::error_code ignored;
  if (fs::is_regular_file(folder, ignored)) {
    throw IoError(
        "unsupported_format", folder.string(),
        fmt::format(
            "must be a folder with a subfolder of images per class, got {}",
            describe_file(folder)));
  }
  Listing listing = list_files(folder, options.class_names);
  if (!listing.others.empty()) {
    const std::string unread = unread_formats(listing.others);
    warn("files_ignored", folder.string(),
         fmt::format("ignored {} entries that are not .png, .jpg or .jpeg "
                     "files of a class{}",
                     listing.others.size(),
                     unread.empty() ? ""
                                    : fmt::format(" ({}). Hint: {}", unread,
                                                  kConvertImages)));
  }
  const Shape n{std::ssize(listing.labels)};
  ImageFiles files =
      read_images(folder.string(), std::move(listing.files),
                  {.labels = Tensor::of<int64_t>(n, listing.labels)}, options);
  check_classes(folder, listing, files.data);
  return {std::move(files.data), std::move(listing.classes),
          std::move(files.skipped), std::move(files.files)};
}

}  // namespace octet::io
