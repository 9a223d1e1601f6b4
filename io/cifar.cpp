#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/runtime/error.h>

#include "file_kind.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCifarSide = 32;
constexpr int64_t kPlane = kCifarSide * kCifarSide;
constexpr int64_t kChannels = 3;
constexpr int64_t kPixels = kPlane * kChannels;
constexpr float kCifarScale = 1.0f / 255.0f;

struct LabelByte {
  std::string_view name;
  int classes;
};

/// Label bytes before the pixels; `labels[byte]` is the one in use.
struct Layout {
  std::string_view name;
  std::vector<LabelByte> labels;
  size_t wanted;

  int64_t record() const {
    return static_cast<int64_t>(labels.size()) + kPixels;
  }
};

Layout cifar10_layout() { return {"CIFAR-10", {{"label", 10}}, 0}; }

Layout cifar100_layout(Cifar100Labels labels) {
  return {"CIFAR-100",
          {{"coarse label", 20}, {"fine label", 100}},
          labels == Cifar100Labels::coarse ? size_t{0} : size_t{1}};
}

/// Shapes: planes [3,32,32], image [32,32,3].
void interleave(const uint8_t* planes, uint8_t* image) {
  for (int64_t i = 0; i < kPlane; ++i) {
    for (int64_t c = 0; c < kChannels; ++c) {
      image[i * kChannels + c] = planes[c * kPlane + i];
    }
  }
}

int64_t check_label(const Layout& layout, size_t byte, uint8_t value,
                    int64_t record) {
  const auto& [name, classes] = layout.labels[byte];
  if (value >= classes) {
    throw FormatError("out_of_range", name,
                      fmt::format("must be 0 to {}, got {} in record {}. Hint: "
                                  "the file is damaged or not {}",
                                  classes - 1, value, record, layout.name));
  }
  return value;
}

/// The images and labels of one file.
struct LabeledImages {
  std::vector<uint8_t> images;
  std::vector<int64_t> labels;
};

void append_file(const fs::path& path, const Layout& layout,
                 LabeledImages& part) {
  const std::string expected =
      fmt::format("records of {}'s binary version", layout.name);
  const std::string bytes = read_file_as(expected, path);
  with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        const auto size = static_cast<int64_t>(bytes.size());
        const int64_t record = layout.record();
        if (size == 0 || size % record != 0) {
          refuse_other_kind(expected, bytes);
          throw FormatError(
              "malformed_file", layout.name,
              fmt::format(
                  "expected one or more records of {} bytes, got {} bytes",
                  record, size));
        }
        const int64_t count = size / record;
        const size_t first = part.labels.size();
        part.images.resize((first + static_cast<size_t>(count)) *
                           size_t{kPixels});
        const auto* from = reinterpret_cast<const uint8_t*>(bytes.data());
        uint8_t* to = part.images.data() + first * size_t{kPixels};
        for (int64_t i = 0; i < count; ++i, from += record, to += kPixels) {
          int64_t wanted = 0;
          for (size_t byte = 0; byte < layout.labels.size(); ++byte) {
            const int64_t label = check_label(layout, byte, from[byte], i);
            if (byte == layout.wanted) wanted = label;
          }
          part.labels.push_back(wanted);
          interleave(from + layout.labels.size(), to);
        }
      });
}

Dataset read_files(std::span<const fs::path> files, const Layout& layout) {
  if (files.empty()) {
    throw ValueError("missing_value", layout.name, "no files given");
  }
  LabeledImages part;
  for (const fs::path& file : files) append_file(file, layout, part);
  const auto count = static_cast<int64_t>(part.labels.size());
  return Dataset(
      Tensor::of<uint8_t>(Shape{count, kCifarSide, kCifarSide, kChannels},
                          part.images),
      Tensor::of<int64_t>(Shape{count}, part.labels), kCifarScale);
}

/// Accepts the folder of the unpacked archive or its parent.
fs::path data_folder(const fs::path& folder, std::string_view inner) {
  if (folder.empty()) {
    throw IoError("missing_value", "folder", "path must not be empty");
  }
  std::error_code error;
  if (fs::is_directory(folder / inner, error)) return folder / inner;
  if (!fs::is_directory(folder, error)) {
    throw IoError(
        "file_not_found", folder.string(),
        fmt::format("{}. Hint: unpack the archive of the binary version and "
                    "name its folder",
                    fs::exists(folder, error) ? "is a file, not a folder"
                                              : "folder not found"));
  }
  return folder;
}

}  // namespace

TrainTest load_cifar10(const fs::path& folder) {
  return with_context(
      [] { return std::string("while reading CIFAR-10"); },
      [&] {
        const fs::path inner = data_folder(folder, "cifar-10-batches-bin");
        std::vector<fs::path> files;
        for (int i = 1; i <= 5; ++i) {
          files.push_back(inner / fmt::format("data_batch_{}.bin", i));
        }
        return TrainTest{read_cifar10(files),
                         read_cifar10(inner / "test_batch.bin")};
      });
}

TrainTest load_cifar100(const fs::path& folder, Cifar100Labels labels) {
  return with_context(
      [] { return std::string("while reading CIFAR-100"); },
      [&] {
        const fs::path inner = data_folder(folder, "cifar-100-binary");
        return TrainTest{read_cifar100(inner / "train.bin", labels),
                         read_cifar100(inner / "test.bin", labels)};
      });
}

Dataset read_cifar10(std::span<const fs::path> files) {
  return read_files(files, cifar10_layout());
}

Dataset read_cifar10(const fs::path& file) { return read_cifar10({&file, 1}); }

Dataset read_cifar100(std::span<const fs::path> files, Cifar100Labels labels) {
  return read_files(files, cifar100_layout(labels));
}

Dataset read_cifar100(const fs::path& file, Cifar100Labels labels) {
  return read_cifar100({&file, 1}, labels);
}

}  // namespace octet::io
