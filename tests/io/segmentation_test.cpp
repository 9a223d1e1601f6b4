#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "../facts.h"
#include "idx_files.h"
#include "image_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

class Segmentation : public ::testing::Test {
 protected:
  std::filesystem::path put_file(const std::string& name,
                                 const std::string& contents) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    put(folder_ / name, contents);
    return folder_ / name;
  }
  /// Returns a gray image, by default of two rows of three pixels.
  std::filesystem::path put_grey(const std::string& name,
                                 const std::vector<uint8_t>& pixels,
                                 uint32_t width = 3) {
    return put_file(
        name,
        png_bytes({.width = width,
                   .height = static_cast<uint32_t>(pixels.size()) / width},
                  pixels));
  }

  TempFolder folder_;
  WarningCapture warnings_;
};

std::vector<int64_t> numbers_of(const Tensor& mask) {
  const auto values = mask.data<uint8_t>();
  return {values.begin(), values.end()};
}

std::vector<int64_t> labels_of_first(const ImageFiles& files) {
  const Batch batch = files.data.batch(0, 1);
  const auto values = batch.label().data<int64_t>();
  return {values.begin(), values.end()};
}

SegmentationOptions sized(Size2 size, ImageFit fit = ImageFit::stretch) {
  return {.images = {.size = size,
                     .resize = {.fit = fit},
                     .channels = 1,
                     .preprocess = {.scale = {1}},
                     .shuffle = false}};
}

TEST_F(Segmentation, ReadsTheNumbersOfMasks) {
  const auto palette =
      put_file("palette.png",
               png_bytes({.width = 2,
                          .height = 1,
                          .color = PNG_COLOR_TYPE_PALETTE,
                          .palette = {{0, 0, 0}, {128, 0, 0}, {0, 128, 0}}},
                         {2, 1}));
  EXPECT_THAT(numbers_of(read_mask(palette)), ElementsAre(2, 1));
  EXPECT_EQ(read_mask(palette).shape(), (Shape{1, 2}));
  // Two bits per pixel: 3, 0, 2, 1, 1 in two bytes.
  const auto bits =
      put_file("bits.png",
               png_bytes({.width = 5, .height = 1, .bits = 2}, {0xc9, 0x40}));
  EXPECT_THAT(numbers_of(read_mask(bits)), ElementsAre(3, 0, 2, 1, 1));
  // As an image, the same is gray from 0 to 255.
  EXPECT_THAT(numbers_of(read_image(bits)), ElementsAre(255, 0, 170, 85, 85));
}

TEST_F(Segmentation, RejectsInvalidMasks) {
  const auto color =
      put_file("a.png", png_bytes({.color = PNG_COLOR_TYPE_RGB}, {1, 2, 3}));
  EXPECT_EQ(failure_of<FormatError>([&] { (void)read_mask(color); }),
            (Failure{"unsupported_type", "mask"}));
  const auto alpha = put_file(
      "b.png", png_bytes({.color = PNG_COLOR_TYPE_GRAY_ALPHA}, {1, 2}));
  EXPECT_EQ(failure_of<FormatError>([&] { (void)read_mask(alpha); }),
            (Failure{"unsupported_type", "mask"}));
  const auto deep = put_file("c.png", png_bytes({.bits = 16}, {0, 1}));
  EXPECT_EQ(failure_of<FormatError>([&] { (void)read_mask(deep); }),
            (Failure{"unsupported_type", "mask"}));
  const auto jpeg =
      put_file("d.png", jpeg_bytes(8, 8, 1, std::vector<uint8_t>(64, 0)));
  EXPECT_EQ(failure_of<FormatError>([&] { (void)read_mask(jpeg); }),
            (Failure{"unsupported_format", "mask"}));
  EXPECT_THROW((void)read_mask(folder_ / "e.png"), IoError);
}

TEST_F(Segmentation, PairsFoldersByName) {
  put_grey("images/b.png", {1, 2, 3, 4, 5, 6});
  put_file("images/a.jpg", jpeg_bytes(3, 2, 1, {9, 9, 9, 9, 9, 9}));
  put_grey("masks/b.png", {0, 1, 2, 0, 1, 255});
  put_grey("masks/a.png", {7, 7, 7, 7, 7, 7});
  put_grey("masks/c.png", {0, 0, 0});
  const ImageFiles files = load_segmentation_folders(
      folder_ / "images", folder_ / "masks", sized({2, 3}));
  EXPECT_EQ(files.data.size(), 2);
  EXPECT_EQ(files.data.label_shape(), (Shape{2, 3}));
  EXPECT_EQ(files.data.label_type(), DType::i64);
  EXPECT_THAT(labels_of_first(files), ElementsAre(7, 7, 7, 7, 7, 7));
  const Batch second = files.data.batch(1, 1);
  EXPECT_THAT(second.input().f32(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(second.label().data<int64_t>(), ElementsAre(0, 1, 2, 0, 1, 255));
  ASSERT_THAT(
      warnings_.messages,
      ElementsAre(Failure{"files_ignored", (folder_ / "masks").string()}));
  EXPECT_EQ(numbers_in(warnings_.messages[0].text()).at(0), 1);
}

TEST_F(Segmentation, PairsNamesWithASuffixInOneFolder) {
  put_grey("all/cat.png", {1, 2, 3});
  put_grey("all/cat_mask.png", {0, 1, 0});
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)load_segmentation_folders(folder_ / "all", folder_ / "all");
            }),
            (Failure{"conflicting_options", (folder_ / "all").string()}));
  SegmentationOptions options = sized({1, 3});
  options.mask_suffix = "_mask";
  const ImageFiles files =
      load_segmentation_folders(folder_ / "all", folder_ / "all", options);
  EXPECT_EQ(files.data.size(), 1);
  EXPECT_THAT(labels_of_first(files), ElementsAre(0, 1, 0));
}

