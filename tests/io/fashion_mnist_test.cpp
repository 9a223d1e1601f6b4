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

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FashionMnist : public ::testing::Test {
 protected:
  void SetUp() override {
    write("train", 3, std::string("\x00\x04\x09", 3));
    write("t10k", 2, "\x01\x02");
  }
  void write(const std::string& part, uint32_t images,
             const std::string& labels) {
    std::string pixels(size_t{images} * 28 * 28, '\0');
    for (uint32_t i = 0; i < images; ++i) {
      pixels[size_t{i} * 28 * 28 + 1] = static_cast<char>(255 - i);
    }
    put_images(part, idx_header({images, 28, 28}) + pixels);
    put(folder_ / (part + "-labels-idx1-ubyte.gz"),
        gzip(idx_header({static_cast<uint32_t>(labels.size())}) + labels));
  }
  void put_images(const std::string& part, const std::string& idx) {
    put(folder_ / (part + "-images-idx3-ubyte.gz"), gzip(idx));
  }
  Failure refusal() {
    return failure_of<FormatError>([&] { fashion_mnist(folder_.path()); });
  }

  TempFolder folder_;
};

TEST_F(FashionMnist, ReadsBothPartsAsImagesBetweenZeroAndOne) {
  const TrainTest data = fashion_mnist(folder_.path());
  EXPECT_EQ(data.train.size(), 3);
  EXPECT_EQ(data.test.size(), 2);
  const Batch batch = data.train.batch(0, 3);
  EXPECT_EQ(batch.input().shape(), Shape({3, 28, 28, 1}));
  EXPECT_THAT(batch.label().data<int64_t>(), ElementsAre(0, 4, 9));
  EXPECT_EQ(batch.input().f32()[0], 0.0f);
  EXPECT_EQ(batch.input().f32()[1], 1.0f);
  EXPECT_NEAR(batch.input().f32()[28 * 28 + 1], 254.0 / 255.0, 1e-7);
}

TEST_F(FashionMnist, NamesThePackageWhenTheFolderIsMissing) {
  const Failure failure =
      failure_of<IoError>([&] { fashion_mnist(folder_ / "none"); });
  EXPECT_EQ(failure, (Failure{"file_not_found", (folder_ / "none").string()}));
  EXPECT_THAT(failure.message, HasSubstr("dataset-fashion-mnist"));
}

TEST_F(FashionMnist, NamesThePackageAndTheFileWhenOneIsMissing) {
  std::filesystem::remove(folder_ / "t10k-labels-idx1-ubyte.gz");
  EXPECT_EQ(failure_of<IoError>([&] { fashion_mnist(folder_.path()); }),
            (Failure{"file_not_found",
                     (folder_ / "t10k-labels-idx1-ubyte.gz").string()}));
}

TEST_F(FashionMnist, NamesThePackageWhenTheFolderIsAFile) {
  put(folder_ / "file", "");
  EXPECT_EQ(failure_of<IoError>([&] { fashion_mnist(folder_ / "file"); }),
            (Failure{"file_not_found",
                     (folder_ / "file/train-images-idx3-ubyte.gz").string()}));
}

// Circular links fail for root, too, unlike missing permissions.
TEST_F(FashionMnist, ReportsWhyAnExistingFileCannotBeOpened) {
  const auto refusal_at = [&](const std::string& link,
                              const std::filesystem::path& folder) {
    std::filesystem::remove(folder_ / link);
    std::filesystem::create_symlink(link, folder_ / link);
    return failure_of<IoError>([&] { fashion_mnist(folder); });
  };
  const std::string file = "t10k-labels-idx1-ubyte.gz";
  EXPECT_EQ(refusal_at("loop", folder_ / "loop"),
            (Failure{"cannot_read", (folder_ / "loop").string()}));
  EXPECT_EQ(refusal_at(file, folder_.path()),
            (Failure{"cannot_read",
                     (folder_ / "t10k-labels-idx1-ubyte.gz").string()}));
}

TEST_F(FashionMnist, RejectsAnEmptyPath) {
  EXPECT_EQ(failure_of<IoError>([] { fashion_mnist(""); }),
            (Failure{"missing_value", "folder"}));
}

TEST_F(FashionMnist, RejectsCountsThatDiffer) {
  write("train", 3, "\x01\x02");
  EXPECT_EQ(refusal(),
            (Failure{"count_mismatch",
                     (folder_ / "train-labels-idx1-ubyte.gz").string()}));
}

TEST_F(FashionMnist, RejectsALabelAboveNine) {
  write("t10k", 2, "\x01\x0a");
  EXPECT_EQ(refusal(),
            (Failure{"out_of_range",
                     (folder_ / "t10k-labels-idx1-ubyte.gz").string()}));
}

TEST_F(FashionMnist, RejectsImagesOfAnotherSize) {
  put_images("train", idx_header({3, 14, 56}) + std::string(3 * 28 * 28, 'x'));
  EXPECT_EQ(refusal(),
            (Failure{"invalid_shape",
                     (folder_ / "train-images-idx3-ubyte.gz").string()}));
}

TEST_F(FashionMnist, RejectsLabelsInPlaceOfImages) {
  put_images("train", idx_header({3}) + "xyz");
  EXPECT_EQ(refusal(),
            (Failure{"invalid_shape",
                     (folder_ / "train-images-idx3-ubyte.gz").string()}));
}

TEST_F(FashionMnist, RejectsPartsWithoutImages) {
  write("train", 0, "");
  EXPECT_EQ(refusal(),
            (Failure{"missing_value",
                     (folder_ / "train-images-idx3-ubyte.gz").string()}));
}

TEST_F(FashionMnist, NamesADamagedFile) {
  put(folder_ / "t10k-images-idx3-ubyte.gz", "\x1f\x8b damaged");
  const Failure failure = refusal();
  EXPECT_EQ(failure, (Failure{"malformed_file", "gzip data"}));
  EXPECT_THAT(failure.context,
              Contains("in file '" +
                       (folder_ / "t10k-images-idx3-ubyte.gz").string() + "'"));
}

TEST(FashionMnistPackage, HoldsSixtyThousandAndTenThousandImages) {
  if (!std::filesystem::exists(kFashionMnistFolder)) {
    GTEST_SKIP() << "needs the package dataset-fashion-mnist";
  }
  const TrainTest data = fashion_mnist();
  EXPECT_EQ(data.train.size(), 60000);
  EXPECT_EQ(data.test.size(), 10000);
  EXPECT_EQ(data.train.input_shape(), Shape({28, 28, 1}));
  // The first label is an ankle boot.
  EXPECT_EQ(elements<int64_t>(data.train.batch(0, 1).label())[0], 9);
}

}  // namespace
}  // namespace octet::io
