// Files of h5py, and h5py's view of Octet's files.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../e2e/command.h"
#include "hdf5/reader.h"
#include "hdf5/writer.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

class FileOfH5py : public ::testing::Test {
 protected:
  void SetUp() override {
    const CommandResult made = run_h5py_script("make_hdf5.py", folder_.path());
    if (made.exit_code == 77) GTEST_SKIP() << made.output;
    ASSERT_EQ(made.exit_code, 0) << made.output;
  }
  /// Runs `body` on files with the same contents in h5py's oldest and newest
  /// format.
  template <class Body>
  void for_each_format(Body body) {
    for (const char* name : {"old.h5", "new.h5"}) {
      SCOPED_TRACE(name);
      body(Hdf5Reader(read_file(folder_ / name), name));
    }
  }

  TempFolder folder_;
};

/// Equal, or both NaN.
void expect_same(const Tensor& got, const Tensor& expected,
                 const std::string& name) {
  ASSERT_EQ(got.shape(), expected.shape()) << name;
  ASSERT_EQ(got.dtype(), expected.dtype()) << name;
  if (got.dtype() == DType::i64) {
    EXPECT_THAT(got.data<int64_t>(),
                ::testing::ElementsAreArray(expected.data<int64_t>()))
        << name;
    return;
  }
  for (size_t i = 0; i < got.f32().size(); ++i) {
    const float x = got.f32()[i];
    const float y = expected.f32()[i];
    ASSERT_TRUE((x == y && std::signbit(x) == std::signbit(y)) ||
                (std::isnan(x) && std::isnan(y)))
        << name << " at " << i << ": " << x << ", not " << y;
  }
}

TEST_F(FileOfH5py, HasTheValuesOfNumPy) {
  for_each_format([&](const Hdf5Reader& file) {
    int compared = 0;
    for (const char* name :
         {"float32", "float64", "float16", "big/float16", "big/float32",
          "big/float64", "scalar", "empty", "chunked", "resizable", "gzip",
          "all_filters", "hard"}) {
      std::string npy = name == std::string("hard") ? "float32" : name;
      std::replace(npy.begin(), npy.end(), '/', '_');
      const Tensor expected = read_npy(folder_ / (npy + ".npy"));
      EXPECT_EQ(file.shape(name), expected.shape());
      expect_same(file.f32(name, expected.shape()), expected, name);
      ++compared;
    }
    for (const std::string& name : file.children("ints")) {
      std::string npy = "ints_" + name + "_i64.npy";
      if (name[0] == '>') npy.replace(5, 1, "big_");
      expect_same(file.i64("ints/" + name, {9}), read_npy(folder_ / npy), name);
      ++compared;
    }
    EXPECT_EQ(compared, 13 + 9);
  });
}

TEST_F(FileOfH5py, HasBfloat16InKerasForm) {
  for_each_format([&](const Hdf5Reader& file) {
    EXPECT_THAT(
        values(file.f32("bfloat16", {3})),
        ElementsAre(1.5f, -2.f, std::numeric_limits<float>::infinity()));
    EXPECT_EQ(failure_of<FormatError>([&] { (void)file.f32("opaque", {3}); }),
              (Failure{"unsupported_type", "'/opaque'"}));
  });
}

TEST_F(FileOfH5py, HasAttributesOfEveryKind) {
  for_each_format([&](const Hdf5Reader& file) {
    const auto value = [&](const char* name) {
      return file.attribute("", name).value();
    };
    EXPECT_EQ(value("text"), Config("caf\xc3\xa9"));
    EXPECT_EQ(value("long"), Config(std::string(300000, 'x')));
    EXPECT_EQ(value("bytes"), Config("model_config"));
    EXPECT_EQ(value("int"), Config(5));
    EXPECT_EQ(value("int32"), Config(-7));
    EXPECT_EQ(value("float"), Config(0.1));
    EXPECT_EQ(value("half"), Config(0.5));
    EXPECT_EQ(value("bool"), Config(true));
    EXPECT_EQ(value("bools"), Config(Config::List{true, false}));
    EXPECT_EQ(value("ints"), Config(Config::List{1, 2, 3}));
    EXPECT_EQ(failure_of<FormatError>([&] { value("complex"); }),
              (Failure{"unsupported_type", "attribute 'complex' of '/'"}));
    EXPECT_EQ(failure_of<FormatError>([&] { value("matrix"); }),
              (Failure{"invalid_shape", "attribute 'matrix' of '/'"}));
  });
}

TEST_F(FileOfH5py, HasListsOfStringsInEveryForm) {
  for_each_format([&](const Hdf5Reader& file) {
    EXPECT_THAT(file.strings("", "fixed"),
                Optional(ElementsAre("conv2d", "re_lu_1", "x")));
    EXPECT_THAT(file.strings("", "variable"),
                Optional(ElementsAre("conv2d", "re_lu_1", "")));
    EXPECT_THAT(file.strings("", "no_weights"), Optional(IsEmpty()));
    const auto split = file.strings("", "split").value();
    ASSERT_EQ(split.size(), 10000u);
    for (size_t i = 0; i < split.size(); ++i) {
      ASSERT_EQ(split[i], fmt::format("layer_{:05}", i));
    }
  });
}

