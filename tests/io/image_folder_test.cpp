#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "../facts.h"
#include "idx_files.h"
#include "image_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class LoadImageFolder : public ::testing::Test {
 protected:
  void put_file(const std::string& name, const std::string& contents) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    put(folder_ / name, contents);
  }
  void put_two_classes() {
    put_file("dog/b.PNG",
             png_bytes({.width = 2, .height = 2}, {255, 255, 255, 255}));
    put_file("cat/z.png", png_bytes({}, {51}));
    put_file("cat/a.png",
             png_bytes({.color = PNG_COLOR_TYPE_RGB}, {0, 102, 255}));
    put_file("dog/a.jpeg", jpeg_bytes(8, 8, 1, std::vector<uint8_t>(64, 0)));
  }

  /// The warning about files that are not loaded.
  Failure ignored() const { return {"files_ignored", folder_.path().string()}; }

  TempFolder folder_;
  WarningCapture warnings_;
};

TEST_F(LoadImageFolder, UsesSubfoldersAsClassesAndSortsByName) {
  put_two_classes();
  for (const bool eager : {false, true}) {
    const ImageFolder images = load_image_folder(
        folder_.path(),
        {.size = {2, 3}, .channels = 3, .eager = eager, .shuffle = false});
    EXPECT_THAT(images.classes, ElementsAre("cat", "dog"));
    EXPECT_EQ(images.data.size(), 4);
    EXPECT_EQ(images.data.input_shape(), Shape({2, 3, 3}));
    const Batch batch = images.data.batch(0, 4);
    EXPECT_THAT(batch.label().data<int64_t>(), ElementsAre(0, 0, 1, 1));
    const auto x = batch.input().f32();
    const size_t image = 2 * 3 * 3;
    EXPECT_EQ(x[0], 0.0f);
    EXPECT_NEAR(x[1], 0.4, 1e-6);
    EXPECT_EQ(x[2], 1.0f);
    EXPECT_NEAR(x[image], 0.2, 1e-6);
    EXPECT_EQ(x[2 * image], 0.0f);
    EXPECT_EQ(x[3 * image], 1.0f);
  }
}

// Part of a folder sorted by class would have few classes.
TEST_F(LoadImageFolder, ShufflesByTheSeed) {
  for (const char* name : {"a", "b", "c"}) {
    for (int i = 0; i < 10; ++i) {
      put_file(fmt::format("{}/{}.png", name, i), png_bytes({}, {9}));
    }
  }
  const auto labels = [&](const ImageOptions& options) {
    const Dataset data = load_image_folder(folder_.path(), options).data;
    const Tensor known = data.labels();
    const auto values = known.data<int64_t>();
    // Predicted and actual properties are equal.
    const Batch all = data.batch(0, 30);
    EXPECT_THAT(all.label().data<int64_t>(),
                ::testing::ElementsAreArray(values));
    return std::vector<int64_t>(values.begin(), values.end());
  };
  const std::vector<int64_t> sorted = labels({.size = 1, .shuffle = false});
  EXPECT_TRUE(std::ranges::is_sorted(sorted));
  for (const bool eager : {false, true}) {
    const std::vector<int64_t> shuffled =
        labels({.size = 1, .eager = eager, .seed = 4});
    EXPECT_EQ(std::set(shuffled.begin(), shuffled.begin() + 10).size(), 3u);
    EXPECT_EQ(labels({.size = 1, .eager = eager, .seed = 4}), shuffled);
    EXPECT_NE(labels({.size = 1, .eager = eager, .seed = 5}), shuffled);
    EXPECT_TRUE(std::ranges::is_permutation(shuffled, sorted));
  }
}

TEST_F(LoadImageFolder, ReadsTheSameBitsEagerlyAndLazily) {
  put_file("a/1.png",
           png_bytes({.width = 9, .height = 5}, gradient_pixels(9, 5, 1)));
  put_file("b/1.jpg", jpeg_bytes(17, 13, 3, gradient_pixels(17, 13, 3)));
  const auto read = [&](bool eager) {
    return load_image_folder(folder_.path(),
                             {.size = {7, 6}, .channels = 3, .eager = eager})
        .data.batch(0, 2)
        .input();
  };
  EXPECT_THAT(values(read(false)),
              ::testing::ElementsAreArray(values(read(true))));
}

