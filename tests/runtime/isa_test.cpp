#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/isa.h>

namespace octet {
namespace {

TEST(Isa, AlwaysHasTheBaseline) {
  const std::vector<Isa> isas = supported_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), Isa::baseline);
}

TEST(Isa, CanBeChosen) {
  const Isa before = active_isa();
  for (const Isa isa : supported_isas()) {
    set_active_isa(isa);
    EXPECT_EQ(active_isa(), isa);
  }
  set_active_isa(before);
}

TEST(Isa, HasNamesThatTheEnvironmentUses) {
  EXPECT_EQ(to_string(Isa::baseline), "baseline");
  EXPECT_EQ(to_string(Isa::avx2), "avx2");
  EXPECT_EQ(to_string(Isa::avx512), "avx512");
}

}  // namespace
}  // namespace octet
