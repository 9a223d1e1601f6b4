#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "hdf5/reader.h"
#include "hdf5_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

class Hdf5Attributes : public ReadBothWays {
 protected:
  std::optional<Config> value(const std::string& name) {
    return read().attribute("", name);
  }
  Failure refusal(const std::string& name) {
    return failure_of<FormatError>([&] { value(name); });
  }
};

INSTANTIATE_TEST_SUITE_P(, Hdf5Attributes,
                         ::testing::Values(Isolation::child_process,
                                           Isolation::none),
                         isolation_name);

TEST_P(Hdf5Attributes, AreStringsOfVariableLength) {
  const std::string large(200000, 'x');
  image_.texts("/", "one", {}, {"caf\xc3\xa9"});
  image_.texts("/", "large", {}, {large.c_str()});
  image_.texts("/", "list", {2}, {"a/b:0", ""});
  const Hdf5Reader file = read();
  EXPECT_EQ(file.attribute("/", "one"), Config("caf\xc3\xa9"));
  EXPECT_EQ(file.attribute("", "large"), Config(large));
  EXPECT_EQ(file.attribute("", "list"), Config(Config::List{"a/b:0", ""}));
}

TEST_P(Hdf5Attributes, AreStringsOfFixedLengthWithAnyPadding) {
  for (const auto& [name, padding, stored] :
       {std::tuple{"zeros", H5T_STR_NULLPAD, "ab\0\0b c\0"},
        {"end", H5T_STR_NULLTERM, "ab\0xb c\0"},
        {"spaces", H5T_STR_SPACEPAD, "ab  b c "}}) {
    const Handle type = fixed_string(4, padding);
    const hsize_t two = 2;
    const Handle space(H5Screate_simple(1, &two, nullptr), H5Sclose);
    image_.attribute("/", name, type.get(), space.get(), stored);
    EXPECT_EQ(value(name), Config(Config::List{"ab", "b c"})) << name;
  }
}

TEST_P(Hdf5Attributes, AreNumbersOfEveryKind) {
  image_.attribute<int16_t>("/", "i", H5T_STD_I16LE, {}, {-5});
  image_.attribute<uint32_t>("/", "u", H5T_STD_U32BE, {}, {0x02000000});
  image_.attribute<double>("/", "d", H5T_IEEE_F64LE, {}, {0.1});
  image_.attribute<float>("/", "f", H5T_IEEE_F32LE, {2}, {0.5f, 2.f});
  image_.attribute<int64_t>("/", "none", H5T_STD_I64LE, {0}, {});
  EXPECT_EQ(value("i"), Config(-5));
  EXPECT_EQ(value("u"), Config(2));
  EXPECT_EQ(value("d"), Config(0.1));
  EXPECT_EQ(value("f"), Config(Config::List{0.5, 2.0}));
  EXPECT_EQ(value("none"), Config(Config::List{}));
}

TEST_P(Hdf5Attributes, AreBoolsAsH5pyWritesThem) {
  const Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
  const int8_t no = 0, yes = 1;
  H5Tenum_insert(type.get(), "FALSE", &no);
  H5Tenum_insert(type.get(), "TRUE", &yes);
  image_.attribute<int8_t>("/", "b", type.get(), {}, {1});
  image_.attribute<int8_t>("/", "list", type.get(), {2}, {0, 1});
  EXPECT_EQ(value("b"), Config(true));
  EXPECT_EQ(value("list"), Config(Config::List{false, true}));
}

TEST_P(Hdf5Attributes, AreEmptyIfAbsent) {
  image_.group("g");
  image_.attribute<int8_t>("/", "a", H5T_STD_I8LE, {}, {1});
  const Hdf5Reader file = read();
  EXPECT_EQ(file.attribute("g", "a"), std::nullopt);
  EXPECT_EQ(file.strings("g", "a"), std::nullopt);
}

