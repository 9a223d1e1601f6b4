// Images with separate labels.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "../facts.h"
#include "idx_files.h"
#include "image_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

/// Images of one gray pixel: file i has value 10 * i.
class LoadImages : public ::testing::Test {
 protected:
  LoadImages() {
    for (uint8_t i = 0; i < 6; ++i) {
      files_.push_back(folder_ / ("image" + std::to_string(i) + ".png"));
      put(files_.back(), png_bytes({}, {static_cast<uint8_t>(10 * i)}));
    }
  }

  static std::vector<float> greys(const Dataset& data) {
    std::vector<float> all;
    const Batch batch = data.batch(0, data.size());
    for (const float x : batch.input().f32()) all.push_back(x * 255);
    return all;
  }

  TempFolder folder_;
  std::vector<std::filesystem::path> files_;
  WarningCapture warnings_;
  ImageOptions options_{.size = 1, .channels = 1, .shuffle = false};
};

TEST_F(LoadImages, HasTargetsOfATable) {
  put(folder_ / "angles.csv",
      "file,angle,speed\nimage4.png,0.5,1\nimage1.png,-2,3\n");
  const CsvTable table = load_csv(folder_ / "angles.csv");
  std::vector<std::filesystem::path> files;
  for (const std::string& name : table.texts("file")) {
    files.push_back(folder_ / name);
  }
  const ImageFiles images =
      load_images(files, table.numbers({"angle", "speed"}), options_);
  EXPECT_EQ(images.data.label_shape(), Shape{2});
  const Batch batch = images.data.batch(0, 2);
  EXPECT_THAT(values(batch.label()), ElementsAre(0.5f, 1, -2, 3));
  EXPECT_NEAR(greys(images.data)[0], 40, 1e-4);
  EXPECT_NEAR(greys(images.data)[1], 10, 1e-4);
}

TEST_F(LoadImages, KeepsLabelsWithTheirImages) {
  const Tensor labels = Tensor::of<int64_t>({6}, {0, 1, 2, 3, 4, 5});
  options_.shuffle = true;
  options_.seed = 3;
  const Dataset data = load_images(files_, labels, options_).data;
  ASSERT_TRUE(data.labels_known());
  const std::vector<int64_t> order = elements<int64_t>(data.labels());
  EXPECT_THAT(order, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_NE(order, elements<int64_t>(labels));
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(greys(data)[i], static_cast<float>(10 * order[i]), 1e-4);
  }
}

TEST_F(LoadImages, SkipsLabelsOfCorruptImages) {
  put(files_[1], "no image");
  const Tensor labels = Tensor::of<float>({6, 1}, {0, 1, 2, 3, 4, 5});
  options_.corrupt = CorruptFiles::skip;
  const ImageFiles images = load_images(files_, labels, options_);
  EXPECT_THAT(images.skipped,
              ElementsAre(StartsWith(files_[1].string() + ": ")));
  ASSERT_THAT(warnings_.messages,
              ElementsAre(Failure{"invalid_images", "load_images"}));
  const std::vector<double> counts = numbers_in(warnings_.messages[0].text());
  EXPECT_EQ(counts.at(0), 1);
  EXPECT_EQ(counts.at(1), 6);
  const Batch batch = images.data.batch(0, 5);
  EXPECT_THAT(values(batch.label()), ElementsAre(0, 2, 3, 4, 5));
  for (const auto& file : files_) put(file, "no image");
  EXPECT_THROW((void)load_images(files_, labels, options_), FormatError);
}

TEST_F(LoadImages, RejectsLabelsThatDoNotFit) {
  EXPECT_THROW((void)load_images(files_, Tensor::zeros({5, 1})), ShapeError);
  EXPECT_THROW((void)load_images(files_, Tensor::zeros({})), ShapeError);
  EXPECT_THROW((void)load_images(files_, Tensor::zeros({6, 1}, DType::i64)),
               ShapeError);
  EXPECT_THROW((void)load_images(files_, Tensor::zeros({6}, DType::u8)),
               ValueError);
  EXPECT_THROW((void)load_images(files_, Tensor()), ValueError);
  EXPECT_THROW((void)load_images({}, Tensor::zeros({0})), ValueError);
  EXPECT_THROW((void)load_images(files_, Tensor::zeros({6}), {.channels = 2}),
               ValueError);
}

TEST_F(LoadImages, NamesAMissingFile) {
  files_[3] = folder_ / "gone.png";
  const Dataset data = load_images(files_, Tensor::zeros({6}), options_).data;
  EXPECT_EQ(failure_of<IoError>([&] { (void)data.batch(0, 6); }),
            (Failure{"file_not_found", (folder_ / "gone.png").string()}));
}

TEST_F(LoadImages, CopiesTheLabels) {
  Tensor labels = Tensor::zeros({6});
  const Dataset data = load_images(files_, labels, options_).data;
  labels.f32()[0] = 7;
  EXPECT_EQ(values(data.labels())[0], 0);
}

}  // namespace
}  // namespace octet::io
