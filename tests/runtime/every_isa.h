// Fixture for tests that run on every supported instruction set.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include <octet/runtime/system.h>

namespace octet {

class EveryIsa : public testing::TestWithParam<Isa> {
 protected:
  EveryIsa() : before_(active_isa()) { set_active_isa(GetParam()); }
  ~EveryIsa() override { set_active_isa(before_); }

 private:
  Isa before_;
};

/// INSTANTIATE_TEST_SUITE_P(Isa, Fixture, every_isa(), isa_name);
inline auto every_isa() { return testing::ValuesIn(supported_isas()); }
inline std::string isa_name(const testing::TestParamInfo<Isa>& info) {
  return std::string(to_string(info.param));
}

}  // namespace octet
