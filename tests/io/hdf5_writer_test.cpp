#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "hdf5/library.h"
#include "hdf5/reader.h"
#include "hdf5/writer.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

Config::List names(size_t count, const std::string& like = "layer_") {
  Config::List list;
  for (size_t i = 0; i < count; ++i)
    list.emplace_back(like + std::to_string(i));
  return list;
}

template <class Body>
Failure refusal(Body body) {
  return failure_of<ValueError>([&] {
    Hdf5Writer writer;
    body(writer);
  });
}

TEST(Hdf5Writer, WritesReadableFiles) {
  Hdf5Writer writer;
  writer.dataset("model_weights/conv/conv/kernel:0",
                 Tensor::of<float>({1, 2}, {1.5f, -2.f}));
  writer.dataset("state/step", Tensor::of<int64_t>({}, {int64_t{1} << 40}));
  writer.dataset("state/codes", Tensor::of<int8_t>({2}, {-128, 127}));
  writer.attribute("model_weights", "layer_names", Config::List{"conv", "re"});
  writer.attribute("model_weights/conv", "weight_names", Config::List{});
  writer.attribute("", "config", "{}");
  const Hdf5Reader file(writer.finish(), "a.h5");
  EXPECT_THAT(values(file.f32("model_weights/conv/conv/kernel:0", {1, 2})),
              ElementsAre(1.5f, -2.f));
  EXPECT_THAT(elements<int64_t>(file.i64("state/step", {})),
              ElementsAre(int64_t{1} << 40));
  EXPECT_THAT(elements<int64_t>(file.i64("state/codes", {2})),
              ElementsAre(-128, 127));
  EXPECT_THAT(file.strings("model_weights", "layer_names"),
              Optional(ElementsAre("conv", "re")));
  EXPECT_THAT(file.strings("model_weights/conv", "weight_names"),
              Optional(::testing::IsEmpty()));
  EXPECT_EQ(file.attribute("", "config"), Config("{}"));
}

TEST(Hdf5Writer, WritesAnEmptyFile) {
  const Hdf5Reader file(Hdf5Writer().finish(), "a.h5");
  EXPECT_THAT(file.children(""), ::testing::IsEmpty());
}