TEST_F(LoadImageFolder, ReadsSamplesInAnyOrder) {
  put_two_classes();
  const ImageFolder images = load_image_folder(
      folder_.path(), {.size = 1, .channels = 1, .shuffle = false});
  const std::vector<int64_t> indices = {3, 1, 3};
  const Batch batch = images.data.batch(indices);
  EXPECT_THAT(batch.label().data<int64_t>(), ElementsAre(1, 0, 1));
  EXPECT_EQ(batch.input().f32()[0], 1.0f);
  EXPECT_NEAR(batch.input().f32()[1], 0.2, 1e-6);
}

TEST_F(LoadImageFolder, SkipsOtherFilesWithAWarningAndHiddenFilesSilently) {
  put_two_classes();
  put_file("cat/.DS_Store", "x");
  put_file(".git/config", "x");
  const ImageOptions options{.size = {1, 1}};
  EXPECT_EQ(load_image_folder(folder_.path(), options).data.size(), 4);
  EXPECT_THAT(warnings_.messages, IsEmpty());
  put_file("cat/notes.txt", "x");
  put_file("readme.md", "x");
  EXPECT_EQ(load_image_folder(folder_.path(), options).data.size(), 4);
  ASSERT_THAT(warnings_.messages, ElementsAre(ignored()));
  EXPECT_THAT(numbers_in(warnings_.messages[0].text()), ElementsAre(2));
}

TEST_F(LoadImageFolder, SkipsPipesAndFollowsLinks) {
  put_two_classes();
  ASSERT_EQ(::mkfifo((folder_ / "cat/pipe.png").c_str(), 0600), 0);
  std::filesystem::create_symlink(folder_ / "cat/z.png",
                                  folder_ / "dog/link.png");
  const ImageOptions options{.size = {1, 1}, .eager = true};
  EXPECT_EQ(load_image_folder(folder_.path(), options).data.size(), 5);
  ASSERT_THAT(warnings_.messages, ElementsAre(ignored()));
  EXPECT_THAT(numbers_in(warnings_.messages[0].text()), ElementsAre(1));
  std::filesystem::create_symlink("loop.png", folder_ / "dog/loop.png");
  EXPECT_EQ(
      failure_of<IoError>([&] { load_image_folder(folder_.path(), options); }),
      (Failure{"cannot_read", (folder_ / "dog/loop.png").string()}));
}

TEST_F(LoadImageFolder, NamesTheUnreadableFile) {
  put_two_classes();
  put_file("cat/broken.png", png_bytes({}, {51}).substr(0, 40));
  EXPECT_EQ(
      failure_of<FormatError>([&] {
        load_image_folder(folder_.path(), {.size = {1, 1}, .eager = true});
      }),
      (Failure{"malformed_file", "PNG image"}));
  const ImageFolder images =
      load_image_folder(folder_.path(), {.size = 1, .shuffle = false});
  EXPECT_NO_THROW(images.data.batch(2, 3));
  EXPECT_EQ(failure_of<FormatError>([&] { images.data.batch(0, 5); }),
            (Failure{"malformed_file", "PNG image"}));
}

TEST_F(LoadImageFolder, RejectsNamesInOtherEncodings) {
  put_two_classes();
  put_file("sch\xF6n/a.png", png_bytes({}, {51}));
  EXPECT_EQ(
      failure_of<FormatError>([&] { (void)load_image_folder(folder_.path()); }),
      (Failure{"invalid_value", folder_.path().string()}));
}

TEST_F(LoadImageFolder, RejectsAFolderWithoutClasses) {
  EXPECT_EQ(failure_of<FormatError>([&] { load_image_folder(folder_.path()); }),
            (Failure{"malformed_file", folder_.path().string()}));
  put_file("loose.png", png_bytes({}, {1}));
  EXPECT_EQ(failure_of<FormatError>([&] { load_image_folder(folder_.path()); }),
            (Failure{"malformed_file", folder_.path().string()}));
}

