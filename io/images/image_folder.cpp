#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <octet/io/describe_file.h>
#include <octet/io/image_folder.h>
#include <octet/runtime/error.h>
#include <octet/runtime/near_names.h>
#include <octet/runtime/printable.h>

#include "image_files.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

/// A folder's entries, by what load_image_folder() makes of them.
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

/// "'cat', 'dog', ... (10 in all)".
std::string names_text(const std::vector<fs::path>& paths) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, paths.size()); ++i) {
    text +=
        fmt::format("{}'{}'", i == 0 ? "" : ", ", paths[i].filename().string());
  }
  if (paths.size() > kShown) {
    text += fmt::format(", ... ({} in all)", paths.size());
  }
  return text;
}

/// Whether sub-folders of it hold images.
bool holds_classes(const fs::path& folder) {
  const Contents contents = contents_of(folder);
  return std::ranges::any_of(contents.folders, [](const fs::path& inner) {
    return !contents_of(inner).images.empty();
  });
}

[[noreturn]] void refuse_class(const fs::path& folder,
                               const Contents& contents) {
  if (!contents.folders.empty()) {
    throw FormatError(fmt::format(
        "{}: expected .png, .jpg or .jpeg files in the folder of a class, got "
        "sub-folders alone ({}){}",
        folder.string(), names_text(contents.folders),
        holds_classes(folder)
            ? fmt::format(". Hint: these are the classes; load '{}'",
                          folder.string())
            : ""));
  }
  throw FormatError(fmt::format(
      "{}: expected .png, .jpg or .jpeg files in the folder of a class, got {}",
      folder.string(),
      contents.others.empty()
          ? "none. Hint: remove the folder if it is no class"
          : fmt::format("others alone ({}). Hint: {}",
                        names_text(contents.others), kConvertImages)));
}

[[noreturn]] void refuse_without_classes(const fs::path& folder,
                                         const Contents& contents) {
  if (contents.images.empty()) {
    const std::string unread = unread_formats(contents.others);
    throw FormatError(fmt::format(
        "{}: expected a sub-folder of images for each class, got none{}",
        folder.string(),
        unread.empty()
            ? ""
            : fmt::format(", but {} files. Hint: {}", unread, kConvertImages)));
  }
  const fs::path whole = fs::absolute(folder / ".").lexically_normal();
  throw FormatError(fmt::format(
      "{}: expected a sub-folder of images for each class, got images in the "
      "folder itself ({}). Hint: if it is the folder of one class load '{}', "
      "else move each image into a sub-folder named as its class",
      folder.string(), names_text(contents.images),
      whole.parent_path().parent_path().string()));
}

struct Listing {
  std::vector<std::string> classes;
  std::vector<fs::path> files;
  std::vector<int64_t> labels;  // of the files
  std::vector<fs::path> others = {};
};

/// The number of each folder's class. Warns of classes without a folder.
/// Throws: ValueError for folders that are none of `names`, and for a name that
/// is there twice.
std::vector<int64_t> labels_by_name(const fs::path& folder,
                                    const std::vector<fs::path>& folders,
                                    const std::vector<std::string>& names) {
  std::set<std::string> without(names.begin(), names.end());
  if (without.size() != names.size()) {
    throw ValueError(
        "class_names: each name must be there once, got one twice");
  }
  std::vector<int64_t> labels;
  for (const fs::path& inner : folders) {
    const std::string name = inner.filename().string();
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      throw ValueError(fmt::format(
          "{}: the folder '{}' is no class of the model{}. Hint: the class "
          "names list the folders in the order of the model's outputs",
          folder.string(), printable(name, 80), suggest_names(name, names)));
    }
    labels.push_back(found - names.begin());
    without.erase(name);
  }
  if (!without.empty()) {
    warn(fmt::format("{}: {} of {} classes have no folder, for instance '{}'",
                     folder.string(), without.size(), names.size(),
                     printable(*without.begin(), 80)));
  }
  return labels;
}

/// Warns of images and folders that stand where none is looked for.
void warn_of_stray(const fs::path& folder, std::string_view what,
                   const std::vector<fs::path>& paths, std::string_view cure) {
  if (paths.empty()) return;
  warn(fmt::format("{}: left out {} ({}). Hint: {}", folder.string(), what,
                   names_text(paths), cure));
}

Listing list_files(const fs::path& folder,
                   const std::vector<std::string>& names) {
  Listing listing;
  const Contents root = contents_of(folder);
  if (root.folders.empty()) refuse_without_classes(folder, root);
  warn_of_stray(folder, "images beside the folders of the classes", root.images,
                "move each into the folder of its class");
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
    warn_of_stray(inner, "sub-folders of a class", contents.folders,
                  "move their images up, or load this folder if they are the "
                  "classes");
    if (names.empty()) {
      labels.push_back(static_cast<int64_t>(i));
      listing.classes.push_back(inner.filename().string());
    }
    listing.files.insert(listing.files.end(), contents.images.begin(),
                         contents.images.end());
    listing.labels.resize(listing.files.size(), labels[i]);
    listing.others.insert(listing.others.end(), contents.others.begin(),
                          contents.others.end());
  }
  return listing;
}

/// A class whose files were all skipped would be one that nothing teaches.
void check_classes(const fs::path& folder, const Listing& listing,
                   const Dataset& data) {
  // Classes without a folder do not count.
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
        fmt::format("{}: expected sound images of class '{}', got none",
                    folder.string(), listing.classes[i]));
  }
}

}  // namespace

ImageFolder load_image_folder(const fs::path& folder,
                              const ImageOptions& options) {
  if (folder.empty()) {
    throw IoError("image folder: expected a path, got an empty one");
  }
  check_image_options("image folder", options);
  std::error_code ignored;
  if (fs::is_regular_file(folder, ignored)) {
    throw IoError(fmt::format(
        "{}: expected a folder with a sub-folder of images for each class, got "
        "{}",
        folder.string(), describe_file(folder)));
  }
  Listing listing = list_files(folder, options.class_names);
  if (!listing.others.empty()) {
    const std::string unread = unread_formats(listing.others);
    warn(fmt::format(
        "{}: left out {} entries that are no .png, .jpg or .jpeg files of a "
        "class{}",
        folder.string(), listing.others.size(),
        unread.empty()
            ? ""
            : fmt::format(" ({}). Hint: {}", unread, kConvertImages)));
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