TEST(Hdf5Writer, WritesTheSameBytesForTheSameCalls) {
  const auto write = [] {
    Hdf5Writer writer;
    writer.group("a/b");
    writer.dataset("a/w", Tensor::full({1000}, 0.5f));
    writer.attribute("a", "names", names(100));
    return writer.finish();
  };
  const std::string bytes = write();
  EXPECT_EQ(write(), bytes);
  // In another second, stored times would differ.
  TempFolder folder;
  write_file(folder / "a.h5", bytes);
  const Handle file(
      H5Fopen((folder / "a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT),
      H5Fclose);
  for (const char* name : {"/", "a", "a/b", "a/w"}) {
    H5O_info_t info;
    ASSERT_GE(H5Oget_info_by_name(file.get(), name, &info, H5P_DEFAULT), 0);
    EXPECT_EQ(info.mtime, 0) << name;
    EXPECT_EQ(info.ctime, 0) << name;
  }
}

TEST(Hdf5Writer, StoresLargeData) {
  Hdf5Writer writer;
  Tensor values(Shape{3, 1 << 20});
  float next = 0;
  for (float& value : values.f32()) value = next++;
  writer.dataset("large", values);
  const Hdf5Reader file(writer.finish(), "a.h5");
  const Tensor read = file.f32("large", values.shape());
  EXPECT_EQ(std::memcmp(read.raw(), values.raw(),
                        static_cast<size_t>(values.bytes())),
            0);
}

// Source: Keras, hdf5_format.py: attributes above 64512 bytes are split; a
// string of variable length counts 16 bytes.
TEST(Hdf5Writer, SplitsListsOfStringsThatAreTooLongForAnAttribute) {
  Hdf5Writer writer;
  writer.attribute("", "most", names(4032));
  writer.attribute("", "more", names(4033));
  writer.attribute("", "long", names(2, std::string(100000, 'x')));
  const Hdf5Reader file(writer.finish(), "a.h5");
  EXPECT_TRUE(file.attribute("", "most").has_value());
  EXPECT_TRUE(file.attribute("", "long").has_value());
  EXPECT_EQ(file.attribute("", "more"), std::nullopt);
  EXPECT_EQ(file.attribute("", "more0")->as_list().size(), 2016u);
  EXPECT_EQ(file.attribute("", "more1")->as_list().size(), 2017u);
  EXPECT_EQ(file.attribute("", "more2"), std::nullopt);
  const auto whole = file.strings("", "more").value();
  ASSERT_EQ(whole.size(), 4033u);
  EXPECT_EQ(whole.front(), "layer_0");
  EXPECT_EQ(whole.back(), "layer_4032");
}

TEST(Hdf5Writer, RejectsListsOfNumbersThatAreTooLong) {
  EXPECT_EQ(refusal([](Hdf5Writer& writer) {
              writer.attribute("", "a", Config::List(8064, Config(1)));
            }),
            (Failure{"no error", ""}));
  EXPECT_EQ(refusal([](Hdf5Writer& writer) {
              writer.attribute("", "a", Config::List(8065, Config(1)));
            }),
            (Failure{"size_limit", "HDF5 attribute 'a' of '/'"}));
}

TEST(Hdf5Writer, RejectsUnsupportedAttributeValues) {
  for (const Config& value :
       {Config(), Config(Config::Object{}), Config(Config::List{"a", 1}),
        Config(Config::List{Config(Config::List{})}),
        Config(Config::List{true, 1}), Config(std::string("a\0b", 3))}) {
    EXPECT_EQ(refusal([&](Hdf5Writer& writer) {
                writer.group("g");
                writer.attribute("g", "a", value);
              }).subject,
              "HDF5 attribute 'a' of '/g'");
  }
}

TEST(Hdf5Writer, RejectsDuplicateNames) {
  const Tensor one = Tensor::scalar(1);
  EXPECT_EQ(refusal([&](Hdf5Writer& writer) {
              writer.dataset("w", one);
              writer.dataset("/w", one);
            }),
            (Failure{"duplicate_name", "HDF5 dataset '/w'"}));
  EXPECT_EQ(refusal([&](Hdf5Writer& writer) {
              writer.dataset("w", one);
              writer.group("w");
            }),
            (Failure{"duplicate_name", "HDF5 group '/w'"}));
  EXPECT_EQ(refusal([&](Hdf5Writer& writer) {
              writer.dataset("w", one);
              writer.dataset("w/x/y", one);
            }),
            (Failure{"invalid_value", "HDF5 path '/w/x/y'"}));
  EXPECT_EQ(refusal([&](Hdf5Writer& writer) {
              writer.dataset("a/w", one);
              writer.group("a/w/x");
            }),
            (Failure{"invalid_value", "HDF5 path '/a/w/x'"}));
  EXPECT_EQ(refusal([&](Hdf5Writer& writer) {
              writer.attribute("", "a", 1);
              writer.attribute("", "a", 1);
            }),
            (Failure{"duplicate_name", "HDF5 attribute 'a' of '/'"}));
  EXPECT_EQ(refusal([&](Hdf5Writer& writer) {
              writer.group("g");
              writer.group("g");
              writer.group("");
            }),
            (Failure{"no error", ""}));
}

TEST(Hdf5Writer, RejectsInvalidNames) {
  const Tensor one = Tensor::scalar(1);
  for (const std::string& path :
       {std::string("a//b"), std::string("a/"), std::string("./a"),
        std::string("a/.."), std::string("a\0b", 3), std::string("//")}) {
    EXPECT_TRUE(failed(refusal([&](Hdf5Writer& writer) {
      writer.dataset(path, one);
    }))) << path;
    EXPECT_TRUE(failed(refusal([&](Hdf5Writer& writer) {
      writer.group(path);
    }))) << path;
  }
  EXPECT_TRUE(
      failed(refusal([&](Hdf5Writer& writer) { writer.dataset("", one); })));
  EXPECT_TRUE(failed(
      refusal([&](Hdf5Writer& writer) { writer.attribute("", "", 1); })));
}

TEST(Hdf5Writer, RejectsAttributesOfMissingObjects) {
  EXPECT_EQ(refusal([](Hdf5Writer& writer) { writer.attribute("g", "a", 1); }),
            (Failure{"unknown_name", "HDF5 object '/g'"}));
}

TEST(Hdf5Writer, RejectsUnsupportedTensorTypes) {
  EXPECT_EQ(refusal([](Hdf5Writer& writer) { writer.dataset("w", Tensor()); }),
            (Failure{"missing_value", "HDF5 dataset '/w'"}));
  EXPECT_EQ(refusal([](Hdf5Writer& writer) {
              writer.dataset("w", Tensor::zeros({1}, DType::boolean));
            }),
            (Failure{"unsupported_type", "HDF5 dataset '/w'"}));
}

TEST(Hdf5Writer, LeavesTheFolderAlone) {
  const TempFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  Hdf5Writer writer;
  writer.dataset("w", Tensor::zeros({1 << 22}));
  const std::string bytes = writer.finish();
  EXPECT_TRUE(folder.empty());
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace octet::io