TEST_F(LoadImageFolder, RejectsAClassWithoutImages) {
  put_two_classes();
  put_file("empty/notes.txt", "x");
  EXPECT_EQ(failure_of<FormatError>([&] { load_image_folder(folder_.path()); }),
            (Failure{"malformed_file", (folder_ / "empty").string()}));
  std::filesystem::remove(folder_ / "empty/notes.txt");
  EXPECT_EQ(failure_of<FormatError>([&] { load_image_folder(folder_.path()); }),
            (Failure{"malformed_file", (folder_ / "empty").string()}));
}

TEST_F(LoadImageFolder, OneLevelTooHighSuggestsTheRightFolder) {
  for (const char* file : {"train/cat/a.png", "train/dog/a.png",
                           "val/cat/a.png", "val/dog/a.png"}) {
    put_file(file, png_bytes({}, {1}));
  }
  EXPECT_EQ(failure_of<FormatError>([&] { load_image_folder(folder_.path()); }),
            (Failure{"malformed_file", (folder_ / "train").string()}));
  EXPECT_THAT(load_image_folder(folder_ / "train").classes,
              ElementsAre("cat", "dog"));
}

TEST_F(LoadImageFolder, OneLevelTooDeepSuggestsTheParent) {
  put_two_classes();
  for (const char* name : {"cat", "cat/"}) {
    EXPECT_EQ(
        failure_of<FormatError>([&] { load_image_folder(folder_ / name); }),
        (Failure{"malformed_file", (folder_ / name).string()}));
  }
}

TEST_F(LoadImageFolder, WarnsAboutMisplacedImages) {
  put_two_classes();
  put_file("loose.png", png_bytes({}, {1}));
  put_file("cat/more/b.png", png_bytes({}, {1}));
  const ImageOptions options{.size = {1, 1}};
  EXPECT_EQ(load_image_folder(folder_.path(), options).data.size(), 4);
  ASSERT_THAT(warnings_.messages,
              ElementsAre(ignored(), Failure{"files_ignored",
                                             (folder_ / "cat").string()}));
  EXPECT_THAT(quoted_names(warnings_.messages[0].text()),
              ElementsAre("loose.png"));
  EXPECT_THAT(quoted_names(warnings_.messages[1].text()), ElementsAre("more"));
}

TEST_F(LoadImageFolder, OfAFileNamesItsKind) {
  put_two_classes();
  EXPECT_EQ(
      failure_of<IoError>([&] { load_image_folder(folder_ / "cat/z.png"); }),
      (Failure{"unsupported_format", (folder_ / "cat/z.png").string()}));
}

TEST_F(LoadImageFolder, KnowsItsLabelsWithoutReadingImages) {
  put_two_classes();
  put_file("cat/broken.png", "no image");
  const ImageFolder images =
      load_image_folder(folder_.path(), {.shuffle = false});
  ASSERT_TRUE(images.data.labels_known());
  EXPECT_THAT(elements<int64_t>(images.data.labels()),
              ElementsAre(0, 0, 0, 1, 1));
}

TEST_F(LoadImageFolder, RejectsAMissingFolder) {
  EXPECT_EQ(failure_of<IoError>([&] { load_image_folder(folder_ / "none"); }),
            (Failure{"file_not_found", (folder_ / "none").string()}));
  EXPECT_THROW(load_image_folder(""), IoError);
}

TEST_F(LoadImageFolder, RejectsOptionsOutOfRange) {
  put_two_classes();
  EXPECT_THROW(load_image_folder(folder_.path(), {.size = {0, 1}}), ValueError);
  EXPECT_THROW(load_image_folder(folder_.path(), {.size = {1, 40000}}),
               ValueError);
  EXPECT_THROW(load_image_folder(folder_.path(), {.channels = 2}), ValueError);
}

/// A gray 5 x 8 image with pixels 6 (8 y + x).
std::string ramp_bytes() {
  std::vector<uint8_t> rows(40);
  for (size_t i = 0; i < 40; ++i) rows[i] = static_cast<uint8_t>(6 * i);
  return png_bytes({.width = 8, .height = 5}, rows);
}

