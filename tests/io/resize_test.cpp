// Resizing against Pillow and ONNX Runtime (tests/oracle).
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/image.h>
#include <octet/io/json.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

Tensor row_of(const std::vector<uint8_t>& values) {
  return Tensor::of<uint8_t>(Shape{1, static_cast<int64_t>(values.size()), 1},
                             values);
}

std::vector<int> image_bytes(const Tensor& image) {
  const auto bytes = image.data<uint8_t>();
  return {bytes.begin(), bytes.end()};
}

/// The image of make_resize_golden.py.
Tensor formula(const Shape& shape) {
  Tensor image(shape, DType::u8);
  uint8_t* to = image.data<uint8_t>().data();
  for (int64_t y = 0; y < shape[0]; ++y) {
    for (int64_t x = 0; x < shape[1]; ++x) {
      for (int64_t k = 0; k < shape[2]; ++k) {
        *to++ = static_cast<uint8_t>(37 * x + 101 * y + 59 * k + 13 * x * y);
      }
    }
  }
  return image;
}

TEST(ResizeImage, MatchesPillowAndOnnxRuntime) {
  const Config golden = from_json(
      read_file(std::string(OCTET_SOURCE_DIR) + "/tests/golden/resize.json"));
  const auto& cases = golden.at("cases").as_list();
  EXPECT_EQ(cases.size(), 29u);
  for (const Config& entry : cases) {
    const std::string mode = entry.at("mode").as_string();
    std::vector<int64_t> dims;
    for (const Config& dim : entry.at("image").as_list()) {
      dims.push_back(dim.as_int());
    }
    const auto& size = entry.at("size").as_list();
    const Tensor result =
        resize_image(formula(Shape(std::span<const int64_t>(dims))),
                     {size[0].as_int(), size[1].as_int()}, resize_mode(mode));
    // Pillow's pixels are bytes; the others are not rounded.
    const bool bytes = mode.starts_with("antialias") ||
                       mode.starts_with("bicubic") || mode == "nearest";
    const auto& expected = entry.at("values").as_list();
    ASSERT_EQ(result.size(), std::ssize(expected));
    double largest = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(result.data<uint8_t>()[i] -
                                           expected[i].as_number()));
    }
    EXPECT_LE(largest, bytes ? 0 : 0.501) << mode << " of " << dims[0];
  }
}

TEST(ResizeImage, AntialiasesOnlyIfTheFilterDoes) {
  // (3, 3, 1) / 7 at the left end and (1, 3, 3, 1) / 8 inside, against the mean
  // of the two nearest pixels.
  const Tensor image = row_of({70, 0, 140, 0, 80, 0});
  EXPECT_THAT(image_bytes(resize_image(image, {1, 3})),
              ElementsAre(50, 63, 34));
  EXPECT_THAT(image_bytes(resize_image(image, {1, 3}, resize_mode("bilinear"))),
              ElementsAre(35, 70, 40));
  EXPECT_THAT(image_bytes(resize_image(image, {1, 3}, resize_mode("nearest"))),
              ElementsAre(0, 0, 0));
  // Centers of the result at -0.25, 0.25, 0.75, 1.25 of the two pixels.
  for (const char* mode : {"bilinear", "antialias"}) {
    EXPECT_THAT(
        image_bytes(resize_image(row_of({0, 100}), {1, 4}, resize_mode(mode))),
        ElementsAre(0, 25, 75, 100));
  }
}

TEST(ResizeImage, KeepsAnImageOfTheSameSize) {
  const Tensor image = row_of({1, 2, 3});
  for (const char* mode :
       {"bilinear", "antialias", "bicubic", "keras-bicubic", "nearest",
        "bilinear crop aspect", "antialias crop 1", "bilinear pad 0"}) {
    EXPECT_THAT(image_bytes(resize_image(image, {1, 3}, resize_mode(mode))),
                ElementsAre(1, 2, 3))
        << mode;
  }
}

TEST(ResizeImage, CropsAndPadsWithoutStretching) {
  const Tensor wide = row_of({9, 1, 2, 9});
  EXPECT_THAT(image_bytes(resize_image(wide, {1, 2},
                                       resize_mode("bilinear crop aspect"))),
              ElementsAre(1, 2));
  EXPECT_THAT(
      image_bytes(resize_image(wide, {3, 4}, resize_mode("bilinear pad 7"))),
      ElementsAre(7, 7, 7, 7, 9, 1, 2, 9, 7, 7, 7, 7));
  // An extreme shape needs no more memory than its crop.
  Tensor line = Tensor::zeros({1, 30000, 1}, DType::u8);
  EXPECT_EQ(
      resize_image(line, {224, 224}, resize_mode("antialias crop 256")).shape(),
      Shape({224, 224, 1}));
}

TEST(ResizeImage, RejectsInvalidImages) {
  EXPECT_THROW(resize_image(Tensor::zeros({1, 1, 1}), {1, 1}), ValueError);
  EXPECT_THROW(resize_image(Tensor(), {1, 1}), ValueError);
  EXPECT_THROW(resize_image(Tensor::zeros({1, 1}, DType::u8), {1, 1}),
               ShapeError);
  EXPECT_THROW(resize_image(Tensor::zeros({0, 1, 1}, DType::u8), {1, 1}),
               ShapeError);
  EXPECT_THROW(resize_image(row_of({1}), {0, 1}), ValueError);
  EXPECT_THROW(
      resize_image(row_of({1}), {224, 224}, resize_mode("antialias crop 200")),
      ValueError);
  EXPECT_THROW(resize_mask(Tensor::zeros({2, 2}, DType::u8), {1, 1},
                           {.fit = ImageFit::pad}),
               ValueError);
}

TEST(ResizeMode, ParsesOutputOfToString) {
  for (const char* mode :
       {"bilinear", "antialias", "bicubic", "keras-bicubic", "nearest",
        "bilinear crop aspect", "antialias crop 256", "bicubic crop 0.875",
        "antialias crop 1", "bilinear pad 114", "nearest pad 0"}) {
    EXPECT_EQ(to_string(resize_mode(mode)), mode);
  }
}

TEST(ResizeMode, RejectsOtherText) {
  const auto message = [](const char* mode) {
    return failure_of<ValueError>([&] { (void)resize_mode(mode); });
  };
  EXPECT_EQ(message("bilinaer"), (Failure{"invalid_value", "resize filter"}));
  for (const char* mode :
       {"", "area", "bilinear crop", "bilinear crop 0", "bilinear crop -1",
        "bilinear crop 1.5", "bilinear crop nan", "bilinear crop 256 ",
        "bilinear pad 256", "bilinear pad -1", "bilinear pad x",
        "bilinear stretch"}) {
    EXPECT_TRUE(failed(message(mode))) << mode;
  }
}

}  // namespace
}  // namespace octet::io
