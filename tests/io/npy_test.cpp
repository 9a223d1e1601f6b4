#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "idx_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

std::string npy(const std::string& header, const std::string& data,
                int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  return bytes + header + data;
}

std::string header(const std::string& type, const std::string& shape,
                   const std::string& fortran = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }\n";
}

class Npy : public ::testing::Test {
 protected:
  Tensor read(std::string_view contents) {
    put(path_, contents);
    return read_npy(path_);
  }
  Failure refusal(std::string_view contents) {
    return failure_of<FormatError>([&] { (void)read(contents); });
  }

  TempFolder folder_;
  const std::filesystem::path path_ = folder_ / "array.npy";
};

TEST_F(Npy, WritesTheBytesOfNumPy) {
  write_npy(path_, Tensor::of<int32_t>({2, 3}, {1, 2, 3, 4, 5, -1}));
  // Output of numpy.save, NumPy 2.4: a header padded to 128 bytes.
  std::string expected(
      "\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': False, "
      "'shape': (2, 3), }",
      10 + 59);
  expected.resize(127, ' ');
  expected += '\n';
  for (const int value : {1, 2, 3, 4, 5}) {
    expected += std::string{static_cast<char>(value), '\0', '\0', '\0'};
  }
  expected += "\xff\xff\xff\xff";
  EXPECT_EQ(read_file(path_), expected);
}

