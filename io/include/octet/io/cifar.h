// CIFAR-10 and CIFAR-100 in their binary version: 50,000 training and 10,000
// test images, 32x32 RGB.
//
// Format: records without a header; a record is its labels (CIFAR-10: one byte;
// CIFAR-100: coarse, then fine) and 3072 bytes, the red, green and blue planes
// in row-major order.
// Source: A. Krizhevsky, https://www.cs.toronto.edu/~kriz/cifar.html,
// "Binary version".
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string_view>

#include <octet/io/train_test.h>
#include <octet/runtime/dataset.h>

namespace octet::io {

inline constexpr std::array<std::string_view, 10> kCifar10Classes = {
    "airplane", "automobile", "bird",  "cat",  "deer",
    "dog",      "frog",       "horse", "ship", "truck"};

/// Label of a CIFAR-100 image: 100 classes (fine) or 20 superclasses (coarse).
enum class Cifar100Labels { fine, coarse };

/// Reads data_batch_1.bin to data_batch_5.bin and test_batch.bin, in `folder`
/// or in its subfolder cifar-10-batches-bin. Inputs are f32 [n,32,32,3] in
/// [0,1], labels i64 in [0,9].
/// Throws: IoError if a file is missing; FormatError if its size is not a
/// multiple of the record size or a label is out of range.
TrainTest load_cifar10(const std::filesystem::path& folder);

/// Reads train.bin and test.bin, in `folder` or in its subfolder
/// cifar-100-binary. Labels are in [0,99] (fine) or [0,19] (coarse).
/// Throws: as load_cifar10().
TrainTest load_cifar100(const std::filesystem::path& folder,
                        Cifar100Labels labels = Cifar100Labels::fine);

/// Reads one file or the concatenation of several.
/// Throws: as load_cifar10(); ValueError for an empty list.
Dataset read_cifar10(const std::filesystem::path& file);
Dataset read_cifar10(std::span<const std::filesystem::path> files);
Dataset read_cifar100(const std::filesystem::path& file,
                      Cifar100Labels labels = Cifar100Labels::fine);
Dataset read_cifar100(std::span<const std::filesystem::path> files,
                      Cifar100Labels labels = Cifar100Labels::fine);

}  // namespace octet::io
