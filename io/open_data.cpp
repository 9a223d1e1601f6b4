#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/cifar.h>
#include <octet/io/describe_file.h>
#include <octet/io/image_folder.h>
#include <octet/io/open_data.h>
#include <octet/io/preprocess.h>
#include <octet/runtime/error.h>

#include "images/image_files.h"
#include "open_arrays.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTakes =
    "images in a folder for each class, x.npy, x_train.npy and y_train.npy, "
    "the IDX files of MNIST, or CIFAR in its binary version";
constexpr std::array kTestFolders = {"test", "validation", "valid", "val"};

// ---- CIFAR

OpenedData open_cifar(const fs::path& folder, bool hundred,
                      const OpenOptions& options) {
  const TrainTest parts =
      hundred ? load_cifar100(folder) : load_cifar10(folder);
  OpenedData opened{.kind = hundred ? "CIFAR-100" : "CIFAR-10",
                    .train = preprocessed(parts.train, options),
                    .test = preprocessed(parts.test, options)};
  if (!hundred) {
    opened.classes.assign(kCifar10Classes.begin(), kCifar10Classes.end());
  }
  return opened;
}

// ---- images

/// "a, b, c, ... (12 in all)".
std::string few(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  const size_t shown = std::min(kShown, names.size());
  std::string text = fmt::format(
      "{}",
      fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), ", "));
  if (names.size() > shown) {
    text += fmt::format(", ... ({} in all)", names.size());
  }
  return text;
}

ImageFolder read_images_of(const fs::path& folder, const OpenOptions& options) {
  const Shape& shape = options.image;
  if (shape.rank() != 3 || (shape[2] != 1 && shape[2] != 3 && shape[2] != 4)) {
    throw ShapeError(fmt::format(
        "'{}': expected a model that takes images [h,w,c] of 1, 3 or 4 "
        "channels for a folder of images, got {}",
        folder.string(), shape.rank() == 0 ? "none" : shape.to_string()));
  }
  constexpr int64_t kCache = int64_t{1} << 30;
  return load_image_folder(
      folder, {.size = {shape[0], shape[1]},
               .channels = shape[2],
               .preprocess =
                   preprocess_mode(options.preprocess.value_or(options.usual)),
               .corrupt = options.corrupt,
               .cache_bytes = kCache});
}

fs::path test_folder_of(const fs::path& folder) {
  if (!is_folder(folder / "train")) return {};
  fs::path found;
  for (const char* name : kTestFolders) {
    if (!is_folder(folder / name)) continue;
    if (found.empty()) {
      found = folder / name;
      continue;
    }
    warn(fmt::format("{}: '{}' is taken beside 'train', '{}' is left out",
                     folder.string(), found.filename().string(), name));
  }
  return found;
}

OpenedData open_images(const fs::path& folder, const OpenOptions& options) {
  const fs::path test_folder = test_folder_of(folder);
  const bool two = !test_folder.empty();
  ImageFolder train = read_images_of(two ? folder / "train" : folder, options);
  if (train.classes.size() < 2) {
    throw FormatError(fmt::format(
        "{}: expected a sub-folder for each of at least two classes, got '{}' "
        "alone",
        folder.string(), train.classes[0]));
  }
  OpenedData opened{.kind = "a folder of images",
                    .train = std::move(train.data),
                    .classes = std::move(train.classes)};
  for (const fs::path& file : train.files) {
    opened.files.push_back(file.string());
  }
  if (!two) return opened;
  ImageFolder test = read_images_of(test_folder, options);
  if (test.classes != opened.classes) {
    throw FormatError(fmt::format(
        "{}: expected the classes of 'train' ({}), got {}; labels would be "
        "others",
        test_folder.string(), few(opened.classes), few(test.classes)));
  }
  opened.test = std::move(test.data);
  return opened;
}

// ---- which of them it is

bool holds_images(const fs::path& folder) {
  return std::ranges::any_of(folder_entries(folder), [](const auto& entry) {
    return is_image_file(entry);
  });
}

/// Whether it looks like a folder of images, right or nearly so, which its
/// reader tells.
bool is_image_folder(const fs::path& folder) {
  if (!test_folder_of(folder).empty() || holds_images(folder)) return true;
  return std::ranges::any_of(
      folder_entries(folder), [](const fs::directory_entry& entry) {
        return is_folder(entry.path()) && holds_images(entry.path());
      });
}

enum class Kind { npy, idx, cifar10, cifar100, images };

std::vector<Kind> kinds_of(const fs::path& folder) {
  std::vector<Kind> kinds;
  if (is_there(folder / "x_train.npy")) kinds.push_back(Kind::npy);
  if (holds_idx(folder)) {
    kinds.push_back(Kind::idx);
  }
  if (is_there(folder / "data_batch_1.bin") ||
      is_folder(folder / "cifar-10-batches-bin")) {
    kinds.push_back(Kind::cifar10);
  }
  if ((is_there(folder / "train.bin") && is_there(folder / "test.bin")) ||
      is_folder(folder / "cifar-100-binary")) {
    kinds.push_back(Kind::cifar100);
  }
  if (is_image_folder(folder)) kinds.push_back(Kind::images);
  return kinds;
}

[[noreturn]] void refuse_folder(const fs::path& folder,
                                const std::vector<Kind>& kinds) {
  std::vector<std::string> names;
  for (const auto& entry : folder_entries(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::string hint;
  if (is_there(folder / "data_batch_1") ||
      is_folder(folder / "cifar-10-batches-py")) {
    hint = ". Hint: these are CIFAR's Python files; its binary version is read";
  } else if (is_there(folder / "x.npy")) {
    hint = ". Hint: name the file, '" + (folder / "x.npy").string() + "'";
  }
  throw FormatError(
      fmt::format("{}: expected {}, got {}{}", folder.string(), kTakes,
                  names.empty()      ? "an empty folder"
                  : kinds.size() > 1 ? "several of them: " + few(names)
                                     : few(names),
                  hint));
}

OpenedData open_folder(const fs::path& folder, const OpenOptions& options) {
  if (!options.labels.empty()) {
    throw ValueError(fmt::format(
        "--labels: expected a single .npy file as data, got the folder '{}', "
        "which has labels of its own",
        folder.string()));
  }
  const std::vector<Kind> kinds = kinds_of(folder);
  if (kinds.size() != 1) refuse_folder(folder, kinds);
  switch (kinds[0]) {
    case Kind::npy:
      return open_npy_folder(folder, options);
    case Kind::idx:
      return open_idx(folder, options);
    case Kind::cifar10:
      return open_cifar(folder, false, options);
    case Kind::cifar100:
      return open_cifar(folder, true, options);
    case Kind::images:
      return open_images(folder, options);
  }
  throw InternalError("open_data: unknown kind");
}

}  // namespace

OpenedData open_data(const fs::path& path, const OpenOptions& options) {
  if (path.empty()) throw IoError("data: expected a path, got an empty one");
  if (is_folder(path)) return open_folder(path, options);
  if (!is_there(path)) {
    throw IoError(
        fmt::format("'{}': there is no such file or folder. Hint: "
                    "data is {}",
                    path.string(), kTakes));
  }
  if (path.extension() != ".npy") {
    throw FormatError(fmt::format("'{}': expected {}, got {}", path.string(),
                                  kTakes, describe_file(path)));
  }
  return {.kind = "a .npy file",
          .train = read_pair(path, options.labels, options)};
}

}  // namespace octet::io
