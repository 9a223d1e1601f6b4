#include "open_arrays.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/io/detail/checks.h>
#include <octet/io/image.h>
#include <octet/runtime/detail/exact_floats.h>
#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>

#include "elements.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

Tensor read_samples(const fs::path& path, const OpenDataOptions& options) {
  const Tensor x = read_npy(path);
  if (x.dtype() == DType::f32 && !options.preprocess) return x;
  if (x.dtype() == DType::u8 && (options.preprocess || options.takes_bytes)) {
    const std::string& mode = options.preprocess.value_or(options.usual);
    return with_context([&] { return fmt::format("in '{}'", path.string()); },
                        [&] { return preprocess_input(x, mode); });
  }
  // Bytes are images.
  if (options.takes_numbers && !options.preprocess && x.dtype() != DType::u8) {
    return x.dtype() == DType::i32 || x.dtype() == DType::i64
               ? exact_floats(x, path.string())
               : as_floats(x);
  }
  if (x.dtype() == DType::f32) {
    throw ValueError(
        "dtype_mismatch", path.string(),
        fmt::format("preprocessing '{}' needs uint8, got float32, which is "
                    "used unchanged. Hint: omit {} or store uint8",
                    *options.preprocess,
                    hint_style() == HintStyle::cpp
                        ? "OpenDataOptions.preprocess"
                        : "--preprocess"));
  }
  throw FormatError(
      "unsupported_type", path.string(),
      fmt::format(
          "samples must be float32, got {}. Hint: use x.astype(\"float32\"), "
          "scaled as in training, usually / 255{}",
          to_string(x.dtype()),
          x.dtype() != DType::u8 ? ""
          : hint_style() == HintStyle::cpp
              ? "; or set OpenDataOptions.preprocess = \"unit\""
              : "; or use --preprocess unit"));
}

/// Returns the first existing file among the usual names, or an empty path.
fs::path idx_file(const fs::path& folder, std::string_view part,
                  std::string_view kind) {
  for (const char separator : {'-', '.'}) {
    for (const char* end : {"", ".gz"}) {
      const fs::path path =
          folder / fmt::format("{}{}{}-ubyte{}", part, separator, kind, end);
      if (is_there(path)) return path;
    }
  }
  return {};
}

Dataset read_idx_pair(const fs::path& folder, std::string_view part) {
  const fs::path image_path =
      idx_file(folder, fmt::format("{}-images", part), "idx3");
  const fs::path label_path =
      idx_file(folder, fmt::format("{}-labels", part), "idx1");
  if (image_path.empty() || label_path.empty()) {
    throw IoError("file_not_found", folder.string(),
                  fmt::format("expected {}-images-idx3-ubyte and "
                              "{}-labels-idx1-ubyte, plain or .gz, got {}",
                              part, part,
                              image_path.empty() ? "no images" : "no labels"));
  }
  const Tensor images = read_idx(image_path);
  const Tensor bytes = read_idx(label_path);
  const Shape& shape = images.shape();
  if (shape.rank() != 3 || shape[0] < 1) {
    throw FormatError("invalid_shape", image_path.string(),
                      fmt::format("images must have shape [N,h,w], got {}",
                                  shape.to_string()));
  }
  if (bytes.shape() != Shape{shape[0]}) {
    throw FormatError(
        "count_mismatch", label_path.string(),
        fmt::format("labels must have shape [{}], one per image in {}, got {}",
                    shape[0], image_path.filename().string(),
                    bytes.shape().to_string()));
  }
  Tensor labels(bytes.shape(), DType::i64);
  std::ranges::copy(bytes.data<uint8_t>(), labels.data<int64_t>().begin());
  return Dataset(images.reshaped({shape[0], shape[1], shape[2], 1}), labels,
                 1.0f / 255);
}

template <class Code>
Tensor as_i64(const Tensor& codes) {
  Tensor labels(codes.shape(), DType::i64);
  std::ranges::copy(codes.data<Code>(), labels.data<int64_t>().begin());
  return labels;
}

}  // namespace

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}
bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

Dataset preprocessed(const Dataset& unit, const OpenDataOptions& options) {
  const std::string mode = options.preprocess.value_or(options.usual);
  const Preprocess preprocess = preprocess_mode(mode);
  if (mode == "unit") return unit;
  return unit.map([preprocess](Batch batch) {
    Tensor bytes = batch.input().clone();
    for (float& x : bytes.f32()) x = std::round(255 * x);
    batch.input() = preprocess_input(bytes, preprocess);
    return batch;
  });
}