TEST_F(Segmentation, CropsAndResizesAMaskLikeItsImage) {
  // The image shows ten times the class: both agree everywhere, except that a
  // resized image blends neighbors.
  const std::vector<uint8_t> classes = {0, 0, 1, 1, 2, 2, 3, 3,  //
                                        0, 0, 1, 1, 2, 2, 3, 3,  //
                                        4, 4, 5, 5, 6, 6, 7, 7,  //
                                        4, 4, 5, 5, 6, 6, 7, 7};
  std::vector<uint8_t> shown;
  for (const uint8_t each : classes) {
    shown.push_back(static_cast<uint8_t>(10 * each));
  }
  const auto image = put_grey("i.png", shown, 8);
  const auto mask = put_grey("m.png", classes, 8);
  for (const auto& [size, fit] : std::vector<std::pair<Size2, ImageFit>>{
           {{2, 4}, ImageFit::stretch}, {{2, 2}, ImageFit::crop}}) {
    const ImageFiles files =
        load_segmentation({image}, {mask}, sized(size, fit));
    const Batch batch = files.data.batch(0, 1);
    const auto pixels = batch.input().f32();
    const auto labels = batch.label().data<int64_t>();
    for (size_t i = 0; i < pixels.size(); ++i) {
      EXPECT_NEAR(pixels[i], static_cast<float>(10 * labels[i]), 9);
    }
  }
  // 4 to 3 and 8 to 5 positions: nearest to the centers.
  const Tensor odd = resize_mask(read_mask(mask), {3, 5});
  EXPECT_THAT(odd.data<uint8_t>(), ElementsAre(0, 1, 2, 2, 3,  //
                                               4, 5, 6, 6, 7,  //
                                               4, 5, 6, 6, 7));
}

TEST_F(Segmentation, MapsOtherNumbersToClasses) {
  const auto image = put_grey("i.png", {1, 2, 3});
  const auto mask = put_grey("m.png", {0, 255, 128});
  SegmentationOptions options = sized({1, 3});
  EXPECT_THAT(labels_of_first(load_segmentation({image}, {mask}, options)),
              ElementsAre(0, 255, 128));
  options.values = {0, 255};
  EXPECT_THAT(labels_of_first(load_segmentation({image}, {mask}, options)),
              ElementsAre(0, 1, 128));
  // A class number that no pixel may have.
  options.values = {255, 128};
  const ImageFiles wrong = load_segmentation({image}, {mask}, options);
  EXPECT_EQ(failure_of<FormatError>([&] { (void)wrong.data.batch(0, 1); }),
            (Failure{"invalid_value", (folder_ / "m.png").string()}));
  options.images.eager = true;
  EXPECT_THROW((void)load_segmentation({image}, {mask}, options), FormatError);
  options.values = {1, 1};
  EXPECT_THROW((void)load_segmentation({image}, {mask}, options), ValueError);
  options.values = {256};
  EXPECT_THROW((void)load_segmentation({image}, {mask}, options), ValueError);
}

TEST_F(Segmentation, RejectsMismatchedPairs) {
  const auto image = put_grey("images/i.png", {1, 2, 3});
  const auto other = put_grey("masks/i.png", {1, 2}, 2);
  const ImageFiles files = load_segmentation({image}, {other}, sized({1, 3}));
  EXPECT_EQ(failure_of<FormatError>([&] { (void)files.data.batch(0, 1); }),
            (Failure{"shape_mismatch", (folder_ / "masks/i.png").string()}));
  EXPECT_THROW((void)load_segmentation({image}, {}), ShapeError);
  EXPECT_THROW((void)load_segmentation({}, {}), ValueError);
  EXPECT_THROW(
      (void)load_segmentation_folders(folder_ / "none", folder_.path()),
      IoError);
  put_grey("images/j.png", {1, 2, 3});
  EXPECT_EQ(failure_of<FormatError>([&] {
              (void)load_segmentation_folders(folder_ / "images",
                                              folder_ / "masks");
            }),
            (Failure{"count_mismatch", (folder_ / "images").string()}));
}

TEST_F(Segmentation, SkipsPairsWithADamagedFile) {
  const auto good = put_grey("a.png", {1, 2, 3});
  const auto mask = put_grey("m.png", {0, 1, 2});
  const auto bad = put_file("b.png", "no image");
  SegmentationOptions options = sized({1, 3});
  options.images.corrupt = CorruptFiles::skip;
  const ImageFiles files =
      load_segmentation({good, bad, good}, {bad, mask, mask}, options);
  EXPECT_EQ(files.data.size(), 1);
  EXPECT_EQ(files.skipped.size(), 2u);
  EXPECT_THAT(labels_of_first(files), ElementsAre(0, 1, 2));
}

TEST_F(Segmentation, IsTheSameFromItsCache) {
  const auto image = put_grey("i.png", {1, 2, 3});
  const auto mask = put_grey("m.png", {2, 1, 0});
  SegmentationOptions options = sized({1, 3});
  options.images.cache_bytes = 6;
  const ImageFiles files = load_segmentation({image}, {mask}, options);
  EXPECT_THAT(labels_of_first(files), ElementsAre(2, 1, 0));
  std::filesystem::remove(image);
  std::filesystem::remove(mask);
  EXPECT_THAT(labels_of_first(files), ElementsAre(2, 1, 0));
}

}  // namespace
}  // namespace octet::io
