#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <octet/io/data.h>
#include <octet/runtime/error.h>

#include "idx_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

/// Returns the peak memory of this process in bytes.
int64_t peak_memory() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

class ReadIdx : public ::testing::Test {
 protected:
  Tensor read(std::string_view contents) {
    put(folder_ / "data", contents);
    return read_idx(folder_ / "data");
  }
  Failure refusal(std::string_view contents) {
    return failure_of<FormatError>([&] { (void)read(contents); });
  }

  TempFolder folder_;
  const std::string six_ = idx_header({2, 3}) + "abcdef";
};

TEST_F(ReadIdx, ReadsAPlainFile) {
  const Tensor tensor = read(six_);
  EXPECT_EQ(tensor.shape(), Shape({2, 3}));
  EXPECT_THAT(tensor.data<uint8_t>(),
              ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
}

TEST_F(ReadIdx, ReadsAGzippedFileOfAnyName) {
  const Tensor tensor = read(gzip(six_));
  EXPECT_EQ(tensor.shape(), Shape({2, 3}));
  EXPECT_EQ(tensor.data<uint8_t>()[5], 'f');
}

TEST_F(ReadIdx, ReadsGzipOfSeveralMembers) {
  const Tensor tensor = read(gzip(six_.substr(0, 14)) + gzip(six_.substr(14)));
  EXPECT_EQ(tensor.data<uint8_t>()[5], 'f');
}

TEST_F(ReadIdx, ReadsMoreThanOneBlock) {
  std::string bytes = idx_header({3, 1000, 1000});
  for (int i = 0; i < 3000000; ++i) bytes += static_cast<char>(i * 7 % 251);
  const Tensor tensor = read(gzip(bytes));
  EXPECT_EQ(tensor.shape(), Shape({3, 1000, 1000}));
  EXPECT_EQ(tensor.data<uint8_t>()[2999999], 2999999LL * 7 % 251);
}

TEST_F(ReadIdx, ReadsAnEmptyArray) {
  EXPECT_EQ(read(idx_header({0, 28, 28})).shape(), Shape({0, 28, 28}));
  EXPECT_EQ(read(gzip(idx_header({0}))).shape(), Shape({0}));
}

TEST_F(ReadIdx, RejectsAMissingFile) {
  EXPECT_EQ(failure_of<IoError>([&] { (void)read_idx(folder_ / "none"); }),
            (Failure{"file_not_found", (folder_ / "none").string()}));
}

TEST_F(ReadIdx, NamesTheFile) {
  EXPECT_EQ(refusal("x"), (Failure{"unsupported_format", "file"}));
}

TEST_F(ReadIdx, RejectsAnEmptyFile) { EXPECT_TRUE(failed(refusal(""))); }

TEST_F(ReadIdx, RejectsAGzipTruncatedAnywhere) {
  const std::string packed = gzip(six_);
  for (size_t size = 2; size < packed.size(); ++size) {
    EXPECT_TRUE(failed(refusal(std::string_view(packed).substr(0, size))))
        << size;
  }
  EXPECT_EQ(refusal(std::string_view(packed).substr(0, packed.size() - 3)),
            (Failure{"truncated_file", "gzip data"}));
}

TEST_F(ReadIdx, RejectsAGzipWithAWrongChecksum) {
  std::string packed = gzip(six_);
  packed[packed.size() - 8] = static_cast<char>(packed[packed.size() - 8] ^ 1);
  EXPECT_EQ(refusal(packed), (Failure{"malformed_file", "gzip data"}));
}

TEST_F(ReadIdx, RejectsAGzipWithAWrongLength) {
  std::string packed = gzip(six_);
  packed[packed.size() - 4] = static_cast<char>(packed[packed.size() - 4] ^ 1);
  EXPECT_EQ(refusal(packed), (Failure{"malformed_file", "gzip data"}));
}

TEST_F(ReadIdx, RejectsOrReadsTheSameForEveryFlippedBitOfAGzip) {
  // Header bits without meaning (time, system) may differ.
  const std::string packed = gzip(six_);
  for (size_t bit = 0; bit < packed.size() * 8; ++bit) {
    std::string damaged = packed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      EXPECT_EQ(elements<uint8_t>(read(damaged))[5], 'f') << bit;
    } catch (const FormatError&) {
    }
  }
}

TEST_F(ReadIdx, RejectsBytesAfterAGzip) {
  EXPECT_EQ(refusal(gzip(six_) + "xy"),
            (Failure{"malformed_file", "gzip data"}));
}

TEST_F(ReadIdx, RejectsAWrongMagic) {
  EXPECT_EQ(refusal("PNG\x08 abcdefgh"),
            (Failure{"unsupported_format", "IDX magic number"}));
}

TEST_F(ReadIdx, RejectsAnotherElementType) {
  std::string bytes = six_;
  bytes[2] = '\x0d';
  EXPECT_EQ(refusal(bytes), (Failure{"unsupported_type", "IDX element type"}));
}

TEST_F(ReadIdx, RejectsUnsupportedRanks) {
  EXPECT_EQ(refusal(idx_header({})), (Failure{"invalid_shape", "IDX rank"}));
  EXPECT_EQ(refusal(idx_header({1, 1, 1, 1, 1, 1, 1, 1, 1}) + "x"),
            (Failure{"invalid_shape", "IDX rank"}));
  EXPECT_NO_THROW(read(idx_header({1, 1, 1, 1, 1, 1, 1, 1}) + "x"));
}

TEST_F(ReadIdx, RejectsAHeaderThatEndsEarly) {
  const std::string header = idx_header({2, 3});
  for (size_t size = 1; size < header.size(); ++size) {
    EXPECT_EQ(refusal(header.substr(0, size)),
              (Failure{"truncated_file", "IDX header"}));
  }
}

TEST_F(ReadIdx, RejectsFewerElementsThanDeclared) {
  const std::string fewer = idx_header({2, 3}) + "abcde";
  EXPECT_EQ(refusal(fewer), (Failure{"truncated_file", "IDX data"}));
  EXPECT_EQ(refusal(gzip(fewer)), (Failure{"truncated_file", "IDX data"}));
}

TEST_F(ReadIdx, RejectsMoreElementsThanDeclared) {
  EXPECT_EQ(refusal(six_ + "g"), (Failure{"malformed_file", "IDX data"}));
  EXPECT_EQ(refusal(gzip(six_ + "g")), (Failure{"malformed_file", "IDX data"}));
}

TEST_F(ReadIdx, RejectsSizesBeyondTheLimit) {
  EXPECT_EQ(refusal(idx_header({0xffffffff, 28, 28}) + "x"),
            (Failure{"size_limit", "IDX shape"}));
  EXPECT_EQ(refusal(idx_header({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
                                0xffffffff, 0xffffffff}) +
                    "x"),
            (Failure{"size_limit", "IDX shape"}));
  EXPECT_EQ(refusal(idx_header({0, 0xffffffff, 0xffffffff})),
            (Failure{"size_limit", "IDX shape"}));
}

TEST_F(ReadIdx, RejectsADeclarationOfTwoGigabytesWithoutAllocating) {
  const int64_t before = peak_memory();
  EXPECT_EQ(refusal(idx_header({0x80000000}) + "x"),
            (Failure{"truncated_file", "IDX data"}));
  EXPECT_EQ(refusal(gzip(idx_header({0x80000000}) + "x")),
            (Failure{"truncated_file", "IDX data"}));
  EXPECT_LT(peak_memory() - before, int64_t{200} << 20);
}

}  // namespace
}  // namespace octet::io
