#include "zip.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <octet/runtime/error.h>

#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> (8 * i) & 0xff);
  }
  return text;
}

std::string deflated(std::string_view contents) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, contents.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));
  stream.avail_in = static_cast<uInt>(contents.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// One of the two headers of a member. Source: PKWARE, APPNOTE.TXT 4.3.
struct Header {
  std::string name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint64_t crc = 0;
  uint64_t packed = 0;
  uint64_t unpacked = 0;
  uint16_t disk = 0;

  std::string common() const {
    return little(flags, 2) + little(method, 2) + std::string(4, 'd') +
           little(crc, 4) + little(packed, 4) + little(unpacked, 4) +
           little(name.size(), 2);
  }
};

struct Member {
  Header local;
  Header central;
  std::string data;
  std::string extra = {};   // after the local name
  std::string behind = {};  // after the data
};

Member member(const std::string& name, const std::string& contents,
              uint16_t method = 0) {
  const std::string data = method == 8 ? deflated(contents) : contents;
  const Header header{
      .name = name,
      .method = method,
      .crc = crc32_z(0, reinterpret_cast<const Bytef*>(contents.data()),
                     contents.size()),
      .packed = data.size(),
      .unpacked = contents.size()};
  return {.local = header, .central = header, .data = data};
}

struct End {
  uint16_t disk = 0;
  int more_here = 0;  // members declared in excess
  int more = 0;
  int64_t later = 0;  // excess of the directory offset
  std::string before = {};
  std::string comment = {};
};

std::string zip(const std::vector<Member>& members, const End& end = {}) {
  std::string bytes;
  std::string directory;
  for (const Member& m : members) {
    directory += "PK\x01\x02" + little(20, 2) + little(20, 2) +
                 m.central.common() + little(0, 4) + little(m.central.disk, 2) +
                 little(0, 6) + little(bytes.size(), 4) + m.central.name;
    bytes += "PK\x03\x04" + little(20, 2) + m.local.common() +
             little(m.extra.size(), 2) + m.local.name + m.extra + m.data +
             m.behind;
  }
  const uint64_t start = bytes.size() + static_cast<uint64_t>(end.later);
  const auto count = static_cast<int>(members.size());
  return bytes + directory + end.before + "PK\x05\x06" + little(end.disk, 2) +
         little(0, 2) +
         little(static_cast<uint64_t>(count + end.more_here), 2) +
         little(static_cast<uint64_t>(count + end.more), 2) +
         little(directory.size(), 4) + little(start, 4) +
         little(end.comment.size(), 2) + end.comment;
}

constexpr std::array<uint16_t, 2> kMethods = {0, 8};  // stored, deflated
constexpr std::array<std::string_view, 2> kWanted = {"config.json", "w.h5"};

std::map<std::string, std::string> read(std::string_view bytes,
                                        const ZipLimits& limits = {}) {
  return read_zip(bytes, kWanted, limits);
}

template <class E = FormatError>
Failure refusal(std::string_view bytes, const ZipLimits& limits = {}) {
  return failure_of<E>([&] { read(bytes, limits); });
}

/// Returns the error after `change` of one valid member.
template <class E = FormatError>
Failure refusal_after(const std::function<void(Member&)>& change,
                      uint16_t method = 0) {
  Member one = member("w.h5", std::string(1000, 'w'), method);
  change(one);
  return refusal<E>(zip({one}));
}

// zipfile.ZipFile(..., "w") of Python 3.11: config.json is "hello", stored;
// w.h5 is "abc" 20 times, deflated.
constexpr auto kPython = std::to_array<uint8_t>(
    {0x50, 0x4b, 0x03, 0x04, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
     0x21, 0x00, 0x86, 0xa6, 0x10, 0x36, 0x05, 0x00, 0x00, 0x00, 0x05, 0x00,
     0x00, 0x00, 0x0b, 0x00, 0x00, 0x00, 0x63, 0x6f, 0x6e, 0x66, 0x69, 0x67,
     0x2e, 0x6a, 0x73, 0x6f, 0x6e, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x50, 0x4b,
     0x03, 0x04, 0x14, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00,
     0x2d, 0xfa, 0x91, 0xe1, 0x08, 0x00, 0x00, 0x00, 0x3c, 0x00, 0x00, 0x00,
     0x04, 0x00, 0x00, 0x00, 0x77, 0x2e, 0x68, 0x35, 0x4b, 0x4c, 0x4a, 0x4e,
     0x24, 0x17, 0x01, 0x00, 0x50, 0x4b, 0x01, 0x02, 0x14, 0x03, 0x14, 0x00,
     0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0x86, 0xa6, 0x10, 0x36,
     0x05, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00,
     0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x00, 0x00,
     0x00, 0x00, 0x63, 0x6f, 0x6e, 0x66, 0x69, 0x67, 0x2e, 0x6a, 0x73, 0x6f,
     0x6e, 0x50, 0x4b, 0x01, 0x02, 0x14, 0x03, 0x14, 0x00, 0x00, 0x00, 0x08,
     0x00, 0x00, 0x00, 0x21, 0x00, 0x2d, 0xfa, 0x91, 0xe1, 0x08, 0x00, 0x00,
     0x00, 0x3c, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
     0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x2e, 0x00, 0x00, 0x00, 0x77,
     0x2e, 0x68, 0x35, 0x50, 0x4b, 0x05, 0x06, 0x00, 0x00, 0x00, 0x00, 0x02,
     0x00, 0x02, 0x00, 0x6b, 0x00, 0x00, 0x00, 0x58, 0x00, 0x00, 0x00, 0x00,
     0x00});

TEST(Zip, ReadsPythonsArchives) {
  const std::string bytes(kPython.begin(), kPython.end());
  std::string expected;
  for (int i = 0; i < 20; ++i) expected += "abc";
  EXPECT_TRUE(is_zip(bytes));
  EXPECT_THAT(read(bytes), ElementsAre(Pair("config.json", "hello"),
                                       Pair("w.h5", expected)));
}

TEST(Zip, ReadsStoredAndDeflatedMembers) {
  std::string large;
  for (int i = 0; i < 300000; ++i) large += std::to_string(i);
  for (const uint16_t method : kMethods) {
    EXPECT_THAT(read(zip({member("config.json", "{}", method),
                          member("w.h5", large, method)})),
                ElementsAre(Pair("config.json", "{}"), Pair("w.h5", large)));
    EXPECT_THAT(read(zip({member("w.h5", "", method)})),
                ElementsAre(Pair("w.h5", "")));
  }
}

TEST(Zip, IgnoresOtherMembers) {
  Member odd = member("../../etc/passwd", "x");
  odd.central.flags = odd.local.flags = 1;
  odd.central.crc = 7;
  EXPECT_THAT(read(zip({odd, member("w.h5", "w"), member("W.H5", "no")})),
              ElementsAre(Pair("w.h5", "w")));
  EXPECT_THAT(read(zip({member("assets/w.h5", "no")})), IsEmpty());
  EXPECT_THAT(read(zip({})), IsEmpty());
}

TEST(Zip, AcceptsTrailingSizesExtraFieldsAndComments) {
  Member streamed = member("w.h5", std::string(99, 'w'), 8);
  streamed.central.flags = streamed.local.flags = 8;
  streamed.local.crc = streamed.local.packed = streamed.local.unpacked = 0;
  streamed.extra = "xy";
  streamed.behind = "PK\x07\x08 and sizes";
  EXPECT_THAT(read(zip({streamed}, {.comment = "PK\x05\x06 a comment"})),
              ElementsAre(Pair("w.h5", std::string(99, 'w'))));
}

TEST(Zip, RejectsWrongCrcs) {
  for (const uint16_t method : kMethods) {
    EXPECT_EQ(refusal_after([](Member& m) { m.local.crc = m.central.crc ^= 1; },
                            method),
              (Failure{"checksum_mismatch", "ZIP member 'w.h5'"}));
  }
}

TEST(Zip, RejectsHeadersThatDisagree) {
  for (const auto& change : std::vector<std::function<void(Member&)>>{
           [](Member& m) { m.local.name = "w.h6"; },
           [](Member& m) { m.local.flags = 2; },
           [](Member& m) { m.local.method = 8; },
           [](Member& m) { m.local.crc = 0; },
           [](Member& m) { m.local.packed = 999; },
           [](Member& m) { m.local.unpacked = 999; }}) {
    EXPECT_EQ(refusal_after(change),
              (Failure{"malformed_file", "ZIP member 'w.h5'"}));
  }
}

TEST(Zip, RejectsWrongSizes) {
  EXPECT_EQ(
      refusal_after([](Member& m) { m.local.packed = m.central.packed = 999; }),
      (Failure{"malformed_file", "ZIP member 'w.h5'"}));
  EXPECT_EQ(refusal_after([](Member& m) {
              m.local.packed = m.central.packed = 2000;
              m.local.unpacked = m.central.unpacked = 2000;
            }),
            (Failure{"truncated_file", "ZIP header of 'w.h5'"}));
  const auto deflated_refusal = [](uint64_t unpacked, int packed_more) {
    return refusal_after(
        [&](Member& m) {
          m.data += "xy";
          m.local.unpacked = m.central.unpacked = unpacked;
          m.local.packed = m.central.packed =
              m.central.packed + static_cast<uint64_t>(packed_more);
        },
        8);
  };
  EXPECT_EQ(deflated_refusal(999, 0),
            (Failure{"malformed_file", "ZIP member 'w.h5'"}));
  EXPECT_EQ(deflated_refusal(1001, 0),
            (Failure{"malformed_file", "ZIP member 'w.h5'"}));
  EXPECT_EQ(deflated_refusal(1000, -1),
            (Failure{"malformed_file", "ZIP member 'w.h5'"}));
  EXPECT_EQ(deflated_refusal(1000, 1),
            (Failure{"malformed_file", "ZIP member 'w.h5'"}));
  EXPECT_EQ(deflated_refusal(1000, 0).code, "no error");
}

TEST(Zip, RejectsDataThatIsNotDeflated) {
  EXPECT_EQ(refusal_after([](Member& m) { m.data[0] = '\xff'; }, 8),
            (Failure{"malformed_file", "ZIP member 'w.h5'"}));
}

TEST(Zip, RejectsDuplicateNames) {
  EXPECT_EQ(refusal(zip({member("w.h5", "a"), member("w.h5", "b")})),
            (Failure{"duplicate_name", "ZIP member 'w.h5'"}));
  EXPECT_EQ(refusal(zip({member("x", "a"), member("x", "a")})),
            (Failure{"duplicate_name", "ZIP member 'x'"}));
}

TEST(Zip, RejectsUnsupportedArchivesWithTheReason) {
  const auto both = [](auto change) {
    return refusal_after<UnsupportedError>([&](Member& m) {
      change(m.local);
      change(m.central);
    });
  };
  EXPECT_EQ(both([](Header& h) { h.flags = 1; }),
            (Failure{"unsupported_format", "ZIP member 'w.h5'"}));
  EXPECT_EQ(both([](Header& h) { h.flags = 1 << 13; }),
            (Failure{"unsupported_format", "ZIP member 'w.h5'"}));
  EXPECT_EQ(both([](Header& h) { h.method = 12; }),
            (Failure{"unsupported_format", "ZIP member 'w.h5'"}));
  EXPECT_EQ(both([](Header& h) { h.packed = h.unpacked = 0xffffffff; }),
            (Failure{"unsupported_format", "ZIP member 'w.h5'"}));
  EXPECT_EQ(both([](Header& h) { h.disk = 1; }),
            (Failure{"unsupported_format", "ZIP member 'w.h5'"}));
  const std::vector<Member> one = {member("w.h5", "w")};
  EXPECT_EQ(refusal<UnsupportedError>(zip(one, {.disk = 1})),
            (Failure{"unsupported_format", "ZIP file"}));
  EXPECT_EQ(refusal<UnsupportedError>(zip(one, {.more = 1})),
            (Failure{"unsupported_format", "ZIP file"}));
  EXPECT_EQ(refusal<UnsupportedError>(
                zip(one, {.more_here = 0xfffe, .more = 0xfffe})),
            (Failure{"unsupported_format", "ZIP file"}));
  EXPECT_EQ(refusal<UnsupportedError>(
                zip(one, {.before = "PK\x06\x07" + std::string(16, '\0')})),
            (Failure{"unsupported_format", "ZIP file"}));
}

TEST(Zip, RejectsMisplacedDirectories) {
  const std::vector<Member> one = {member("w.h5", "w")};
  EXPECT_EQ(refusal(zip(one, {.later = 1})),
            (Failure{"malformed_file", "ZIP file"}));
  EXPECT_EQ(refusal("before" + zip(one)),
            (Failure{"malformed_file", "ZIP file"}));
  EXPECT_EQ(refusal(zip(one) + "behind"),
            (Failure{"truncated_file", "ZIP file"}));
  EXPECT_EQ(refusal(zip(one, {.more_here = 1, .more = 1})),
            (Failure{"truncated_file", "ZIP directory"}));
  EXPECT_EQ(refusal(zip(one, {.more_here = -1, .more = -1})),
            (Failure{"malformed_file", "ZIP directory"}));
}

TEST(Zip, RejectsMembersAboveTheLimits) {
  const std::string bytes = zip({member("w.h5", std::string(100000, 'w'), 8)});
  EXPECT_EQ(refusal(bytes, {.most_bytes = 99999}),
            (Failure{"size_limit", "ZIP member 'w.h5'"}));
  EXPECT_EQ(refusal(bytes, {.most_ratio = 10, .any_ratio_bytes = 99999}),
            (Failure{"size_limit", "ZIP member 'w.h5'"}));
  EXPECT_EQ(refusal(bytes, {.most_ratio = 10, .any_ratio_bytes = 100000}),
            (Failure{"no error", ""}));
  EXPECT_EQ(refusal(bytes, {.most_bytes = 100000, .most_ratio = 1000}),
            (Failure{"no error", ""}));
}

TEST(Zip, StopsABombAtTheDeclaredSize) {
  // Both headers declare 1000 bytes; the data would be 8 MiB.
  Member bomb = member("w.h5", std::string(8 << 20, '\0'), 8);
  bomb.local.unpacked = bomb.central.unpacked = 1000;
  EXPECT_EQ(refusal(zip({bomb})),
            (Failure{"malformed_file", "ZIP member 'w.h5'"}));
}

TEST(Zip, RejectsEveryTruncation) {
  const std::string whole =
      zip({member("config.json", "{}"), member("w.h5", "abcabcabc", 8)});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(failed(refusal(whole.substr(0, size)))) << size;
  }
}

TEST(Zip, ReadsOrRejectsEveryFlippedBit) {
  const std::string whole =
      zip({member("config.json", "{}"), member("w.h5", "abcabcabc", 8)});
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      for (const auto& [name, contents] : read(damaged)) {
        EXPECT_EQ(contents, name == "w.h5" ? "abcabcabc" : "{}") << bit;
      }
    } catch (const FormatError&) {
    } catch (const UnsupportedError&) {
    }
  }
}

TEST(Zip, IsDetected) {
  EXPECT_FALSE(is_zip(""));
  EXPECT_FALSE(is_zip("PK"));
  EXPECT_FALSE(is_zip("\x89HDF\r\n\x1a\n"));
  EXPECT_TRUE(failed(refusal("")));
  EXPECT_TRUE(failed(refusal(std::string(70000, 'x'))));
}

}  // namespace
}  // namespace octet::io
