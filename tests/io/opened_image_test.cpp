// open_data on folders of images.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/open_data.h>
#include <octet/runtime/error.h>

#include "idx_files.h"
#include "image_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OpenImages : public ::testing::Test {
 protected:
  void put_image(const std::string& name) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    put(folder_ / name, png_bytes({}, {51}));
  }
  std::string refusal(const OpenOptions& options) const {
    try {
      (void)open_data(folder_.path(), options);
    } catch (const Error& error) {
      return error.message();
    }
    return "taken";
  }

  TempFolder folder_;
  const OpenOptions options_{.image = Shape{3, 2, 1}};
};

TEST_F(OpenImages, TakesAFolderForEachClass) {
  put_image("dog/1.png");
  put_image("cat/1.png");
  const OpenedData opened = open_data(folder_.path(), options_);
  EXPECT_THAT(opened.classes, ElementsAre("cat", "dog"));
  EXPECT_EQ(opened.train.input_shape(), Shape({3, 2, 1}));
  EXPECT_FALSE(opened.test);
  const Batch first = opened.train.batch(0, 1);
  EXPECT_NEAR(first.input().f32()[0], 0.2, 1e-6);
}

TEST_F(OpenImages, TakesTwoPartsOfTheSameClasses) {
  for (const char* name :
       {"train/a/1.png", "train/b/1.png", "train/b/2.png", "val/a/1.png"}) {
    put_image(name);
  }
  EXPECT_THAT(refusal(options_), AllOf(HasSubstr("expected the classes of"),
                                       HasSubstr("labels would be others")));
  put_image("val/b/1.png");
  const OpenedData opened = open_data(folder_.path(), options_);
  EXPECT_EQ(opened.train.size(), 3);
  EXPECT_EQ(opened.test->size(), 2);
}

TEST_F(OpenImages, RefusesOneClassAndOtherChannels) {
  put_image("a/1.png");
  EXPECT_THAT(refusal(options_), HasSubstr("at least two classes, got 'a'"));
  put_image("b/1.png");
  EXPECT_THAT(refusal({}), HasSubstr("got none"));
  EXPECT_THAT(refusal({.image = Shape{4, 4, 2}}), HasSubstr("channels"));
}

TEST_F(OpenImages, LeavesTheWordsOfTheReaderToImagesWithoutClasses) {
  put_image("1.png");
  EXPECT_THAT(refusal(options_), HasSubstr("images in the folder itself"));
}

}  // namespace
}  // namespace octet::io
