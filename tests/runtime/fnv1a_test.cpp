#include <string_view>

#include <gtest/gtest.h>

#include <octet/runtime/detail/fnv1a.h>

namespace octet {
namespace {

uint64_t hash_of(std::string_view text) {
  Fnv1a hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.value();
}

// Source: RFC 9923, test vectors of 64-bit FNV-1a.
TEST(Fnv1a, MatchesPublishedValues) {
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8u);
}

TEST(Fnv1a, ContinuesFromAValue) {
  Fnv1a hash(hash_of("foo"));
  hash.add(std::as_bytes(std::span(std::string_view("bar"))));
  EXPECT_EQ(hash.value(), hash_of("foobar"));
}

}  // namespace
}  // namespace octet