Dataset read_pair(const fs::path& x, const fs::path& y,
                  const OpenDataOptions& options) {
  Tensor inputs = read_samples(x, options);
  if (inputs.shape().rank() < 2) {
    throw FormatError("invalid_shape", x.string(),
                      fmt::format("samples must have shape [N,...], got {}. "
                                  "Hint: use x[None] for a single sample",
                                  inputs.shape().to_string()));
  }
  if (y.empty()) return Dataset::unlabeled({std::move(inputs)});
  Tensor labels = read_labels(y, inputs.shape()[0]);
  return Dataset(std::move(inputs), std::move(labels));
}

OpenedData open_npy_folder(const fs::path& folder,
                           const OpenDataOptions& options) {
  OpenedData opened{.kind = ".npy files",
                    .train = read_pair(folder / "x_train.npy",
                                       folder / "y_train.npy", options)};
  if (is_there(folder / "x_test.npy")) {
    opened.test =
        read_pair(folder / "x_test.npy", folder / "y_test.npy", options);
  }
  return opened;
}

bool holds_idx(const fs::path& folder) {
  return !idx_file(folder, "train-images", "idx3").empty();
}

OpenedData open_idx(const fs::path& folder, const OpenDataOptions& options) {
  OpenedData opened{
      .kind = "IDX files",
      .train = preprocessed(read_idx_pair(folder, "train"), options)};
  if (!idx_file(folder, "t10k-images", "idx3").empty()) {
    opened.test = preprocessed(read_idx_pair(folder, "t10k"), options);
  }
  return opened;
}

std::string labels_hint(const Tensor& labels, const std::string& name) {
  constexpr const char* kOneHot =
      ". Hint: convert one-hot labels with labels.argmax(1)";
  if (labels.empty() || labels.size() == 0 || labels.shape().rank() == 0) {
    return "";
  }
  const Shape& shape = labels.shape();
  const bool list = shape.size() == std::ranges::max(shape.dims());
  if (labels.dtype() != DType::f32) {
    if (list) return ". Hint: use labels.reshape(-1).astype(\"int64\")";
    if (shape.rank() == 2) return kOneHot;
    return labels.dtype() == DType::i64
               ? ". Hint: octet evaluate accepts one class per pixel"
               : ". Hint: use labels.astype(\"int64\")";
  }
  const auto values = labels.f32();
  const bool whole = std::ranges::all_of(
      values, [](float x) { return x >= 0 && x == std::floor(x) && x < 1e9f; });
  if (whole && list) return ". Hint: use labels.reshape(-1).astype(\"int64\")";
  if (whole && shape.rank() == 2 && std::ranges::max(values) == 1 &&
      std::ranges::count(values, 1.0f) == shape[0]) {
    return kOneHot;
  }
  if (hint_style() == HintStyle::cpp) {
    return ". Hint: for float targets, pass losses::mean_squared_error() or, "
           "for class probabilities, losses::categorical_cross_entropy()";
  }
  const std::string output = name.empty() ? "" : name + "=";
  return fmt::format(
      ". Hint: for float targets, use --loss {}mean_squared_error or, for "
      "class probabilities, --loss {}categorical_cross_entropy, in octet "
      "train, qat, evaluate and "
      "report",
      output, output);
}

Tensor read_labels(const fs::path& path, int64_t count) {
  Tensor labels = read_npy(path);
  if (labels.dtype() == DType::i32) labels = as_i64<int32_t>(labels);
  if (labels.dtype() == DType::u8) labels = as_i64<uint8_t>(labels);
  const Shape& shape = labels.shape();
  const bool classes =
      labels.dtype() == DType::i64 && (shape.rank() == 1 || shape.rank() >= 3);
  const bool targets = labels.dtype() == DType::f32 && shape.rank() >= 1;
  if (!classes && !targets) {
    throw FormatError(
        "unsupported_type", path.string(),
        fmt::format(
            "labels must be class indices, int64 [N] or [N,H,W], got {} {}{}",
            to_string(labels.dtype()), shape.to_string(), labels_hint(labels)));
  }
  if (shape[0] != count) {
    throw ShapeError(
        "count_mismatch", path.string(),
        fmt::format("number of labels must be that of the samples, {}, got {}",
                    count, shape[0]));
  }
  if (classes && count > 0) {
    const int64_t least = std::ranges::min(labels.data<int64_t>());
    if (least < 0) {
      throw FormatError(
          "out_of_range", path.string(),
          fmt::format("labels must not be negative, got {}", least));
    }
  }
  return labels;
}

}  // namespace octet::io
