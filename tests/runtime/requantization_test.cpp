// Requantization by one multiply-add, against the epilogue step by step.
#include "inference/requantization.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/rng.h>

#include "every_isa.h"

namespace octet::inference {
namespace {

using kernels::StorageFormat;

constexpr int kChannels = 37;
constexpr int kSums = 70000;  // from -kSums to kSums

struct Parameters {
  std::vector<float> rescale, a, b;
  float scale = 1, low = -128, high = 127;
  int zero_byte = 128;
};

// Ranges of q cover a part of the sums.
Parameters random_parameters(uint64_t seed) {
  Parameters p;
  Rng rng(seed);
  Tensor t({3, kChannels});
  rng.fill_uniform(t, -1, 1);
  p.scale = 0.037f;
  for (int i = 0; i < kChannels; ++i) {
    p.rescale.push_back(0.0005f + 0.0004f * t.f32()[static_cast<size_t>(i)]);
    p.a.push_back(t.f32()[static_cast<size_t>(kChannels + i)]);
    p.b.push_back(2 * t.f32()[static_cast<size_t>(2 * kChannels + i)]);
  }
  p.a[3] = 0;
  return p;
}

class Requantizations : public EveryIsa {
 protected:
  // Kernels of the instruction set `baseline` have no requantization.
  static void expect_baseline() { EXPECT_EQ(GetParam(), Isa::baseline); }

  // Returns the number of channels without a multiply-add, or -1 without
  // kernels. Compares the stored values of all sums.
  static int compare(const Parameters& p) {
    const kernels::CodeTable& table = kernels::table().codes;
    kernels::FusedEpilogue f;
    f.terms = 1;
    f.a = p.a.data();
    f.b = p.b.data();
    f.low = 0;  // ReLU6
    f.high = 6;
    bool nan = false;
    f.nan = &nan;
    f.output_count = 1;
    kernels::FusedOutput& o = f.outputs[0];
    o.form = table.form;
    o.pixel = kChannels;
    o.scale = p.scale;
    o.code_low = p.low;
    o.code_high = p.high;
    o.zero_byte = p.zero_byte;
    kernels::table().prepare(f);
    kernels::Epilogue e;
    e.rescale = p.rescale.data();
    e.fused = &f;
    const Requantization found = find_requantization(e, kChannels, table);
    if (found.multiplier.empty()) return -1;

    std::vector<int32_t> sums;
    for (int sum = -kSums; sum <= kSums; ++sum) {
      for (int c = 0; c < kChannels; ++c) sums.push_back(sum);
    }
    const auto stored = [&] {
      std::vector<int16_t> q(sums.size() + 32);
      o.to = q.data();
      table.finish(sums.data(), 2 * kSums + 1, kChannels, e);
      return q;
    };
    const std::vector<int16_t> expected = stored();
    f.multiplier = found.multiplier.f32().data();
    f.offset = found.offset.f32().data();
    EXPECT_EQ(stored(), expected);
    int missing = 0;
    for (const float v : found.multiplier.f32()) missing += std::isnan(v);
    return missing;
  }
};

TEST_P(Requantizations, HaveTheBitsOfTheEpilogueForEverySum) {
  int missing = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Parameters p = random_parameters(seed);
    if (seed % 2 == 0) {  // uint8
      p.low = 0;
      p.high = 255;
      p.zero_byte = 0;
    }
    const int found = compare(p);
    if (found < 0) return expect_baseline();
    missing += found;
  }
  EXPECT_LT(missing, 8 * kChannels / 20);
}

// An odd zero point would break ties the other way.
TEST_P(Requantizations, RoundTiesToEven) {
  Parameters p = random_parameters(1);
  p.scale = 1;
  p.rescale.assign(kChannels, 0.125f);
  p.a.assign(kChannels, 0.5f);
  p.b.assign(kChannels, 0.25f);
  for (const int zero_byte : {128, 129, 77}) {
    p.zero_byte = zero_byte;
    p.low = static_cast<float>(-zero_byte);
    p.high = static_cast<float>(255 - zero_byte);
    if (compare(p) < 0) return expect_baseline();
  }
}

TEST_P(Requantizations, OmitChannelsThatOverflow) {
  Parameters p = random_parameters(1);
  p.a[5] = std::numeric_limits<float>::infinity();
  p.b[7] = std::numeric_limits<float>::quiet_NaN();
  p.rescale[9] = 1e36f;
  const int missing = compare(p);
  if (missing < 0) return expect_baseline();
  EXPECT_GE(missing, 2);
}

INSTANTIATE_TEST_SUITE_P(Isa, Requantizations, every_isa(), isa_name);

}  // namespace
}  // namespace octet::inference
