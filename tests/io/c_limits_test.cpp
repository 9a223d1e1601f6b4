// Limits of C code: sizes that no test allocates.
#include <gmock/gmock.h>

#include <octet/runtime/error.h>

#include "../support.h"
#include "c/network.h"

namespace octet::io {
namespace {

using ::testing::HasSubstr;

c::CNetwork network_of(const c::PortableBuffer& x, const c::PortableBuffer& y) {
  c::CNetwork net;
  net.program.buffers = {x, y};
  net.program.steps = {
      {"enlarge", "nearest", c::PortableNearest{0, 1, {}, {}}}};
  return net;
}

const c::PortableBuffer kSmall{.h = 4, .w = 4, .c = 1};

TEST(CLimits, AcceptsValuesOf2GiBLessAByte) {
  c::CNetwork net = network_of(kSmall, kSmall);
  net.arena = (int64_t{1} << 31) - 1;
  check_sizes(net);
}

TEST(CLimits, RejectsLargerValuesAndArenas) {
  const c::PortableBuffer large{.h = 1 << 15, .w = 1 << 14, .c = 1};  // floats
  const Failure value = failure_of<UnsupportedError>(
      [&] { check_sizes(network_of(kSmall, large)); });
  EXPECT_EQ(value.code, "size_limit");
  EXPECT_THAT(value.message, HasSubstr("got 2147483648"));
  c::PortableBuffer bytes = large;
  bytes.quant = c::PortableQuant{};
  check_sizes(network_of(kSmall, bytes));
  bytes.quant->low = -32768;
  bytes.quant->high = 32767;
  check_sizes(network_of(kSmall, bytes));
  bytes.c = 2;
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              check_sizes(network_of(kSmall, bytes));
            }).code,
            "size_limit");
  c::CNetwork net = network_of(kSmall, kSmall);
  net.arena = int64_t{1} << 31;
  EXPECT_EQ(failure_of<UnsupportedError>([&] { check_sizes(net); }).code,
            "size_limit");
  net.arena = (int64_t{1} << 31) - 16;
  net.scratch = 16;
  EXPECT_EQ(failure_of<UnsupportedError>([&] { check_sizes(net); }).code,
            "size_limit");
}

TEST(CLimits, RejectsWideImagesOfRepeatedPixels) {
  const c::PortableBuffer wide{.h = 1, .w = 1 << 15, .c = 1};
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              check_sizes(network_of(wide, kSmall));
            }).code,
            "size_limit");
}

}  // namespace
}  // namespace octet::io