TEST_F(FileOfH5py, IsRejectedUnlessItIsPlainData) {
  for_each_format([&](const Hdf5Reader& file) {
    const auto refusal = [&](const char* name, const Shape& shape = {3}) {
      return failure_of<FormatError>([&] { (void)file.f32(name, shape); });
    };
    EXPECT_EQ(refusal("soft"), (Failure{"unsupported_format", "'/soft'"}));
    EXPECT_EQ(refusal("external"),
              (Failure{"unsupported_format", "'/external'"}));
    EXPECT_EQ(refusal("virtual"),
              (Failure{"unsupported_format", "'/virtual'"}));
    EXPECT_EQ(refusal("text", {2}), (Failure{"unsupported_type", "'/text'"}));
    EXPECT_EQ(refusal("complex"), (Failure{"unsupported_type", "'/complex'"}));
    EXPECT_EQ(refusal("bools"), (Failure{"unsupported_type", "'/bools'"}));
    EXPECT_EQ(refusal("unwritten"), (Failure{"missing_value", "'/unwritten'"}));
    EXPECT_EQ(
        failure_of<UnsupportedError>([&] { (void)file.f32("lzf", {99}); }),
        (Failure{"unsupported_format", "'/lzf'"}));
  });
}

TEST_F(FileOfH5py, HasGroupsOfThousands) {
  for_each_format([&](const Hdf5Reader& file) {
    EXPECT_EQ(file.children("many").size(), 3000u);
    EXPECT_EQ(file.kind("many/2999"), Hdf5Kind::group);
    EXPECT_EQ(file.kind("many/3000"), Hdf5Kind::absent);
  });
}

TEST(FileOfOctet, IsReadByH5py) {
  Hdf5Writer writer;
  writer.group("empty");
  writer.dataset("a/b/f32", Tensor::of<float>({2, 1}, {0.5f, -1.f}));
  writer.dataset("a/i64", Tensor::of<int64_t>({2}, {INT64_MIN, INT64_MAX}));
  writer.dataset("a/i32", Tensor::of<int32_t>({1}, {-7}));
  writer.dataset("a/u8", Tensor::of<uint8_t>({2}, {0, 255}));
  writer.dataset("a/i8", Tensor::of<int8_t>({2}, {-128, 127}));
  writer.dataset("caf\xc3\xa9", Tensor::scalar(2.f));
  writer.dataset("none", Tensor::zeros({0, 3}));
  writer.attribute("", "text", "caf\xc3\xa9");
  writer.attribute("", "nothing", "");
  writer.attribute("", "int", INT64_MIN);
  writer.attribute("", "number", 0.1);
  writer.attribute("a", "yes", true);
  writer.attribute("a", "names", Config::List{"kernel:0", "", "\xc3\xa9"});
  writer.attribute("a", "ints", Config::List{1, 2});
  writer.attribute("a", "numbers", Config::List{1, 2.5});
  writer.attribute("a", "bools", Config::List{true, false});
  writer.attribute("a/b/f32", "no_names", Config::List{});
  const TempFolder folder;
  write_file(folder / "a.h5", writer.finish());
  const CommandResult result = run_h5py_script("read_hdf5.py", folder / "a.h5");
  if (result.exit_code == 77) GTEST_SKIP() << result.output;
  EXPECT_EQ(result.output,
            "/ group\n"
            "/ @int int64 -9223372036854775808\n"
            "/ @nothing str ''\n"
            "/ @number float64 0.1\n"
            "/ @text str 'caf\xc3\xa9'\n"
            "/a group\n"
            "/a @bools array (2,) [True, False]\n"
            "/a @ints array (2,) [1, 2]\n"
            "/a @names array (3,) ['kernel:0', '', '\xc3\xa9']\n"
            "/a @numbers array (2,) [1.0, 2.5]\n"
            "/a @yes bool_ True\n"
            "/a/b group\n"
            "/a/b/f32 dataset <f4 (2, 1) [[0.5], [-1.0]]\n"
            "/a/b/f32 @no_names array (0,) []\n"
            "/a/i32 dataset <i4 (1,) [-7]\n"
            "/a/i64 dataset <i8 (2,) [-9223372036854775808, "
            "9223372036854775807]\n"
            "/a/i8 dataset |i1 (2,) [-128, 127]\n"
            "/a/u8 dataset |u1 (2,) [0, 255]\n"
            "/caf\xc3\xa9 dataset <f4 () 2.0\n"
            "/empty group\n"
            "/none dataset <f4 (0, 3) []\n");
}

}  // namespace
}  // namespace octet::io
