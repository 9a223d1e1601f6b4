// open_data() for folders of images.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/runtime/error.h>

#include "idx_files.h"
#include "image_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

class OpenImages : public ::testing::Test {
 protected:
  void put_image(const std::string& name) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    put(folder_ / name, png_bytes({}, {51}));
  }
  Failure refusal(const OpenDataOptions& options) const {
    return failure_of<Error>([&] { (void)open_data(folder_.path(), options); });
  }

  TempFolder folder_;
  const OpenDataOptions options_{.image = Shape{3, 2, 1}};
};

TEST_F(OpenImages, OpensAFolderPerClass) {
  put_image("dog/1.png");
  put_image("cat/1.png");
  const OpenedData opened = open_data(folder_.path(), options_);
  EXPECT_THAT(opened.classes, ElementsAre("cat", "dog"));
  EXPECT_EQ(opened.train.input_shape(), Shape({3, 2, 1}));
  EXPECT_FALSE(opened.test);
  const Batch first = opened.train.batch(0, 1);
  EXPECT_NEAR(first.input().f32()[0], 0.2, 1e-6);
}

TEST_F(OpenImages, OpensTwoPartsWithTheSameClasses) {
  for (const char* name :
       {"train/a/1.png", "train/b/1.png", "train/b/2.png", "val/a/1.png"}) {
    put_image(name);
  }
  EXPECT_EQ(refusal(options_),
            (Failure{"count_mismatch", (folder_ / "val").string()}));
  put_image("val/b/1.png");
  const OpenedData opened = open_data(folder_.path(), options_);
  EXPECT_EQ(opened.train.size(), 3);
  EXPECT_EQ(opened.test->size(), 2);
}

TEST_F(OpenImages, RejectsOneClassAndOtherChannels) {
  put_image("a/1.png");
  EXPECT_EQ(refusal(options_),
            (Failure{"malformed_file", folder_.path().string()}));
  put_image("b/1.png");
  EXPECT_EQ(refusal({}), (Failure{"invalid_shape", folder_.path().string()}));
  EXPECT_EQ(refusal({.image = Shape{4, 4, 2}}),
            (Failure{"invalid_shape", folder_.path().string()}));
}

TEST_F(OpenImages, PassesOnTheReadersErrorForImagesWithoutClasses) {
  put_image("1.png");
  EXPECT_EQ(refusal(options_),
            (Failure{"malformed_file", folder_.path().string()}));
}

TEST_F(OpenImages, OpensImagesOfAnyFoldersIfLabelsAreOptional) {
  OpenDataOptions options = options_;
  options.labels_optional = true;
  put_image("1.png");
  put_image("deep/er/2.PNG");
  const OpenedData any = open_data(folder_.path(), options);
  EXPECT_EQ(any.train.size(), 2);
  EXPECT_TRUE(any.train.label_specs().empty());
  EXPECT_TRUE(any.classes.empty());
  EXPECT_EQ(open_data(folder_ / "1.png", options).train.size(), 1);
  EXPECT_THROW((void)open_data(folder_ / "1.png", options_), Error);
}

TEST_F(OpenImages, OpensYoloLayouts) {
  OpenDataOptions options = options_;
  options.labels_optional = true;
  put_image("a/images/train/1.png");
  put_image("a/images/train/2.png");
  put_image("a/images/val/3.png");
  put_image("b/train/images/1.png");
  put_image("b/valid/images/2.png");
  put_image("c/images/1.png");
  for (const char* labels : {"a/labels/train", "b/train/labels", "c/labels"}) {
    std::filesystem::create_directories(folder_ / labels);
    put(folder_ / labels / "1.txt", "0 0.5 0.5 1 1");
  }
  const OpenedData a = open_data(folder_ / "a", options);
  EXPECT_EQ(a.train.size(), 2);
  EXPECT_EQ(a.test->size(), 1);
  const OpenedData b = open_data(folder_ / "b", options);
  EXPECT_EQ(b.train.size(), 1);
  EXPECT_EQ(b.test->size(), 1);
  EXPECT_EQ(open_data(folder_ / "c", options).train.size(), 1);
}

TEST_F(OpenImages, MapsFoldersToTheModelsClassNames) {
  put_image("cat/1.png");
  put_image("dog/1.png");
  put_image("dog/2.png");
  OpenDataOptions options = options_;
  options.class_names = {"dog", "emu", "cat"};
  const OpenedData opened = open_data(folder_.path(), options);
  EXPECT_EQ(opened.classes, options.class_names);
  EXPECT_THAT(opened.folders, ElementsAre("cat", "dog"));
  std::vector<int64_t> counts(3);
  const Tensor labels = opened.train.labels();
  for (const int64_t label : labels.data<int64_t>()) {
    ++counts[static_cast<size_t>(label)];
  }
  EXPECT_THAT(counts, ElementsAre(2, 0, 1));
  options.class_names = {"dog", "caT"};
  EXPECT_EQ(refusal(options), (Failure{"unknown_name", "class 'cat'"}));
  options.labels_optional = true;
  EXPECT_TRUE(open_data(folder_.path(), options).train.label_specs().empty());
  options.class_names = {"dog", "dog", "cat"};
  EXPECT_EQ(refusal(options), (Failure{"duplicate_name", "class_names"}));
}

TEST_F(OpenImages, NamesUnsupportedFormats) {
  OpenDataOptions options = options_;
  options.labels_optional = true;
  put(folder_ / "1.bmp", "BM");
  put(folder_ / "2.WebP", "RIFF");
  EXPECT_EQ(refusal(options),
            (Failure{"unsupported_format", folder_.path().string()}));
  std::filesystem::create_directories(folder_ / "cat");
  put(folder_ / "cat" / "3.tif", "II*");
  EXPECT_EQ(failure_of<FormatError>([&] { (void)list_images(folder_.path()); }),
            (Failure{"unsupported_format", folder_.path().string()}));
}

}  // namespace
}  // namespace octet::io