// Expected: smart_resize of Keras 3.15 on the same image.
TEST_F(LoadImageFolder, CropsTheCenterOnRequest) {
  put_file("a/ramp.png", ramp_bytes());
  const auto pixels = [&](Size2 size) {
    const ImageFolder images = load_image_folder(
        folder_.path(), {.size = size,
                         .resize = {.fit = ImageFit::crop},
                         .channels = 1,
                         .preprocess = preprocess_mode("none")});
    return values(images.data.batch(0, 1).input());
  };
  EXPECT_EQ(
      pixels({5, 4}),
      (std::vector<float>{12,  18,  24,  30,  60,  66,  72,  78,  108, 114,
                          120, 126, 156, 162, 168, 174, 204, 210, 216, 222}));
  EXPECT_EQ(pixels({1, 8}),
            (std::vector<float>{96, 102, 108, 114, 120, 126, 132, 138}));
  EXPECT_EQ(pixels({5, 8})[39], 234);
  EXPECT_EQ(pixels({1, 40}).size(),
            40u);  // a crop of less than a pixel's height
}

TEST_F(LoadImageFolder, PreprocessesInputsForTheNetwork) {
  put_two_classes();
  for (const bool eager : {false, true}) {
    ImageOptions options{.size = 1, .eager = eager, .shuffle = false};
    const Tensor unit =
        load_image_folder(folder_.path(), options).data.batch(0, 1).input();
    EXPECT_EQ(values(unit), (std::vector<float>{0, 102 * (1 / 255.0f), 1}));
    options.preprocess = preprocess_mode("caffe");
    const Tensor caffe =
        load_image_folder(folder_.path(), options).data.batch(0, 1).input();
    EXPECT_EQ(values(caffe),
              (std::vector<float>{255 - 103.939f, 102 - 116.779f, -123.68f}));
    options.channels = 1;
    EXPECT_THROW(load_image_folder(folder_.path(), options), ValueError);
  }
}

TEST_F(LoadImageFolder, SkipsAndListsCorruptFilesOnRequest) {
  put_two_classes();
  put_file("cat/broken.png", "no image");
  put_file("dog/short.png", ramp_bytes().substr(0, 60));
  ImageOptions options{.size = 2};
  EXPECT_THROW(
      (void)load_image_folder(folder_.path(), options).data.batch(0, 6),
      FormatError);
  options.corrupt = CorruptFiles::skip;
  const ImageFolder images = load_image_folder(folder_.path(), options);
  EXPECT_EQ(images.data.size(), 4);
  EXPECT_EQ(images.data.batch(0, 4).input().shape(), Shape({4, 2, 2, 3}));
  ASSERT_EQ(images.skipped.size(), 2u);
  EXPECT_THAT(images.skipped[0],
              StartsWith((folder_ / "cat/broken.png").string() + ": "));
  EXPECT_THAT(images.skipped[1],
              StartsWith((folder_ / "dog/short.png").string() + ": "));
  ASSERT_THAT(warnings_.messages,
              ElementsAre(Failure{"invalid_images", folder_.path().string()}));
  const std::vector<double> counts = numbers_in(warnings_.messages[0].text());
  EXPECT_EQ(counts.at(0), 2);
  EXPECT_EQ(counts.at(1), 6);
  put_file("empty/broken.png", "no image");
  EXPECT_EQ(failure_of<FormatError>(
                [&] { load_image_folder(folder_.path(), options); }),
            (Failure{"malformed_file", folder_.path().string()}));
}

TEST_F(LoadImageFolder, ReadsCachedFilesOnce) {
  put_two_classes();
  const auto read = [&](int64_t cache_bytes) {
    const ImageFolder images = load_image_folder(
        folder_.path(),
        {.size = 2, .cache_bytes = cache_bytes, .shuffle = false});
    const std::vector<float> first = values(images.data.batch(0, 2).input());
    std::filesystem::rename(folder_ / "cat/a.png", folder_ / "cat/gone");
    std::vector<float> second;
    try {
      second = values(images.data.batch(0, 2).input());
    } catch (const IoError&) {
      // The image was not cached.
    }
    std::filesystem::rename(folder_ / "cat/gone", folder_ / "cat/a.png");
    return first == second;
  };
  EXPECT_FALSE(read(0));
  EXPECT_FALSE(read(11));  // 2 x 2 x 3 bytes per image
  EXPECT_TRUE(read(2 * 12));
  EXPECT_THROW(load_image_folder(folder_.path(), {.cache_bytes = -1}),
               ValueError);
}

}  // namespace
}  // namespace octet::io
