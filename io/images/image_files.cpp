#include "image_files.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/detail/checks.h>
#include <octet/io/image.h>
#include <octet/runtime/detail/tensor_parts.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

namespace octet::io {
namespace {

namespace fs = std::filesystem;

bool is_image_name(const fs::path& path) {
  const std::string extension = extension_of(path);
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

/// An image and its mask, if any.
struct Sample {
  Tensor image;  // u8 [h,w,channels]
  Tensor mask;   // u8 [h,w]
};

/// Shapes: the size of the options.
Sample read_sample(const fs::path& path, const fs::path* mask_path,
                   const ImageOptions& options) {
  Sample sample{read_image(path, options.channels), {}};
  if (mask_path != nullptr) {
    sample.mask = read_mask(*mask_path);
    const Shape& mask = sample.mask.shape();
    if (mask != sample.image.shape().slice(0, 2)) {
      throw FormatError(
          "shape_mismatch", mask_path->string(),
          fmt::format("mask must have the size of its image '{}', {}, got {}",
                      path.string(),
                      sample.image.shape().slice(0, 2).to_string(),
                      mask.to_string()));
    }
  }
  sample.image = resize_image(sample.image, options.size, options.resize);
  if (mask_path != nullptr) {
    sample.mask = resize_mask(sample.mask, options.size, options.resize);
  }
  return sample;
}

class FileSource final : public SampleSource {
 public:
  FileSource(std::vector<fs::path> files, ImageLabels labels,
             const ImageOptions& options)
      : files_(std::move(files)),
        options_(options),
        labels_(std::move(labels)),
        cache_(files_.size()),
        cache_left_(options.cache_bytes) {
    for (size_t i = 0; i < labels_.values.size(); ++i) {
      class_of_[static_cast<size_t>(labels_.values[i])] =
          static_cast<int64_t>(i);
    }
    if (!options.eager) return;
    cache_left_ = std::numeric_limits<int64_t>::max();
    parallel_for(size(), [&](int64_t i) {
      const Sample read = sample(i);
      if (has_masks()) (void)classes(i, read.mask);
    });
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  std::vector<TensorSpec> input_specs() const override {
    return {{{options_.size.h, options_.size.w, options_.channels}}};
  }

  std::vector<TensorSpec> label_specs() const override {
    if (has_masks()) {
      return {{{options_.size.h, options_.size.w}, DType::i64}};
    }
    const Tensor& labels = labels_.labels;
    if (labels.empty()) return {};
    return {{labels.shape().slice(1, labels.shape().rank()), labels.dtype()}};
  }
  std::vector<Tensor> known_labels() const override {
    if (has_masks() || labels_.labels.empty()) return {};
    return {labels_.labels};
  }

  Batch read(std::span<const int64_t> indices) const override {
    const auto count = static_cast<int64_t>(indices.size());
    const auto& [h, w] = options_.size;
    Batch batch(std::vector<Tensor>{Tensor({count, h, w, options_.channels})},
                {});
    if (has_masks()) {
      batch.labels.emplace_back(Tensor({count, h, w}, DType::i64));
    } else if (!labels_.labels.empty()) {
      batch.labels.emplace_back(rows_at(labels_.labels, indices));
    }
    parallel_for(count, [&](int64_t i) {
      const int64_t index = indices[static_cast<size_t>(i)];
      const Sample read = sample(index);
      const Tensor input = preprocess_input(read.image, options_.preprocess);
      Tensor row = batch.input().slice(i, 1);  // shares the memory
      std::ranges::copy(std::as_const(input).f32(), row.f32().begin());
      if (!has_masks()) return;
      Tensor label = batch.label().slice(i, 1);
      std::ranges::copy(classes(index, read.mask),
                        label.data<int64_t>().begin());
    });
    return batch;
  }

 private:
  bool has_masks() const { return !labels_.masks.empty(); }

  Sample sample(int64_t index) const {
    const auto at = static_cast<size_t>(index);
    Sample& kept = cache_[at];
    {
      const std::lock_guard lock(mutex_);
      if (!kept.image.empty()) return kept;
    }
    const Sample fresh = read_sample(
        files_[at], has_masks() ? &labels_.masks[at] : nullptr, options_);
    const int64_t bytes =
        fresh.image.bytes() + (has_masks() ? fresh.mask.bytes() : 0);
    const std::lock_guard lock(mutex_);
    if (kept.image.empty() && bytes <= cache_left_) {
      cache_left_ -= bytes;
      kept = fresh;
    }
    return fresh;
  }

  /// Converts the pixels of a mask to class indices.
  std::vector<int64_t> classes(int64_t index, const Tensor& mask) const {
    const auto pixels = std::as_const(mask).data<uint8_t>();
    std::vector<int64_t> result(pixels.size());
    for (size_t i = 0; i < pixels.size(); ++i) {
      const int64_t value = pixels[i];
      result[i] = value;
      if (labels_.values.empty()) continue;
      if (class_of_[pixels[i]] >= 0) {
        result[i] = class_of_[pixels[i]];
      } else if (value < std::ssize(labels_.values)) {
        throw FormatError("invalid_value",
                          labels_.masks[static_cast<size_t>(index)].string(),
                          fmt::format("pixels must be {}, or ignored values "
                                      "that are not class indices, got {}",
                                      fmt::join(labels_.values, ", "), value));
      }
    }
    return result;
  }

  std::vector<fs::path> files_;
  ImageOptions options_;
  ImageLabels labels_;
  // Class by pixel value; -1 for none.
  std::array<int64_t, 256> class_of_ = filled_with_none();
  mutable std::mutex mutex_;
  mutable std::vector<Sample> cache_;  // of cached samples
  mutable int64_t cache_left_;         // bytes

  static std::array<int64_t, 256> filled_with_none() {
    std::array<int64_t, 256> none{};
    none.fill(-1);
    return none;
  }
};

/// Removes files that cannot be decoded, and their labels. Returns the reason
/// for each.
std::vector<std::string> skip_corrupt(const std::string& what,
                                      std::vector<fs::path>& files,
                                      ImageLabels& labels,
                                      const ImageOptions& options) {
  std::vector<std::string> problems(files.size());
  parallel_for(std::ssize(files), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    try {
      (void)read_image(files[at], options.channels);
      if (!labels.masks.empty()) (void)read_mask(labels.masks[at]);
    } catch (const FormatError& error) {
      problems[at] = error.message();
    } catch (const IoError& error) {
      problems[at] = error.message();
    }
  });
  std::vector<fs::path> sound;
  std::vector<fs::path> sound_masks;
  std::vector<int64_t> places;
  std::vector<std::string> skipped;
  for (size_t i = 0; i < problems.size(); ++i) {
    if (problems[i].empty()) {
      sound.push_back(files[i]);
      if (!labels.masks.empty()) sound_masks.push_back(labels.masks[i]);
      places.push_back(static_cast<int64_t>(i));
    } else {
      skipped.push_back(fmt::format("{}: {}", files[i].string(), problems[i]));
    }
  }
  if (sound.empty()) {
    throw FormatError(
        "malformed_file", what,
        fmt::format("no valid images, the first error: {}", skipped[0]));
  }
  if (!skipped.empty()) {
    warn("invalid_images", what,
         fmt::format(
             "skipped {} of {} files that are not valid images, the first: {}",
             skipped.size(), problems.size(), skipped[0]));
  }
  files = std::move(sound);
  labels.masks = std::move(sound_masks);
  if (!labels.labels.empty()) labels.labels = rows_at(labels.labels, places);
  return skipped;
}

// Order of Dataset::shuffled().
std::vector<fs::path> shuffled(const std::vector<fs::path>& files,
                               uint64_t seed) {
  const Shape n{std::ssize(files)};
  Tensor places(n, DType::i64);
  const auto values = places.data<int64_t>();
  std::iota(values.begin(), values.end(), int64_t{0});
  const Tensor order =
      Dataset(Tensor(n), std::move(places)).shuffled(seed).labels();
  std::vector<fs::path> result;
  for (const int64_t place : order.data<int64_t>()) {
    result.push_back(files[static_cast<size_t>(place)]);
  }
  return result;
}

}  // namespace

void check_image_options(std::string_view subject,
                         const ImageOptions& options) {
  const auto& [h, w] = options.size;
  if (h < 1 || w < 1 || h > kLargestImageSide || w > kLargestImageSide) {
    throw ValueError(
        "out_of_range", fmt::format("{} size", subject),
        fmt::format("must be 1 to {}, got {}x{}", kLargestImageSide, h, w));
  }
  if (options.channels != 1 && options.channels != 3 && options.channels != 4) {
    throw ValueError(
        "invalid_value", fmt::format("{} channels", subject),
        fmt::format("must be 1, 3 or 4, got {}", options.channels));
  }
  if (options.cache_bytes < 0) {
    throw ValueError(
        "out_of_range", fmt::format("{} cache_bytes", subject),
        fmt::format("must not be negative, got {}", options.cache_bytes));
  }
  // Rejects values that do not fit these channels.
  (void)preprocess_input(Tensor::zeros({1, options.channels}),
                         options.preprocess);
  check_resize(subject, options.size, options.resize);
}

std::vector<fs::directory_entry> folder_entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (!it->path().filename().string().starts_with('.')) {
      entries.push_back(*it);
    }
  }
  if (error == std::errc::no_such_file_or_directory) {
    throw IoError("file_not_found", folder.string(), "folder not found");
  }
  if (error) {
    throw IoError("cannot_read", folder.string(),
                  fmt::format("cannot list the folder: {}", error.message()));
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.path().native() < b.path().native();
  });
  return entries;
}

