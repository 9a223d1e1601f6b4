#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <octet/io/describe_file.h>
#include <octet/io/image.h>
#include <octet/io/image_folder.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

namespace octet::io {
namespace {

namespace fs = std::filesystem;

struct ImageFile {
  fs::path path;
  int64_t label = 0;
};

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
Tensor read_resized(const fs::path& path, const ImageFolderOptions& options) {
  const Tensor image = read_image(path, options.channels);
  return resize_bilinear(
      options.fit == ImageFit::crop ? cropped_to(image, options.size) : image,
      options.size);
}

Tensor labels_of(const std::vector<ImageFile>& files) {
  Tensor labels(Shape{static_cast<int64_t>(files.size())}, DType::i64);
  std::ranges::transform(files, labels.data<int64_t>().begin(),
                         &ImageFile::label);
  return labels;
}

class FileSource final : public SampleSource {
 public:
  FileSource(std::vector<ImageFile> files, const ImageFolderOptions& options)
      : files_(std::move(files)),
        options_(options),
        labels_(labels_of(files_)),
        cache_(files_.size()),
        cache_left_(options.cache_bytes) {
    if (!options.eager) return;
    cache_left_ = std::numeric_limits<int64_t>::max();
    parallel_for(size(), [&](int64_t i) { (void)image(i); });
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  Shape input_shape() const override {
    return {options_.size.h, options_.size.w, options_.channels};
  }

  Tensor known_labels() const override { return labels_; }

  Batch read(std::span<const int64_t> indices) const override {
    const auto count = static_cast<int64_t>(indices.size());
    Batch batch;
    batch.inputs = Tensor(
        Shape{count, options_.size.h, options_.size.w, options_.channels});
    batch.labels = Tensor(Shape{count}, DType::i64);
    parallel_for(count, [&](int64_t i) {
      const int64_t index = indices[static_cast<size_t>(i)];
      const Tensor input = preprocess_input(image(index), options_.preprocess);
      Tensor row = batch.inputs.slice(i, 1);  // shares the memory
      std::ranges::copy(std::as_const(input).f32(), row.f32().begin());
      batch.labels.data<int64_t>()[static_cast<size_t>(i)] =
          files_[static_cast<size_t>(index)].label;
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
        read_resized(files_[static_cast<size_t>(index)].path, options_);
    const std::lock_guard lock(mutex_);
    if (kept.empty() && fresh.bytes() <= cache_left_) {
      cache_left_ -= fresh.bytes();
      kept = fresh;
    }
    return fresh;
  }

  std::vector<ImageFile> files_;
  ImageFolderOptions options_;
  Tensor labels_;
  mutable std::mutex mutex_;
  mutable std::vector<Tensor> cache_;  // of those that are kept
  mutable int64_t cache_left_;         // bytes
};

/// The entries of a folder that are not hidden, sorted by name.
std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (!it->path().filename().string().starts_with('.')) {
      entries.push_back(*it);
    }
  }
  if (error) {
    throw IoError(fmt::format("{}: cannot read the folder: {}", folder.string(),
                              error.message()));
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.path().native() < b.path().native();
  });
  return entries;
}

bool is_image_name(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

/// Whether an entry is to be read: a file, or a link to one that is missing,
/// which is an error that its reader names. To open a pipe would wait for ever.
bool is_image_file(const fs::directory_entry& entry) {
  std::error_code ignored;
  return is_image_name(entry.path()) &&
         (entry.is_regular_file(ignored) || !entry.exists(ignored));
}

void check_options(const fs::path& folder, const ImageFolderOptions& options) {
  if (folder.empty()) {
    throw IoError("image folder: expected a path, got an empty one");
  }
  const auto& [h, w] = options.size;
  if (h < 1 || w < 1 || h > kLargestImageSide || w > kLargestImageSide) {
    throw ValueError(
        fmt::format("image folder: expected a size of 1 to {}, got {}x{}",
                    kLargestImageSide, h, w));
  }
  if (options.channels != 1 && options.channels != 3 && options.channels != 4) {
    throw ValueError(fmt::format(
        "image folder: expected channels 1, 3 or 4, got {}", options.channels));
  }
  if (options.cache_bytes < 0) {
    throw ValueError(
        fmt::format("image folder: expected cache_bytes >= 0, got {}",
                    options.cache_bytes));
  }
  // Refuses what does not go with these channels.
  (void)preprocess_input(Tensor::zeros({1, options.channels}),
                         options.preprocess);
}

/// A folder's entries, by what load_image_folder() makes of them.
struct Contents {
  std::vector<fs::path> folders;
  std::vector<fs::path> images;
  std::vector<fs::path> others;
};

Contents contents_of(const fs::path& folder) {
  Contents contents;
  for (const fs::directory_entry& entry : entries_of(folder)) {
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
          : fmt::format("others alone ({}). Hint: convert images to PNG",
                        names_text(contents.others))));
}

[[noreturn]] void refuse_without_classes(const fs::path& folder,
                                         const Contents& contents) {
  if (contents.images.empty()) {
    throw FormatError(fmt::format(
        "{}: expected a sub-folder of images for each class, got none",
        folder.string()));
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
  std::vector<ImageFile> files;
  int64_t others = 0;
};

/// Warns of images and folders that stand where none is looked for.
void warn_of_stray(const fs::path& folder, std::string_view what,
                   const std::vector<fs::path>& paths, std::string_view cure) {
  if (paths.empty()) return;
  warn(fmt::format("{}: left out {} ({}). Hint: {}", folder.string(), what,
                   names_text(paths), cure));
}

Listing list_files(const fs::path& folder) {
  Listing listing;
  const Contents root = contents_of(folder);
  if (root.folders.empty()) refuse_without_classes(folder, root);
  warn_of_stray(folder, "images beside the folders of the classes", root.images,
                "move each into the folder of its class");
  listing.others = std::ssize(root.others);
  for (const fs::path& inner : root.folders) {
    const Contents contents = contents_of(inner);
    if (contents.images.empty()) refuse_class(inner, contents);
    warn_of_stray(inner, "sub-folders of a class", contents.folders,
                  "move their images up, or load this folder if they are the "
                  "classes");
    const auto label = static_cast<int64_t>(listing.classes.size());
    listing.classes.push_back(inner.filename().string());
    for (const fs::path& file : contents.images) {
      listing.files.push_back({file, label});
    }
    listing.others += std::ssize(contents.others);
  }
  return listing;
}

/// Takes the files that cannot be decoded out of the listing. Returns what is
/// wrong with each.
std::vector<std::string> skip_corrupt(const fs::path& folder, Listing& listing,
                                      const ImageFolderOptions& options) {
  std::vector<std::string> problems(listing.files.size());
  parallel_for(std::ssize(listing.files), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    try {
      (void)read_image(listing.files[at].path, options.channels);
    } catch (const FormatError& error) {
      problems[at] = error.message();
    } catch (const IoError& error) {
      problems[at] = error.message();
    }
  });
  std::vector<ImageFile> sound;
  std::vector<std::string> skipped;
  std::vector<int64_t> images(listing.classes.size());
  for (size_t i = 0; i < problems.size(); ++i) {
    const ImageFile& file = listing.files[i];
    if (problems[i].empty()) {
      sound.push_back(file);
      ++images[static_cast<size_t>(file.label)];
    } else {
      skipped.push_back(fmt::format("{}: {}", file.path.string(), problems[i]));
    }
  }
  for (size_t i = 0; i < images.size(); ++i) {
    if (images[i] > 0) continue;
    throw FormatError(
        fmt::format("{}: expected sound images of class '{}', got none",
                    folder.string(), listing.classes[i]));
  }
  if (!skipped.empty()) {
    warn(fmt::format(
        "{}: skipped {} of {} files that are no sound images, the "
        "first: {}",
        folder.string(), skipped.size(), problems.size(), skipped[0]));
  }
  listing.files = std::move(sound);
  return skipped;
}

}  // namespace

ImageFolder load_image_folder(const fs::path& folder,
                              const ImageFolderOptions& options) {
  check_options(folder, options);
  std::error_code ignored;
  if (fs::is_regular_file(folder, ignored)) {
    throw IoError(fmt::format(
        "{}: expected a folder with a sub-folder of images for each class, got "
        "{}",
        folder.string(), describe_file(folder)));
  }
  Listing listing = list_files(folder);
  if (listing.others > 0) {
    warn(fmt::format(
        "{}: left out {} entries that are no .png, .jpg or .jpeg files of a "
        "class",
        folder.string(), listing.others));
  }
  std::vector<std::string> skipped;
  if (options.corrupt == CorruptFiles::skip) {
    skipped = skip_corrupt(folder, listing, options);
  }
  const Dataset data(
      std::make_shared<FileSource>(std::move(listing.files), options));
  return {options.shuffle ? data.shuffled(options.seed) : data,
          std::move(listing.classes), std::move(skipped)};
}

}  // namespace octet::io
