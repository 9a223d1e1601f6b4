#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>

#include "hdf5/reader.h"
#include "hdf5_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Hdf5Reading : public ReadBothWays {
 protected:
  Failure refusal_of_f32(const std::string& path, const Shape& shape) {
    return failure_of<FormatError>([&] { (void)read().f32(path, shape); });
  }
};

INSTANTIATE_TEST_SUITE_P(, Hdf5Reading,
                         ::testing::Values(Isolation::child_process,
                                           Isolation::none),
                         isolation_name);

TEST_P(Hdf5Reading, DistinguishesGroupsDatasetsAndMissingObjects) {
  image_.group("/a/b");
  image_.dataset("/a/w", H5T_IEEE_F32LE, {1}, {1.f});
  const Hdf5Reader file = read();
  for (const char* root : {"", "/", "//"}) {
    EXPECT_EQ(file.kind(root), Hdf5Kind::group) << root;
  }
  for (const char* group : {"a", "/a", "a/b", "/a//b/"}) {
    EXPECT_EQ(file.kind(group), Hdf5Kind::group) << group;
  }
  EXPECT_EQ(file.kind("a/w"), Hdf5Kind::dataset);
  for (const char* nothing : {"b", "a/c", "a/c/d", "a/w/x", "A"}) {
    EXPECT_EQ(file.kind(nothing), Hdf5Kind::absent) << nothing;
  }
}

TEST_P(Hdf5Reading, ListsTheNamesOfAGroupInOrder) {
  for (const char* name : {"10", "2", "b:0", "B"}) {
    image_.group("/g/" + std::string(name));
  }
  const Hdf5Reader file = read();
  EXPECT_THAT(file.children("g"), ElementsAre("10", "2", "B", "b:0"));
  EXPECT_THAT(file.children("/"), ElementsAre("g"));
  EXPECT_THAT(file.children("g/2"), IsEmpty());
}