bool is_image_file(const fs::directory_entry& entry) {
  std::error_code ignored;
  return is_image_name(entry.path()) &&
         (entry.is_regular_file(ignored) || !entry.exists(ignored));
}

ImageFiles read_images(const std::string& what, std::vector<fs::path> files,
                       ImageLabels labels, const ImageOptions& options) {
  std::vector<std::string> skipped;
  if (options.corrupt == CorruptFiles::skip) {
    skipped = skip_corrupt(what, files, labels, options);
  }
  std::vector<fs::path> ordered =
      options.shuffle ? shuffled(files, options.seed) : files;
  const Dataset data(std::make_shared<FileSource>(std::move(files),
                                                  std::move(labels), options));
  return {options.shuffle ? data.shuffled(options.seed) : data,
          std::move(skipped), std::move(ordered)};
}

ImageFiles load_images(std::vector<fs::path> files, Tensor labels,
                       const ImageOptions& options) {
  check_image_options("load_images", options);
  if (files.empty()) {
    throw ValueError("missing_value", "load_images", "no files given");
  }
  const bool classes = labels.dtype() == DType::i64;
  if (labels.empty() || (!classes && labels.dtype() != DType::f32)) {
    throw ValueError(
        "dtype_mismatch", "load_images labels",
        fmt::format("must be i64 (classes) or f32 (targets), got {}",
                    labels.empty() ? "none" : to_string(labels.dtype())));
  }
  const Shape& shape = labels.shape();
  if (shape.rank() < 1 || (classes && shape.rank() != 1) ||
      shape[0] != std::ssize(files)) {
    throw ShapeError(
        "count_mismatch", "load_images labels",
        fmt::format("must have shape [{}{}], one per file, got {}",
                    files.size(), classes ? "" : ",...", shape.to_string()));
  }
  return read_images("load_images", std::move(files),
                     {.labels = labels.clone()}, options);
}

}  // namespace octet::io