TEST_F(Npy, RoundTripsEveryTypeAndRank) {
  const auto round_trip = [&](const Tensor& tensor) {
    write_npy(path_, tensor);
    const Tensor again = read_npy(path_);
    EXPECT_EQ(again.dtype(), tensor.dtype());
    EXPECT_EQ(again.shape(), tensor.shape());
    const auto bytes =
        static_cast<size_t>(tensor.size() * size_of(tensor.dtype()));
    EXPECT_EQ(std::memcmp(again.raw(), tensor.raw(), bytes), 0);
  };
  round_trip(Tensor::of<float>(
      {4}, {0.1f, -0.0f, std::numeric_limits<float>::infinity(), NAN}));
  round_trip(Tensor::of<int8_t>({1, 3}, {-128, 0, 127}));
  round_trip(Tensor::of<uint8_t>({3, 1}, {0, 128, 255}));
  round_trip(Tensor::of<int64_t>({1}, {std::numeric_limits<int64_t>::min()}));
  round_trip(Tensor::of<bool>({2}, {true, false}));
  round_trip(Tensor::scalar(3.5f));
  round_trip(Tensor::zeros({0, 5}));
  round_trip(Tensor::zeros({1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST_F(Npy, ReadsBigEndianNumbers) {
  EXPECT_THAT(elements<int32_t>(read(
                  npy(header(">i4", "(2,)"),
                      std::string("\x00\x00\x01\x02\xff\xff\xff\xfe", 8)))),
              ElementsAre(258, -2));
  EXPECT_THAT(values(read(npy(header(">f4", "(1,)"),
                              std::string("\x3f\xc0\x00\x00", 4)))),
              ElementsAre(1.5f));
  EXPECT_THAT(elements<int64_t>(read(
                  npy(header(">i8", "(1,)"),
                      std::string("\x00\x00\x00\x00\x00\x00\x00\x05", 8)))),
              ElementsAre(5));
}

TEST_F(Npy, RoundsDoublesToSingles) {
  const std::vector<double> values = {0.1, 1e300, -1e-300};
  const std::string data(reinterpret_cast<const char*>(values.data()), 24);
  const Tensor tensor = read(npy(header("<f8", "(3,)"), data));
  EXPECT_EQ(tensor.f32()[0], 0.1f);
  EXPECT_TRUE(std::isinf(tensor.f32()[1]));
  EXPECT_EQ(tensor.f32()[2], 0.0f);
}

TEST_F(Npy, ReadsHalfPrecisionExactly) {
  // 1, -2, the largest, the smallest normal, the smallest, inf, -0, NaN.
  // Source: IEEE 754 binary16.
  const std::vector<uint16_t> bits = {0x3c00, 0xc000, 0x7bff, 0x0400,
                                      0x0001, 0x7c00, 0x8000, 0x7e00};
  const std::string data(reinterpret_cast<const char*>(bits.data()), 16);
  const Tensor tensor = read(npy(header("<f2", "(8,)"), data));
  const auto x = tensor.f32();
  EXPECT_EQ(x[0], 1.0f);
  EXPECT_EQ(x[1], -2.0f);
  EXPECT_EQ(x[2], 65504.0f);
  EXPECT_EQ(x[3], 0x1p-14f);
  EXPECT_EQ(x[4], 0x1p-24f);
  EXPECT_EQ(x[5], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(x[6] == 0 && std::signbit(x[6]));
  EXPECT_TRUE(std::isnan(x[7]));
}

TEST_F(Npy, ReadsAnyByteButZeroAsTrue) {
  EXPECT_THAT(elements<bool>(read(
                  npy(header("|b1", "(3,)"), std::string("\x00\x01\x07", 3)))),
              ElementsAre(false, true, true));
}

TEST_F(Npy, RearrangesFortranOrder) {
  const std::string data("\x01\x04\x02\x05\x03\x06", 6);
  const Tensor tensor = read(npy(header("|u1", "(2, 3)", "True"), data));
  EXPECT_EQ(tensor.shape(), Shape({2, 3}));
  EXPECT_THAT(tensor.data<uint8_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(elements<uint8_t>(read(npy(header("|u1", "(2,)", "True"), "ab"))),
              ElementsAre('a', 'b'));
}

TEST_F(Npy, ReadsVersionsTwoAndThree) {
  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(read(npy(header("|u1", "(1,)"), "a", version)).size(), 1);
  }
  EXPECT_EQ(refusal(npy(header("|u1", "(1,)"), "a", 4)),
            (Failure{"unsupported_version", "NPY version"}));
}

TEST_F(Npy, AcceptsHeadersInAnyOrderAndSpacing) {
  const Tensor tensor = read(npy(
      "{\"shape\":(3L,1),'fortran_order':False,'descr':'|i1'}   \n", "abc"));
  EXPECT_EQ(tensor.shape(), Shape({3, 1}));
}

TEST_F(Npy, NamesTheFile) {
  EXPECT_EQ(refusal("x"), (Failure{"unsupported_format", "file"}));
  EXPECT_EQ(failure_of<IoError>([&] { (void)read_npy(folder_ / "none"); }),
            (Failure{"file_not_found", (folder_ / "none").string()}));
}

TEST_F(Npy, RejectsOtherElementTypes) {
  for (const char* type :
       {"|O", "<U5", "|S3", "<c8", "<M8[ns]", "<f16", "<u2", "f4", "|f4", ""}) {
    EXPECT_EQ(refusal(npy(header(type, "(1,)"), "abcdefgh")),
              (Failure{"unsupported_type", "NPY element type"}))
        << type;
  }
  EXPECT_EQ(refusal(npy("{'descr': [('a', '<f4')], 'fortran_order': False, "
                        "'shape': (1,)}",
                        "abcd")),
            (Failure{"unsupported_type", "NPY element type"}));
}

TEST_F(Npy, RejectsHeadersThatContradictTheData) {
  EXPECT_EQ(refusal(npy(header("<f4", "(3,)"), "12345678")),
            (Failure{"truncated_file", "NPY data"}));
  EXPECT_EQ(refusal(npy(header("<f4", "(1,)"), "12345678")),
            (Failure{"malformed_file", "NPY data"}));
  EXPECT_EQ(refusal(npy(header("<f4", "()"), "")),
            (Failure{"truncated_file", "NPY data"}));
}

TEST_F(Npy, RejectsSizesThatOverflow) {
  for (const char* shape :
       {"(4294967296, 4294967296)", "(9223372036854775807, 8)",
        "(0, 9223372036854775807, 2)", "(2147483649,)"}) {
    EXPECT_EQ(refusal(npy(header("<f4", shape), "abcd")),
              (Failure{"size_limit", "NPY shape"}))
        << shape;
  }
  EXPECT_EQ(refusal(npy(header("<f4", "(99999999999999999999,)"), "")),
            (Failure{"malformed_file", "NPY header"}));
  EXPECT_EQ(refusal(npy(header("<f4", "(-1,)"), "")),
            (Failure{"malformed_file", "NPY header"}));
  EXPECT_EQ(refusal(npy(header("|u1", "(1,1,1,1,1,1,1,1,1)"), "a")),
            (Failure{"invalid_shape", "NPY shape"}));
}

TEST_F(Npy, RejectsHeadersWithoutTheThreeKeys) {
  for (const char* text :
       {"", "{", "{}", "[]", "{'descr'", "{'descr': ", "{'descr': '<f4'",
        "{'descr: <f4}", "{'descr': '<f4', 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': "
        "(1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}"}) {
    EXPECT_TRUE(failed(refusal(npy(text, "abcd")))) << text;
  }
}

TEST_F(Npy, RejectsAHugeHeader) {
  EXPECT_EQ(
      refusal(npy(header("|u1", "(1,)") + std::string(70000, ' '), "a", 2)),
      (Failure{"size_limit", "NPY header"}));
  EXPECT_EQ(refusal(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13)),
            (Failure{"truncated_file", "NPY header"}));
}

TEST_F(Npy, RejectsEveryTruncation) {
  const std::string whole = npy(header("<f4", "(2, 1)"), "12345678");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(failed(refusal(whole.substr(0, size)))) << size;
  }
}

TEST_F(Npy, ReadsOrRejectsEveryFlippedBit) {
  const std::string whole = npy(header("<f4", "(2, 1)"), "12345678");
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      EXPECT_LE(read(damaged).size(), 8) << bit;
    } catch (const FormatError&) {
    }
  }
}

TEST_F(Npy, RejectsAnEmptyTensor) {
  EXPECT_THROW(write_npy(path_, Tensor()), ValueError);
}

}  // namespace
}  // namespace octet::io