TEST_P(Hdf5Reading, ReadsFloatsOfEveryWidthAndByteOrder) {
  // Source: IEEE 754; bfloat16 is the upper half of a single.
  const Handle half(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(half.get(), 15, 10, 5, 0, 10);
  H5Tset_ebias(half.get(), 15);
  H5Tset_precision(half.get(), 16);
  H5Tset_size(half.get(), 2);
  const Handle big_half(H5Tcopy(half.get()), H5Tclose);
  H5Tset_order(big_half.get(), H5T_ORDER_BE);
  const Handle bfloat(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(bfloat.get(), 15, 7, 8, 0, 7);
  H5Tset_precision(bfloat.get(), 16);
  H5Tset_size(bfloat.get(), 2);
  image_.dataset<float>("f4", H5T_IEEE_F32LE, {2}, {1.5f, -2.f});
  image_.dataset<uint32_t>("F4", H5T_IEEE_F32BE, {2}, {0x0000c03f, 0x000000c0});
  image_.dataset<double>("f8", H5T_IEEE_F64LE, {2}, {1.5, -2.0});
  image_.dataset<uint64_t>("F8", H5T_IEEE_F64BE, {2}, {0xf83f, 0xc0});
  image_.dataset<uint16_t>("f2", half.get(), {2}, {0x3e00, 0xc000});
  image_.dataset<uint16_t>("F2", big_half.get(), {2}, {0x003e, 0x00c0});
  image_.dataset<uint16_t>("bf", bfloat.get(), {2}, {0x3fc0, 0xc000});
  const Hdf5Reader file = read();
  for (const char* name : {"f4", "F4", "f8", "F8", "f2", "F2", "bf"}) {
    EXPECT_THAT(values(file.f32(name, {2})), ElementsAre(1.5f, -2.f)) << name;
  }
}

TEST_P(Hdf5Reading, ReadsIntegersOfEveryWidthSignAndByteOrder) {
  image_.dataset<int8_t>("i1", H5T_STD_I8LE, {2}, {-2, 100});
  image_.dataset<uint8_t>("u1", H5T_STD_U8BE, {2}, {254, 100});
  image_.dataset<int16_t>("i2", H5T_STD_I16LE, {2}, {-300, 100});
  image_.dataset<uint16_t>("U2", H5T_STD_U16BE, {2}, {0xd4fe, 0x6400});
  image_.dataset<uint32_t>("u4", H5T_STD_U32LE, {2}, {~0u, 100});
  image_.dataset<uint32_t>("I4", H5T_STD_I32BE, {2}, {0xfeffffff, 0x64000000});
  image_.dataset<int64_t>("i8", H5T_STD_I64LE, {2}, {INT64_MIN, 100});
  image_.dataset<uint64_t>("u8", H5T_STD_U64LE, {2}, {INT64_MAX, 100});
  const Hdf5Reader file = read();
  const auto first = [&](const char* name) {
    const Tensor values = file.i64(name, {2});
    EXPECT_EQ(values.data<int64_t>()[1], 100) << name;
    return values.data<int64_t>()[0];
  };
  EXPECT_EQ(first("i1"), -2);
  EXPECT_EQ(first("u1"), 254);
  EXPECT_EQ(first("i2"), -300);
  EXPECT_EQ(first("U2"), 65236);
  EXPECT_EQ(first("u4"), 4294967295);
  EXPECT_EQ(first("I4"), -2);
  EXPECT_EQ(first("i8"), INT64_MIN);
  EXPECT_EQ(first("u8"), INT64_MAX);
}

TEST_P(Hdf5Reading, RejectsIntegersOutsideInt64) {
  image_.dataset<uint64_t>("u8", H5T_STD_U64LE, {2},
                           {1, uint64_t{INT64_MAX} + 1});
  EXPECT_EQ(failure_of<FormatError>([&] { (void)read().i64("u8", {2}); }),
            (Failure{"out_of_range", "'/u8'"}));
}

TEST_P(Hdf5Reading, ReadsChunkedPackedAndCompactData) {
  std::vector<float> written(1000);
  for (size_t i = 0; i < written.size(); ++i)
    written[i] = static_cast<float>(i);
  const Handle packed = chunked({64});
  H5Pset_shuffle(packed.get());
  H5Pset_deflate(packed.get(), 6);
  H5Pset_fletcher32(packed.get());
  const Handle compact(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(compact.get(), H5D_COMPACT);
  image_.dataset("packed", H5T_IEEE_F32LE, {1000}, written.data(),
                 packed.get());
  image_.dataset("compact", H5T_IEEE_F32LE, {1000}, written.data(),
                 compact.get());
  const Hdf5Reader file = read();
  for (const char* name : {"packed", "compact"}) {
    EXPECT_THAT(values(file.f32(name, {1000})),
                ::testing::ElementsAreArray(written));
  }
}

TEST_P(Hdf5Reading, ReadsScalarsAndEmptyArrays) {
  image_.dataset<float>("none", H5T_IEEE_F32LE, {0, 3}, {});
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle set(H5Dcreate2(image_.id(), "one", H5T_IEEE_F32LE, space.get(),
                              H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                   H5Dclose);
  const float value = 2.5f;
  H5Dwrite(set.get(), H5T_IEEE_F32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
  const Hdf5Reader file = read();
  EXPECT_EQ(file.shape("one"), Shape());
  EXPECT_EQ(file.f32("one", {}).item(), 2.5f);
  EXPECT_EQ(file.shape("none"), Shape({0, 3}));
  EXPECT_EQ(file.f32("none", {0, 3}).size(), 0);
}

TEST_P(Hdf5Reading, FollowsASecondHardLink) {
  image_.dataset("a/w", H5T_IEEE_F32LE, {1}, {7.f});
  H5Lcreate_hard(image_.id(), "a/w", image_.id(), "again", H5P_DEFAULT,
                 H5P_DEFAULT);
  EXPECT_THAT(values(read().f32("again", {1})), ElementsAre(7.f));
}

TEST_P(Hdf5Reading, ChecksShapesBeforeAllocating) {
  image_.dataset<float>("w", H5T_IEEE_F32LE, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Handle packed = chunked({1024});
  image_.dataset("bomb", H5T_IEEE_F32LE, {hsize_t{1} << 40}, nullptr,
                 packed.get());
  for (const Shape& other : {Shape({3, 2}), Shape({6}), Shape({2, 3, 1})}) {
    EXPECT_EQ(refusal_of_f32("w", other), (Failure{"shape_mismatch", "'/w'"}));
  }
  EXPECT_EQ(refusal_of_f32("bomb", {8}),
            (Failure{"shape_mismatch", "'/bomb'"}));
  EXPECT_EQ(refusal_of_f32("bomb", {int64_t{1} << 40}),
            (Failure{"size_limit", "'/bomb'"}));
  EXPECT_EQ(read().shape("bomb"), Shape({int64_t{1} << 40}));
}

TEST_P(Hdf5Reading, RejectsDimensionsThatOverflow) {
  const Handle packed = chunked({1, 1});
  image_.dataset("w", H5T_IEEE_F32LE, {hsize_t{1} << 40, hsize_t{1} << 40},
                 nullptr, packed.get());
  EXPECT_EQ(failure_of<FormatError>([&] { read().shape("w"); }),
            (Failure{"size_limit", "'/w'"}));
  EXPECT_EQ(refusal_of_f32("w", {1, 1}), (Failure{"size_limit", "'/w'"}));
}

TEST_P(Hdf5Reading, RejectsMoreThanEightDimensions) {
  image_.dataset("w", H5T_IEEE_F32LE, Dims(9, 1), {1.f});
  image_.dataset("v", H5T_IEEE_F32LE, Dims(8, 1), {1.f});
  EXPECT_EQ(failure_of<FormatError>([&] { read().shape("w"); }),
            (Failure{"invalid_shape", "'/w'"}));
  EXPECT_EQ(read().f32("v", {1, 1, 1, 1, 1, 1, 1, 1}).size(), 1);
}

TEST_P(Hdf5Reading, RejectsNonFloatTypes) {
  const Handle pair(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
  H5Tinsert(pair.get(), "r", 0, H5T_IEEE_F32LE);
  H5Tinsert(pair.get(), "i", 4, H5T_IEEE_F32LE);
  const Handle opaque(H5Tcreate(H5T_OPAQUE, 2), H5Tclose);
  const Handle narrow(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(narrow.get(), 31, 20, 11, 0, 20);
  const std::array<char, 16> data{};
  image_.dataset("pair", pair.get(), {1}, data.data());
  image_.dataset("opaque", opaque.get(), {1}, data.data());
  image_.dataset("narrow", narrow.get(), {1}, data.data());
  image_.dataset("vax", H5T_VAX_F32, {1}, data.data());
  image_.dataset("int", H5T_STD_I32LE, {1}, data.data());
  image_.dataset("text", fixed_string(4, H5T_STR_NULLPAD).get(), {1},
                 data.data());
  const Hdf5Reader file = read();
  const auto refusal = [&](const char* name) {
    return failure_of<FormatError>([&] { (void)file.f32(name, {1}); });
  };
  EXPECT_EQ(refusal("pair"), (Failure{"unsupported_type", "'/pair'"}));
  EXPECT_EQ(refusal("opaque"), (Failure{"unsupported_type", "'/opaque'"}));
  EXPECT_EQ(refusal("narrow"), (Failure{"unsupported_type", "'/narrow'"}));
  EXPECT_EQ(refusal("vax"), (Failure{"unsupported_type", "'/vax'"}));
  EXPECT_EQ(refusal("int"), (Failure{"unsupported_type", "'/int'"}));
  EXPECT_EQ(refusal("text"), (Failure{"unsupported_type", "'/text'"}));
  EXPECT_EQ(failure_of<FormatError>([&] { (void)file.i64("narrow", {1}); }),
            (Failure{"unsupported_type", "'/narrow'"}));
}

TEST_P(Hdf5Reading, ReadsTwoOpaqueBytesAsBfloat16IfAnAttributeSaysSo) {
  const Handle opaque(H5Tcreate(H5T_OPAQUE, 2), H5Tclose);
  image_.dataset<uint16_t>("w", opaque.get(), {2}, {0x3fc0, 0xff80});
  const char* name = "bfloat16";
  image_.texts("w", "dtype", {}, {name});
  EXPECT_THAT(values(read().f32("w", {2})),
              ElementsAre(1.5f, -std::numeric_limits<float>::infinity()));
}

TEST_P(Hdf5Reading, RejectsNonHardLinksAtEveryComponent) {
  image_.dataset("real/w", H5T_IEEE_F32LE, {1}, {1.f});
  H5Lcreate_soft("/real", image_.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/real/w", image_.id(), "soft_w", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external("/etc/passwd", "/", image_.id(), "out", H5P_DEFAULT,
                     H5P_DEFAULT);
  const Hdf5Reader file = read();
  const auto refusal = [&](const char* path) {
    const Failure failure =
        failure_of<FormatError>([&] { (void)file.f32(path, {1}); });
    EXPECT_EQ(failure_of<FormatError>([&] { file.kind(path); }), failure);
    EXPECT_EQ(failure_of<FormatError>([&] { file.attribute(path, "a"); }),
              failure);
    return failure;
  };
  EXPECT_EQ(refusal("soft/w"), (Failure{"unsupported_format", "'/soft'"}));
  EXPECT_EQ(refusal("soft_w"), (Failure{"unsupported_format", "'/soft_w'"}));
  EXPECT_EQ(refusal("out"), (Failure{"unsupported_format", "'/out'"}));
  EXPECT_EQ(refusal("out/w"), (Failure{"unsupported_format", "'/out'"}));
}

TEST_P(Hdf5Reading, RejectsDataOfOtherFiles) {
  const Handle external(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_external(external.get(), "/etc/passwd", 0, 8);
  image_.dataset("w", H5T_IEEE_F32LE, {2}, nullptr, external.get());
  EXPECT_EQ(refusal_of_f32("w", {2}), (Failure{"unsupported_format", "'/w'"}));
}

TEST_P(Hdf5Reading, RejectsVirtualDatasets) {
  const hsize_t two = 2;
  const Handle space(H5Screate_simple(1, &two, nullptr), H5Sclose);
  const Handle virtual_set(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_virtual(virtual_set.get(), space.get(), "/etc/passwd", "x",
                 space.get());
  image_.dataset("w", H5T_IEEE_F32LE, {2}, nullptr, virtual_set.get());
  EXPECT_EQ(refusal_of_f32("w", {2}), (Failure{"unsupported_format", "'/w'"}));
}

TEST_P(Hdf5Reading, NamesAMissingFilter) {
  for (const int id : {32000, 32001, 32015, 32004, 300}) {
    const Handle packed = chunked({4});
    H5Pset_filter(packed.get(), id, H5Z_FLAG_OPTIONAL, 0, nullptr);
    image_.dataset<float>(std::to_string(id), H5T_IEEE_F32LE, {4}, {1, 2, 3, 4},
                          packed.get());
    EXPECT_EQ(failure_of<UnsupportedError>(
                  [&] { (void)read().f32(std::to_string(id), {4}); }),
              (Failure{"unsupported_format", fmt::format("'/{}'", id)}));
  }
}

TEST_P(Hdf5Reading, RejectsDatasetsWithoutData) {
  image_.dataset("w", H5T_IEEE_F32LE, {2}, nullptr);
  EXPECT_EQ(refusal_of_f32("w", {2}), (Failure{"missing_value", "'/w'"}));
}

TEST_P(Hdf5Reading, RejectsObjectsOfTheWrongKind) {
  image_.dataset("w", H5T_IEEE_F32LE, {1}, {1.f});
  const Handle type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tcommit2(image_.id(), "type", type.get(), H5P_DEFAULT, H5P_DEFAULT,
             H5P_DEFAULT);
  const Hdf5Reader file = read();
  const auto refusal = [](auto body) { return failure_of<FormatError>(body); };
  EXPECT_EQ(refusal([&] { (void)file.f32("", {1}); }),
            (Failure{"malformed_file", "'/'"}));
  EXPECT_EQ(refusal([&] { file.children("w"); }),
            (Failure{"malformed_file", "'/w'"}));
  EXPECT_EQ(refusal([&] { file.kind("type"); }),
            (Failure{"unsupported_format", "'/type'"}));
  EXPECT_EQ(refusal([&] { file.shape("type"); }),
            (Failure{"malformed_file", "'/type'"}));
  EXPECT_EQ(refusal([&] { file.shape("x"); }),
            (Failure{"unknown_name", "'/x'"}));
  EXPECT_EQ(refusal([&] { file.attribute("x", "a"); }),
            (Failure{"unknown_name", "'/x'"}));
  EXPECT_EQ(refusal([&] { file.children("x"); }),
            (Failure{"unknown_name", "'/x'"}));
}

TEST_P(Hdf5Reading, RejectsInvalidPaths) {
  image_.dataset("w", H5T_IEEE_F32LE, {1}, {1.f});
  const Hdf5Reader file = read();
  for (const std::string& path :
       {std::string("./w"), std::string("../w"), std::string("w\0x", 3),
        std::string(5000, 'x')}) {
    EXPECT_TRUE(failed(failure_of<FormatError>([&] { file.kind(path); })))
        << path;
    EXPECT_TRUE(failed(failure_of<FormatError>([&] {
      (void)file.f32(path, {1});
    }))) << path;
  }
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "/a";
  EXPECT_EQ(failure_of<FormatError>([&] { file.kind(deep); }),
            (Failure{"size_limit",
                     "'/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/"
                     "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/"
                     "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/"
                     "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a'"}));
}

TEST_P(Hdf5Reading, PrintsNamesSafelyForATerminal) {
  EXPECT_EQ(refusal_of_f32("a\x1b[31m\n", {1}),
            (Failure{"unknown_name", "'/a?[31m?'"}));
}

}  // namespace
}  // namespace octet::io
