#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/runtime/error.h>

#include "idx_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

template <class T>
std::vector<T> numbers(const Tensor& tensor) {
  const auto data = tensor.data<T>();
  return {data.begin(), data.end()};
}

class OpenData : public ::testing::Test {
 protected:
  void put_npy(const char* name, const Tensor& tensor) const {
    write_npy(folder_ / name, tensor);
  }
  Failure refusal(const std::string& name,
                  const OpenDataOptions& options = {}) const {
    return failure_of<Error>([&] {
      (void)open_data(name.empty() ? folder_.path() : folder_ / name, options);
    });
  }
  void put_idx(const char* part, const std::string& pixels,
               const std::string& labels) const {
    const auto n = static_cast<uint32_t>(labels.size());
    const std::string name = part;
    put(folder_ / (name + "-images-idx3-ubyte"),
        idx_header({n, 2, 1}) + pixels);
    put(folder_ / (name + "-labels-idx1-ubyte.gz"),
        gzip(idx_header({n}) + labels));
  }

  TempFolder folder_;
};

TEST_F(OpenData, OpensOneFileWithAndWithoutLabels) {
  put_npy("x.npy", Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  put_npy("y.npy", Tensor::of<int32_t>({3}, {2, 0, 1}));
  EXPECT_TRUE(open_data(folder_ / "x.npy").train.label_specs().empty());
  const OpenedData opened =
      open_data(folder_ / "x.npy", {.labels = folder_ / "y.npy"});
  EXPECT_FALSE(opened.test);
  EXPECT_THAT(numbers<int64_t>(opened.train.labels()), ElementsAre(2, 0, 1));
  EXPECT_THAT(numbers<float>(opened.train.batch(1, 2).input()),
              ElementsAre(3, 4, 5, 6));
}

TEST_F(OpenData, OpensPartsOfAFolderOfArrays) {
  put_npy("x_train.npy", Tensor::of<float>({2, 1}, {1, 2}));
  put_npy("y_train.npy", Tensor::of<float>({2, 1}, {3, 4}));
  put_npy("x_test.npy", Tensor::of<float>({1, 1}, {5}));
  EXPECT_EQ(refusal(""),
            (Failure{"file_not_found", (folder_ / "y_test.npy").string()}));
  put_npy("y_test.npy", Tensor::of<float>({1, 1}, {6}));
  const OpenedData opened = open_data(folder_.path());
  EXPECT_EQ(opened.train.size(), 2);
  EXPECT_THAT(numbers<float>(opened.test->labels()), ElementsAre(6));
}

TEST_F(OpenData, OpensIdxFilesPlainAndGzipped) {
  put_idx("train", std::string("\x00\xff\x33\x66", 4),
          std::string("\x01\x00", 2));
  put_idx("t10k", std::string("\xff\x00", 2), std::string("\x07", 1));
  const OpenedData opened = open_data(folder_.path());
  EXPECT_EQ(opened.train.input_shape(), Shape({2, 1, 1}));
  EXPECT_THAT(numbers<float>(opened.train.batch(1, 1).input()),
              ElementsAre(51 * (1 / 255.0f), 102 * (1 / 255.0f)));
  EXPECT_THAT(numbers<int64_t>(opened.train.labels()), ElementsAre(1, 0));
  EXPECT_THAT(numbers<int64_t>(opened.test->labels()), ElementsAre(7));
}

TEST_F(OpenData, PreprocessesBytesOnly) {
  put_idx("train", std::string("\x00\xff\x33\x66", 4),
          std::string("\x01\x00", 2));
  const auto first = [&](const OpenDataOptions& options) {
    const Batch batch = open_data(folder_.path(), options).train.batch(1, 1);
    const auto x = batch.input().f32();
    return std::vector<float>(x.begin(), x.end());
  };
  // (51 - 127.5) / 127.5 and (102 - 127.5) / 127.5.
  const auto tf = first({.preprocess = "tf"});
  EXPECT_NEAR(tf[0], -0.6, 1e-6);
  EXPECT_NEAR(tf[1], -0.2, 1e-6);
  EXPECT_THAT(first({.usual = "none"}), ElementsAre(51, 102));
  TempFolder other;
  write_npy(other / "f.npy", Tensor::of<float>({1, 1}, {1}));
  write_npy(other / "u.npy", Tensor::of<uint8_t>({1, 1}, {255}));
  EXPECT_THROW((void)open_data(other / "f.npy", {.preprocess = "unit"}),
               ValueError);
  EXPECT_THROW((void)open_data(other / "u.npy", {.usual = "none"}),
               FormatError);
  EXPECT_THAT(numbers<float>(open_data(other / "u.npy", {.preprocess = "unit"})
                                 .train.batch(0, 1)
                                 .input()),
              ElementsAre(1));
}

TEST_F(OpenData, RejectsLabelsThatDoNotFit) {
  put_npy("x.npy", Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  const auto with = [&](const Tensor& labels) {
    put_npy("y.npy", labels);
    return refusal("x.npy", {.labels = folder_ / "y.npy"});
  };
  EXPECT_EQ(with(Tensor::of<int64_t>({2}, {0, 1})),
            (Failure{"count_mismatch", (folder_ / "y.npy").string()}));
  EXPECT_EQ(with(Tensor::of<int64_t>({3, 1}, {0, 1, 2})),
            (Failure{"unsupported_type", (folder_ / "y.npy").string()}));
  EXPECT_EQ(with(Tensor::of<int64_t>({3, 2}, {0, 1, 1, 0, 0, 1})),
            (Failure{"unsupported_type", (folder_ / "y.npy").string()}));
  EXPECT_EQ(with(Tensor::of<int64_t>({3}, {0, -1, 2})),
            (Failure{"out_of_range", (folder_ / "y.npy").string()}));
}

TEST_F(OpenData, RejectsUnknownData) {
  EXPECT_EQ(refusal("none"),
            (Failure{"file_not_found", (folder_ / "none").string()}));
  EXPECT_EQ(refusal(""),
            (Failure{"unsupported_format", folder_.path().string()}));
  put(folder_ / "notes.txt", "text");
  EXPECT_EQ(refusal("notes.txt"),
            (Failure{"unsupported_format", (folder_ / "notes.txt").string()}));
  EXPECT_EQ(refusal(""),
            (Failure{"unsupported_format", folder_.path().string()}));
  put(folder_ / "data_batch_1", "pickled");
  EXPECT_EQ(refusal(""),
            (Failure{"unsupported_format", folder_.path().string()}));
  EXPECT_EQ(refusal("", {.labels = "y.npy"}),
            (Failure{"conflicting_options", "OpenDataOptions.labels"}));
  put_idx("train", std::string(2, 'a'), "a");
  put_npy("x_train.npy", Tensor::of<float>({1, 1}, {1}));
  EXPECT_EQ(refusal(""),
            (Failure{"unsupported_format", folder_.path().string()}));
}

}  // namespace
}  // namespace octet::io