TEST_P(Hdf5Attributes, RejectsOtherTypesAndShapes) {
  const Handle pair(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
  H5Tinsert(pair.get(), "r", 0, H5T_IEEE_F32LE);
  const Handle color(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
  const int8_t red = 0;
  H5Tenum_insert(color.get(), "RED", &red);
  const Handle numbers(H5Tvlen_create(H5T_STD_I8LE), H5Tclose);
  const Handle null(H5Screate(H5S_NULL), H5Sclose);
  image_.attribute<int64_t>("/", "pair", pair.get(), {}, {0});
  image_.attribute<int8_t>("/", "color", color.get(), {}, {0});
  image_.attribute<hvl_t>("/", "numbers", numbers.get(), {}, {});
  image_.attribute<int8_t>("/", "matrix", H5T_STD_I8LE, {2, 2}, {1, 2, 3, 4});
  image_.attribute<uint64_t>("/", "huge", H5T_STD_U64LE, {}, {~uint64_t{0}});
  image_.attribute("/", "null", H5T_STD_I8LE, null.get(), nullptr);
  EXPECT_EQ(refusal("pair"),
            (Failure{"unsupported_type", "attribute 'pair' of '/'"}));
  EXPECT_EQ(refusal("color"),
            (Failure{"unsupported_type", "attribute 'color' of '/'"}));
  EXPECT_EQ(refusal("numbers"),
            (Failure{"unsupported_type", "attribute 'numbers' of '/'"}));
  EXPECT_EQ(refusal("matrix"),
            (Failure{"invalid_shape", "attribute 'matrix' of '/'"}));
  EXPECT_EQ(refusal("huge"),
            (Failure{"out_of_range", "attribute 'huge' of '/'"}));
  EXPECT_EQ(refusal("null"),
            (Failure{"missing_value", "attribute 'null' of '/'"}));
}

TEST_P(Hdf5Attributes, RejectsInvalidNames) {
  EXPECT_TRUE(failed(refusal("")));
  EXPECT_TRUE(failed(refusal(std::string("a\0b", 3))));
}

TEST(Hdf5LargeAttributes, AreBounded) {
  const TempFolder folder;
  const std::filesystem::path path = folder / "large.h5";
  {
    // Attributes above 64 KiB need the format of HDF5 1.8 and later.
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18);
    const Handle file(
        sure(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get())),
        H5Fclose);
    const Handle wide = fixed_string(60000, H5T_STR_NULLPAD);
    const hsize_t many = 1200;  // 72 MB
    const Handle space(H5Screate_simple(1, &many, nullptr), H5Sclose);
    const Handle attribute(
        sure(H5Acreate2(file.get(), "a", wide.get(), space.get(), H5P_DEFAULT,
                        H5P_DEFAULT)),
        H5Aclose);
    const std::string data(60000 * many, 'x');
    sure(H5Awrite(attribute.get(), wide.get(), data.data()));
  }
  const Hdf5Reader file(read_file(path), path);
  EXPECT_EQ(failure_of<FormatError>([&] { file.attribute("", "a"); }),
            (Failure{"size_limit", "attribute 'a' of '/'"}));
  EXPECT_EQ(failure_of<FormatError>([&] { file.strings("", "a"); }),
            (Failure{"size_limit", "attribute 'a' of '/'"}));
}

TEST_P(Hdf5Attributes, AreListsOfStringsWholeOrSplit) {
  image_.texts("/", "whole", {2}, {"a", "b"});
  image_.texts("/", "split0", {2}, {"a", "b"});
  image_.texts("/", "split1", {1}, {"c"});
  image_.texts("/", "split3", {1}, {"no"});
  const Hdf5Reader file = read();
  EXPECT_THAT(file.strings("", "whole"), Optional(ElementsAre("a", "b")));
  EXPECT_THAT(file.strings("", "split"), Optional(ElementsAre("a", "b", "c")));
  EXPECT_EQ(file.strings("", "split2"), std::nullopt);
}

TEST_P(Hdf5Attributes, AreEmptyListsWhateverTheirType) {
  const Handle null(H5Screate(H5S_NULL), H5Sclose);
  image_.attribute<double>("/", "f8", H5T_IEEE_F64LE, {0}, {});
  image_.texts("/", "text", {0}, {});
  image_.attribute("/", "null", H5T_STD_I8LE, null.get(), nullptr);
  for (const char* name : {"f8", "text", "null"}) {
    EXPECT_THAT(read().strings("", name), Optional(IsEmpty())) << name;
  }
}

TEST_P(Hdf5Attributes, RejectsListsOfNonStrings) {
  image_.attribute<int8_t>("/", "ints", H5T_STD_I8LE, {2}, {1, 2});
  image_.texts("/", "one", {}, {"a"});
  EXPECT_EQ(failure_of<FormatError>([&] { read().strings("", "ints"); }),
            (Failure{"unsupported_type", "attribute 'ints' of '/'"}));
  EXPECT_EQ(failure_of<FormatError>([&] { read().strings("", "one"); }),
            (Failure{"unsupported_type", "attribute 'one' of '/'"}));
}

}  // namespace
}  // namespace octet::io
