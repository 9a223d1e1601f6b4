#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/runtime/error.h>

#include "idx_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

/// Returns a record whose red, green and blue planes start with 0, 255 and
/// `blue`.
std::string record(const std::string& labels, uint8_t blue = 51) {
  std::string bytes = labels + std::string(3 * 1024, '\0');
  bytes[labels.size() + 1024] = '\xff';
  bytes[labels.size() + 2048] = static_cast<char>(blue);
  bytes[labels.size() + 1] = '\x33';  // red of the second pixel
  return bytes;
}

class Cifar : public ::testing::Test {
 protected:
  Failure refusal10(const std::string& contents) {
    put(folder_ / "data.bin", contents);
    return failure_of<FormatError>(
        [&] { (void)read_cifar10(folder_ / "data.bin"); });
  }
  Failure refusal100(const std::string& contents) {
    put(folder_ / "data.bin", contents);
    return failure_of<FormatError>(
        [&] { (void)read_cifar100(folder_ / "data.bin"); });
  }
  void put_cifar10(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    for (char i = 1; i <= 5; ++i) {
      put(folder / ("data_batch_" + std::to_string(i) + ".bin"),
          record(std::string(1, i)) + record("\x09"));
    }
    put(folder / "test_batch.bin", record("\x07"));
  }

  TempFolder folder_;
};

TEST_F(Cifar, ConvertsPlanesToPixelsBetweenZeroAndOne) {
  put(folder_ / "data.bin", record("\x03") + record("\x09", 102));
  const Dataset data = read_cifar10(folder_ / "data.bin");
  EXPECT_EQ(data.input_shape(), Shape({32, 32, 3}));
  const Batch batch = data.batch(0, 2);
  EXPECT_THAT(batch.label().data<int64_t>(), ElementsAre(3, 9));
  const auto pixels = batch.input().f32();
  EXPECT_EQ(pixels[0], 0.0f);
  EXPECT_EQ(pixels[1], 1.0f);
  EXPECT_NEAR(pixels[2], 0.2, 1e-7);
  EXPECT_NEAR(pixels[3], 0.2, 1e-7);
  EXPECT_EQ(pixels[4], 0.0f);
  EXPECT_NEAR(pixels[32 * 32 * 3 + 2], 0.4, 1e-7);
}

TEST_F(Cifar, ReadsTheFiveTrainingFilesInTheirOrderAndTheTestFile) {
  put_cifar10(folder_.path());
  const TrainTest data = load_cifar10(folder_.path());
  EXPECT_EQ(data.train.size(), 10);
  EXPECT_EQ(data.test.size(), 1);
  EXPECT_THAT(elements<int64_t>(data.train.batch(0, 10).label()),
              ElementsAre(1, 9, 2, 9, 3, 9, 4, 9, 5, 9));
  EXPECT_EQ(elements<int64_t>(data.test.batch(0, 1).label())[0], 7);
}

TEST_F(Cifar, FindsTheFolderOfTheArchive) {
  put_cifar10(folder_ / "cifar-10-batches-bin");
  EXPECT_EQ(load_cifar10(folder_.path()).train.size(), 10);
}

TEST_F(Cifar, ReadsFineAndCoarseLabelsOfCifar100) {
  put(folder_ / "train.bin", record("\x13\x63"));
  put(folder_ / "test.bin", record(std::string("\x00\x01", 2)));
  const auto label = [](const Dataset& data) {
    return elements<int64_t>(data.batch(0, 1).label())[0];
  };
  const TrainTest fine = load_cifar100(folder_.path());
  EXPECT_EQ(label(fine.train), 99);
  EXPECT_EQ(label(fine.test), 1);
  const TrainTest coarse =
      load_cifar100(folder_.path(), Cifar100Labels::coarse);
  EXPECT_EQ(label(coarse.train), 19);
  EXPECT_EQ(label(coarse.test), 0);
  EXPECT_EQ(values(fine.train.batch(0, 1).input())[1], 1.0f);
}

TEST_F(Cifar, RejectsASizeThatIsNotAMultipleOfARecord) {
  EXPECT_EQ(refusal10(record("\x01") + "x"),
            (Failure{"malformed_file", "CIFAR-10"}));
  EXPECT_EQ(refusal10(record("\x01").substr(1)),
            (Failure{"malformed_file", "CIFAR-10"}));
  EXPECT_EQ(refusal100(record("\x01")),
            (Failure{"malformed_file", "CIFAR-100"}));
}

TEST_F(Cifar, RejectsAnEmptyFile) {
  EXPECT_EQ(refusal10(""), (Failure{"unsupported_format", "file"}));
}

TEST_F(Cifar, RejectsALabelOutOfRangeNamingTheRecord) {
  EXPECT_EQ(refusal10(record("\x01") + record("\x0a")),
            (Failure{"out_of_range", "label"}));
  EXPECT_EQ(refusal100(record("\x14\x01")),
            (Failure{"out_of_range", "coarse label"}));
  EXPECT_EQ(refusal100(record("\x01\x64")),
            (Failure{"out_of_range", "fine label"}));
}

TEST_F(Cifar, NamesAMissingFile) {
  put_cifar10(folder_.path());
  std::filesystem::remove(folder_ / "data_batch_3.bin");
  EXPECT_EQ(
      failure_of<IoError>([&] { load_cifar10(folder_.path()); }),
      (Failure{"file_not_found", (folder_ / "data_batch_3.bin").string()}));
}

TEST_F(Cifar, NamesAMissingFolder) {
  EXPECT_EQ(failure_of<IoError>([&] { load_cifar100(folder_ / "none"); }),
            (Failure{"file_not_found", (folder_ / "none").string()}));
  EXPECT_EQ(failure_of<IoError>([&] { load_cifar10(""); }),
            (Failure{"missing_value", "folder"}));
}

TEST_F(Cifar, RejectsAnEmptyListOfFiles) {
  EXPECT_THROW(read_cifar10(std::span<const std::filesystem::path>()),
               ValueError);
}

}  // namespace
}  // namespace octet::io
