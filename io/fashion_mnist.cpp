#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSide = 28;
constexpr float kInputScale = 1.0f / 255.0f;
constexpr std::string_view kCure =
    "Hint: install the data with 'apt-get install dataset-fashion-mnist' or "
    "name its folder";

/// Throws: IoError if `path` cannot be accessed; the hint is for missing data.
void check_there(const fs::path& path, std::string_view kind) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    throw IoError("file_not_found", path.string(),
                  fmt::format("{} not found. {}", kind, kCure));
  }
  if (error) {
    throw IoError("cannot_read", path.string(),
                  fmt::format("cannot open the {}: {}", kind, error.message()));
  }
}

Tensor read_images(const fs::path& path) {
  const Tensor images = read_idx(path);
  const Shape& shape = images.shape();
  if (shape.rank() != 3 || shape[1] != kSide || shape[2] != kSide) {
    throw FormatError("invalid_shape", path.string(),
                      fmt::format("images must have shape [N,28,28], got {}",
                                  shape.to_string()));
  }
  if (shape[0] == 0) {
    throw FormatError("missing_value", path.string(), "no images");
  }
  return images.reshaped({shape[0], kSide, kSide, 1});
}

Tensor read_labels(const fs::path& path) {
  constexpr int kClasses = static_cast<int>(kFashionMnistClasses.size());
  const Tensor bytes = read_idx(path);
  if (bytes.shape().rank() != 1) {
    throw FormatError("invalid_shape", path.string(),
                      fmt::format("labels must have shape [N], got {}",
                                  bytes.shape().to_string()));
  }
  const auto codes = bytes.data<uint8_t>();
  const auto bad = std::find_if(codes.begin(), codes.end(),
                                [](uint8_t c) { return c >= kClasses; });
  if (bad != codes.end()) {
    throw FormatError("out_of_range", path.string(),
                      fmt::format("labels must be 0 to {}, got {} at index {}",
                                  kClasses - 1, *bad, bad - codes.begin()));
  }
  Tensor labels(bytes.shape(), DType::i64);
  std::copy(codes.begin(), codes.end(), labels.data<int64_t>().begin());
  return labels;
}

Dataset read_part(const fs::path& folder, std::string_view part) {
  const auto file = [&](std::string_view kind) {
    const fs::path path = folder / fmt::format("{}-{}-ubyte.gz", part, kind);
    check_there(path, "file");
    return path;
  };
  const fs::path image_path = file("images-idx3");
  const fs::path label_path = file("labels-idx1");
  const Tensor images = read_images(image_path);
  const Tensor labels = read_labels(label_path);
  if (images.shape()[0] != labels.size()) {
    throw FormatError(
        "count_mismatch", label_path.string(),
        fmt::format(
            "number of labels must be that of the images in {}, {}, got {}",
            image_path.filename().string(), images.shape()[0], labels.size()));
  }
  return Dataset(images, labels, kInputScale);
}

}  // namespace

TrainTest fashion_mnist(const fs::path& folder) {
  return with_context(
      [] { return std::string("while reading Fashion-MNIST"); },
      [&] {
        if (folder.empty()) {
          throw IoError("missing_value", "folder", "path must not be empty");
        }
        check_there(folder, "folder");
        return TrainTest{read_part(folder, "train"), read_part(folder, "t10k")};
      });
}

}  // namespace octet::io
