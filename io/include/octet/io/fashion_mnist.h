// Fashion-MNIST: 60,000 training and 10,000 test images of clothing, 28x28
// grayscale, ten classes.
// Source: Xiao, Rasul and Vollgraf, arXiv 1708.07747.
#pragma once

#include <array>
#include <filesystem>
#include <string_view>

#include <octet/io/train_test.h>

namespace octet::io {

/// Install path of Debian's package dataset-fashion-mnist.
inline constexpr std::string_view kFashionMnistFolder =
    "/usr/share/datasets/fashion-mnist";

inline constexpr std::array<std::string_view, 10> kFashionMnistClasses = {
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};

/// Reads {train,t10k}-{images-idx3,labels-idx1}-ubyte.gz. Inputs are f32
/// [n,28,28,1] in [0,1], labels i64 in [0,9].
/// Throws: IoError, naming the package to install if the folder or a file is
/// missing; FormatError for damaged files, different numbers of images and
/// labels, images that are not 28x28, or labels above 9.
TrainTest fashion_mnist(
    const std::filesystem::path& folder = kFashionMnistFolder);

}  // namespace octet::io
