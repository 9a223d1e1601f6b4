#include "image_files.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <octet/io/image.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/rows.h>

namespace octet::io {
namespace {

namespace fs = std::filesystem;

/// The largest part of the shape of `size` from the middle of an image.
/// Source: keras/src/utils/image_utils.py, smart_resize.
Tensor cropped_to(const Tensor& image, Size2 size) {
  const int64_t h = image.shape()[0], w = image.shape()[1];
  const int64_t crop_h = std::clamp<int64_t>(w * size.h / size.w, 1, h);
  const int64_t crop_w = std::clamp<int64_t>(h * size.w / size.h, 1, w);
  const int64_t top = (h - crop_h) / 2, left = (w - crop_w) / 2;
  const int64_t c = image.shape()[2];
  Tensor part(Shape{crop_h, crop_w, c}, DType::u8);
  for (int64_t y = 0; y < crop_h; ++y) {
    std::copy_n(image.data<uint8_t>().data() + ((top + y) * w + left) * c,
                crop_w * c, part.data<uint8_t>().data() + y * crop_w * c);
  }
  return part;
}

/// Shapes: u8 [size.h,size.w,channels].
Tensor read_resized(const fs::path& path, const ImageOptions& options) {
  const Tensor image = read_image(path, options.channels);
  return resize_bilinear(
      options.fit == ImageFit::crop ? cropped_to(image, options.size) : image,
      options.size);
}

class FileSource final : public SampleSource {
 public:
  FileSource(std::vector<fs::path> files, Tensor labels,
             const ImageOptions& options)
      : files_(std::move(files)),
        options_(options),
        labels_(std::move(labels)),
        cache_(files_.size()),
        cache_left_(options.cache_bytes) {
    if (!options.eager) return;
    cache_left_ = std::numeric_limits<int64_t>::max();
    parallel_for(size(), [&](int64_t i) { (void)image(i); });
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  std::vector<TensorSpec> input_specs() const override {
    return {{{options_.size.h, options_.size.w, options_.channels}}};
  }

  std::vector<TensorSpec> label_specs() const override {
    return {
        {labels_.shape().slice(1, labels_.shape().rank()), labels_.dtype()}};
  }
  std::vector<Tensor> known_labels() const override { return {labels_}; }

  Batch read(std::span<const int64_t> indices) const override {
    const auto count = static_cast<int64_t>(indices.size());
    Batch batch(
        Tensor({count, options_.size.h, options_.size.w, options_.channels}),
        rows_at(labels_, indices));
    parallel_for(count, [&](int64_t i) {
      const int64_t index = indices[static_cast<size_t>(i)];
      const Tensor input = preprocess_input(image(index), options_.preprocess);
      Tensor row = batch.input().slice(i, 1);  // shares the memory
      std::ranges::copy(std::as_const(input).f32(), row.f32().begin());
    });
    return batch;
  }

 private:
  /// Shapes: u8 [h,w,channels].
  Tensor image(int64_t index) const {
    Tensor& kept = cache_[static_cast<size_t>(index)];
    {
      const std::lock_guard lock(mutex_);
      if (!kept.empty()) return kept;
    }
    const Tensor fresh =
        read_resized(files_[static_cast<size_t>(index)], options_);
    const std::lock_guard lock(mutex_);
    if (kept.empty() && fresh.bytes() <= cache_left_) {
      cache_left_ -= fresh.bytes();
      kept = fresh;
    }
    return fresh;
  }

  std::vector<fs::path> files_;
  ImageOptions options_;
  Tensor labels_;
  mutable std::mutex mutex_;
  mutable std::vector<Tensor> cache_;  // of those that are kept
  mutable int64_t cache_left_;         // bytes
};

/// Takes the files that cannot be decoded out, with their labels. Returns what
/// is wrong with each.
std::vector<std::string> skip_corrupt(const std::string& what,
                                      std::vector<fs::path>& files,
                                      Tensor& labels,
                                      const ImageOptions& options) {
  std::vector<std::string> problems(files.size());
  parallel_for(std::ssize(files), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    try {
      (void)read_image(files[at], options.channels);
    } catch (const FormatError& error) {
      problems[at] = error.message();
    } catch (const IoError& error) {
      problems[at] = error.message();
    }
  });
  std::vector<fs::path> sound;
  std::vector<int64_t> places;
  std::vector<std::string> skipped;
  for (size_t i = 0; i < problems.size(); ++i) {
    if (problems[i].empty()) {
      sound.push_back(files[i]);
      places.push_back(static_cast<int64_t>(i));
    } else {
      skipped.push_back(fmt::format("{}: {}", files[i].string(), problems[i]));
    }
  }
  if (sound.empty()) {
    throw FormatError(
        fmt::format("{}: expected sound images, got none, the "
                    "first: {}",
                    what, skipped[0]));
  }
  if (!skipped.empty()) {
    warn(
        fmt::format("{}: skipped {} of {} files that are no sound images, the "
                    "first: {}",
                    what, skipped.size(), problems.size(), skipped[0]));
  }
  files = std::move(sound);
  labels = rows_at(labels, places);
  return skipped;
}

}  // namespace

void check_image_options(std::string_view subject,
                         const ImageOptions& options) {
  const auto& [h, w] = options.size;
  if (h < 1 || w < 1 || h > kLargestImageSide || w > kLargestImageSide) {
    throw ValueError(fmt::format("{}: expected a size of 1 to {}, got {}x{}",
                                 subject, kLargestImageSide, h, w));
  }
  if (options.channels != 1 && options.channels != 3 && options.channels != 4) {
    throw ValueError(fmt::format("{}: expected channels 1, 3 or 4, got {}",
                                 subject, options.channels));
  }
  if (options.cache_bytes < 0) {
    throw ValueError(fmt::format("{}: expected cache_bytes >= 0, got {}",
                                 subject, options.cache_bytes));
  }
  // Refuses what does not go with these channels.
  (void)preprocess_input(Tensor::zeros({1, options.channels}),
                         options.preprocess);
}

ImageFiles read_images(const std::string& what, std::vector<fs::path> files,
                       Tensor labels, const ImageOptions& options) {
  std::vector<std::string> skipped;
  if (options.corrupt == CorruptFiles::skip) {
    skipped = skip_corrupt(what, files, labels, options);
  }
  const Dataset data(std::make_shared<FileSource>(std::move(files),
                                                  std::move(labels), options));
  return {options.shuffle ? data.shuffled(options.seed) : data,
          std::move(skipped)};
}

ImageFiles load_images(std::vector<fs::path> files, Tensor labels,
                       const ImageOptions& options) {
  check_image_options("load_images", options);
  if (files.empty()) {
    throw ValueError("load_images: expected files, got none");
  }
  const bool classes = labels.dtype() == DType::i64;
  if (labels.empty() || (!classes && labels.dtype() != DType::f32)) {
    throw ValueError(fmt::format(
        "load_images: expected labels of i64 (classes) or f32 (targets), got "
        "{}",
        labels.empty() ? "none" : to_string(labels.dtype())));
  }
  const Shape& shape = labels.shape();
  if (shape.rank() < 1 || (classes && shape.rank() != 1) ||
      shape[0] != std::ssize(files)) {
    throw ShapeError(fmt::format(
        "load_images: expected labels [{}{}], one for each file, got {}",
        files.size(), classes ? "" : ",...", shape.to_string()));
  }
  return read_images("load_images", std::move(files), labels.clone(), options);
}

}  // namespace octet::io
