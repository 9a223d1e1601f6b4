#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/io/detail/checks.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>

#include "images/image_files.h"
#include "open_arrays.h"
#include "open_images.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTakes =
    "a folder of images per class, a table x.csv of images, x.npy, x_train.npy "
    "and y_train.npy, IDX "
    "files (MNIST) or the binary version of CIFAR";
// ---- CIFAR

Dataset relabeled(const Dataset& data, const std::vector<int64_t>& labels) {
  return data.map([labels](Batch batch) {
    Tensor label = batch.label().clone();
    for (int64_t& value : label.data<int64_t>()) {
      value = labels[static_cast<size_t>(value)];
    }
    batch.label() = label;
    return batch;
  });
}

/// Maps labels to the order of options.class_names, if those are the classes.
void order_classes(const fs::path& folder, const OpenDataOptions& options,
                   OpenedData& opened) {
  const std::vector<std::string>& names = options.class_names;
  if (names.empty() || names == opened.classes) return;
  std::vector<int64_t> labels;
  for (const std::string& name : opened.classes) {
    labels.push_back(std::ranges::find(names, name) - names.begin());
    if (labels.back() < std::ssize(names)) continue;
    if (options.labels_optional) {
      warn_of_labels(folder, name, names);
      drop_labels(opened);
      return;
    }
    throw ValueError("unknown_name", fmt::format("class '{}'", name),
                     fmt::format("in '{}', but not a class of the model{}",
                                 folder.string(), suggest_names(name, names)));
  }
  opened.train = relabeled(opened.train, labels);
  if (opened.test) opened.test = relabeled(*opened.test, labels);
  opened.classes = names;
}

OpenedData open_cifar(const fs::path& folder, bool hundred,
                      const OpenDataOptions& options) {
  const TrainTest parts =
      hundred ? load_cifar100(folder) : load_cifar10(folder);
  OpenedData opened{.kind = hundred ? "CIFAR-100" : "CIFAR-10",
                    .train = preprocessed(parts.train, options),
                    .test = preprocessed(parts.test, options)};
  if (!hundred) {
    opened.classes.assign(kCifar10Classes.begin(), kCifar10Classes.end());
    order_classes(folder, options, opened);
  }
  return opened;
}

// ---- detection of the kind

enum class Kind { npy, idx, cifar10, cifar100, images };

std::vector<Kind> kinds_of(const fs::path& folder,
                           const OpenDataOptions& options) {
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
  if (is_image_folder(folder) ||
      (kinds.empty() && options.labels_optional && holds_any_image(folder))) {
    kinds.push_back(Kind::images);
  }
  return kinds;
}

[[noreturn]] void refuse_folder(const fs::path& folder,
                                const std::vector<Kind>& kinds) {
  std::vector<std::string> names;
  std::vector<fs::path> files;
  for (const auto& entry : folder_entries(folder)) {
    names.push_back(entry.path().filename().string());
    files.push_back(entry.path());
  }
  std::string hint;
  if (is_there(folder / "data_batch_1") ||
      is_folder(folder / "cifar-10-batches-py")) {
    hint = ". Hint: these are Python pickles; use the binary version of CIFAR";
  } else if (is_there(folder / "x.npy")) {
    hint = ". Hint: name the file '" + (folder / "x.npy").string() + "'";
  } else if (!unread_formats(files).empty()) {
    hint = fmt::format(". Hint: {}", kConvertImages);
  }
  throw FormatError("unsupported_format", folder.string(),
                    fmt::format("expected {}, got {}{}", kTakes,
                                names.empty()      ? "an empty folder"
                                : kinds.size() > 1 ? "several kinds of data: " +
                                                         few_names(names)
                                                   : few_names(names),
                                hint));
}

OpenedData open_folder(const fs::path& folder, const OpenDataOptions& options) {
  if (!options.labels.empty()) {
    throw ValueError(
        "conflicting_options",
        hint_style() == HintStyle::cpp ? "OpenDataOptions.labels" : "--labels",
        fmt::format("applies to a single .npy file; the folder '{}' contains "
                    "its labels",
                    folder.string()));
  }
  const std::vector<Kind> kinds = kinds_of(folder, options);
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
  throw InternalError("internal", "open_data", "unknown kind");
}

}  // namespace

OpenedData open_data(const fs::path& path, const OpenDataOptions& options) {
  if (path.empty()) {
    throw IoError("missing_value", "data", "path must not be empty");
  }
  if (is_folder(path)) return open_folder(path, options);
  if (!is_there(path)) {
    throw IoError(
        "file_not_found", path.string(),
        fmt::format("file or folder not found. Hint: data is {}", kTakes));
  }
  const std::string extension = extension_of(path);
  if (options.labels_optional && options.labels.empty() &&
      (extension == ".png" || extension == ".jpg" || extension == ".jpeg")) {
    return open_images(path, options);
  }
  if (extension == ".yaml" || extension == ".yml") {
    throw FormatError("unsupported_format", path.string(),
                      fmt::format("expected {}, got a YAML file. Hint: name "
                                  "the folder of the images that it describes",
                                  kTakes));
  }
  if (extension == ".csv" || extension == ".tsv") {
    if (options.labels.empty()) return open_image_table(path, options);
    throw ValueError(
        "conflicting_options",
        hint_style() == HintStyle::cpp ? "OpenDataOptions.labels" : "--labels",
        fmt::format("applies to a single .npy file; the table '{}' contains "
                    "its labels",
                    path.string()));
  }
  if (extension != ".npy") {
    throw FormatError(
        "unsupported_format", path.string(),
        fmt::format("expected {}, got {}", kTakes, describe_file(path)));
  }
  return {.kind = "a .npy file",
          .train = read_pair(path, options.labels, options)};
}

}  // namespace octet::io
