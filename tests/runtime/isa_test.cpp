#include <cstdio>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/system.h>
#include <octet/runtime/tensor.h>

#include "../support.h"

namespace octet {
namespace {

TEST(Isa, AlwaysHasTheBaseline) {
  const std::vector<Isa> isas = supported_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), Isa::baseline);
}

TEST(Isa, CanBeSelected) {
  const Isa before = active_isa();
  for (const Isa isa : supported_isas()) {
    set_active_isa(isa);
    EXPECT_EQ(active_isa(), isa);
  }
  set_active_isa(before);
}

TEST(Isa, HasTheNamesOfTheEnvironmentVariable) {
  EXPECT_EQ(to_string(Isa::baseline), "baseline");
  EXPECT_EQ(to_string(Isa::avx2), "avx2");
  EXPECT_EQ(to_string(Isa::avx_vnni), "avx_vnni");
  EXPECT_EQ(to_string(Isa::avx512), "avx512");
  EXPECT_EQ(to_string(Isa::avx512_vnni), "avx512_vnni");
  EXPECT_EQ(to_string(Isa::avx512_amx), "avx512_amx");
}

TEST(Isa, IsParsedCaseInsensitively) {
  const std::vector<Isa> two{Isa::baseline, Isa::avx2};
  EXPECT_EQ(isa_named("avx2", two), Isa::avx2);
  EXPECT_EQ(isa_named("BaseLine", two), Isa::baseline);
}

TEST(Isa, RejectsUnknownAndUnsupportedNames) {
  const std::vector<Isa> two{Isa::baseline, Isa::avx2};
  EXPECT_EQ(
      failure_of<UnsupportedError>([&] { (void)isa_named("avx9000", two); }),
      (Failure{"unsupported_value", "OCTET_ISA"}));
  EXPECT_EQ(
      failure_of<UnsupportedError>([&] { (void)isa_named("avx512", two); }),
      (Failure{"unsupported_value", "OCTET_ISA"}));
}

/// Runs in a separate process, as the choice is permanent.
template <class Body>
[[noreturn]] void with_isa(const char* name, Body body) {
  setenv("OCTET_ISA", name, 1);
  try {
    body();
  } catch (const UnsupportedError& error) {
    std::fprintf(stderr, "%s", error.what());
    std::exit(7);
  }
  std::exit(0);
}

TEST(IsaDeathTest, BadNamesAreReportedByTheFirstTensor) {
#ifdef OCTET_EMULATED
  GTEST_SKIP() << "an emulated program cannot start itself again";
#endif
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(with_isa("avx9000", [] { (void)Tensor::zeros({2}); }),
              testing::ExitedWithCode(7), "OCTET_ISA: .*avx9000");
  EXPECT_EXIT(with_isa("baseline", [] { (void)Tensor::zeros({2}); }),
              testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace octet
