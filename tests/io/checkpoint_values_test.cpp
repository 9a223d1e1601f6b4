// Components of Octet's files: numbers as text, and the checksum.
#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checksum.h"
#include "checkpoint/values.h"
#include "crc32c.h"

namespace octet::io {
namespace {

TEST(CheckpointValues, AreRestoredBitForBit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const Config values =
      Config()
          .set("nan", nan)
          .set("list", Config::List{inf, -inf, 0.1, -0.0, 1, 1.0, 5e-324})
          .set("text", "caf\xc3\xa9 \"\n\t")
          .set("none", Config())
          .set("empty", Config::Object{})
          .set("int", std::numeric_limits<int64_t>::min());
  const Config back = from_text(to_text(values));
  EXPECT_TRUE(std::isnan(back.at("nan").as_number()));
  const Config::List& list = back.at("list").as_list();
  EXPECT_EQ(list[0].as_number(), inf);
  EXPECT_EQ(list[1].as_number(), -inf);
  EXPECT_EQ(list[2].as_number(), 0.1);
  EXPECT_TRUE(std::signbit(list[3].as_number()));
  EXPECT_TRUE(list[4].is_int());
  EXPECT_FALSE(list[5].is_int());
  EXPECT_EQ(list[6].as_number(), 5e-324);
  EXPECT_EQ(back.at("text"), values.at("text"));
  EXPECT_TRUE(back.at("none").is_null());
  EXPECT_EQ(back.at("empty"), values.at("empty"));
  EXPECT_EQ(back.at("int"), values.at("int"));
}

TEST(CheckpointValues, LeaveOtherObjectsAlone) {
  const Config values =
      Config()
          .set("a", Config().set("number", "seven"))
          .set("b", Config().set("number", 7))
          .set("c", Config().set("number", "nan").set("x", 1));
  EXPECT_EQ(from_text(to_text(values)), values);
}

TEST(Checksum, FollowsTheFormat) {
  const std::string contents = with_checksum("image");
  EXPECT_EQ(contents.substr(0, 5), "image");
  EXPECT_EQ(contents.substr(5, 16),
            std::string("OCTETSUM\5\0\0\0\0\0\0\0", 16));
  const uint32_t sum = crc32c(contents.substr(0, 21));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(static_cast<unsigned char>(contents[21 + i]),
              sum >> 8 * i & 0xff);
  }
  EXPECT_EQ(verify_checksum(contents), "image");
}

TEST(Crc32c, IsTheSameForEightBytesAtATime) {
  std::string bytes;
  uint32_t crc = ~0u;
  for (int i = 0; i < 100; ++i) {
    bytes += static_cast<char>(i * 37);
    crc ^= static_cast<unsigned char>(bytes.back());
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    }
    EXPECT_EQ(crc32c(bytes), ~crc) << i;
  }
}

}  // namespace
}  // namespace octet::io
