// Unusual samples, and distributions that only appear to have them.
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"

namespace octet::quant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Dataset unlabeled(Tensor x) {
  return Dataset::unlabeled({{"image", std::move(x)}});
}

/// [n,64] of `value`, called for each element with its sample.
Tensor drawn(int64_t n, const std::function<double(size_t sample)>& value) {
  Tensor x(Shape{n, 64});
  for (size_t i = 0; i < x.f32().size(); ++i) {
    x.f32()[i] = static_cast<float>(value(i / 64));
  }
  return x;
}

std::vector<int64_t> unusual(const Tensor& x) {
  std::vector<int64_t> result;
  for (const auto& each : check_samples("test", unlabeled(x)).unusual) {
    result.push_back(each.index);
  }
  return result;
}

TEST(UnusualSamples, AreNamedAndSeparated) {
  for (const float spike : {1e3f, 1e6f, -1e30f}) {
    Tensor x = noise({200, 64});
    x.f32()[17 * 64 + 5] = spike;
    const CheckedSamples found = check_samples("test", unlabeled(x));
    ASSERT_EQ(found.unusual.size(), 1u);
    EXPECT_EQ(found.unusual[0].index, 17);
    EXPECT_EQ(found.unusual[0].input, "image");
    EXPECT_THAT(found.unusual[0].reason, HasSubstr("largest magnitude"));
    ASSERT_EQ(found.usual.size(), 199);
    EXPECT_EQ(bits(found.usual.batch(16, 2).input()),
              bits(unlabeled(x).batch(std::vector<int64_t>{16, 18}).input()));
  }
}

TEST(UnusualSamples, IncludeValuesThatAreNotFinite) {
  for (const float value : {kNan, kInfinity, -kInfinity}) {
    Tensor x = noise({40, 64});
    x.f32()[3 * 64] = value;
    x.f32()[9 * 64 + 63] = value;
    EXPECT_THAT(unusual(x), ::testing::ElementsAre(3, 9));
  }
}

TEST(UnusualSamples, AreRefusedIfManyAreNotFinite) {
  Tensor x = noise({40, 64});
  for (size_t n = 0; n < 3; ++n) x.f32()[n * 64] = kNan;
  EXPECT_EQ(failure_of<ValueError>([&] { (void)unusual(x); }).code,
            "not_finite");
  EXPECT_THROW((void)unusual(Tensor::full({1, 64}, kNan)), ValueError);
}

TEST(UnusualSamples, NeedSamples) {
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)unusual(Tensor({0, 64}));
            }),
            (Failure{"missing_value", "test"}));
}

TEST(UnusualSamples, KeepTheirPositionsInARandomSubset) {
  Tensor x = noise({300, 64});
  x.f32()[123 * 64] = 1e7f;
  int found = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const CheckedSamples some =
        check_samples("test", unlabeled(x), {.samples = 100, .seed = seed});
    for (const auto& each : some.unusual) EXPECT_EQ(each.index, 123);
    found += static_cast<int>(some.unusual.size());
    EXPECT_EQ(some.usual.size() + std::ssize(some.unusual), 100);
  }
  EXPECT_GT(found, 0);
  EXPECT_LT(found, 20);
}

TEST(UnusualSamples, KeepLabelsWithTheirInputs) {
  Tensor x = noise({50, 4});
  x.f32()[0] = 1e9f;
  Tensor y({50}, DType::i64);
  for (size_t i = 0; i < 50; ++i) {
    y.data<int64_t>()[i] = static_cast<int64_t>(i);
  }
  const CheckedSamples found = check_samples("test", Dataset(x, y));
  EXPECT_TRUE(found.usual.labels_known());
  const Tensor labels = found.usual.labels();
  ASSERT_EQ(labels.size(), 49);
  for (size_t i = 0; i < 49; ++i) {
    EXPECT_EQ(labels.data<int64_t>()[i], static_cast<int64_t>(i + 1));
  }
}

TEST(UnusualSamples, AreNamedByTheWarning) {
  Tensor x = noise({60, 64});
  x.f32()[2 * 64] = 1e6f;
  const WarningCapture warnings;
  std::vector<std::string> names(60);
  names[2] = "cat/7.png";
  const auto found = check_samples("test", unlabeled(x));
  warn_of_unusual("test", found, names);
  ASSERT_THAT(warnings.messages,
              ElementsAre(Failure{"unusual_samples", "test"}));
  EXPECT_THAT(quoted_names(warnings.messages[0].text()), Contains("cat/7.png"));
  EXPECT_EQ(numbers_in(warnings.messages[0].text()).at(2), 2);
}

TEST(UnusualSamples, OfTwoScalesAreReported) {
  Tensor x = noise({200, 64});
  EXPECT_THAT(check_samples("test", unlabeled(x)).mixed, IsEmpty());
  for (size_t i = 0; i < size_t{60} * 64; ++i) x.f32()[i] *= 1000;
  const WarningCapture warnings;
  const auto found = check_samples("test", unlabeled(x));
  EXPECT_THAT(found.unusual, IsEmpty());
  EXPECT_THAT(found.mixed, StartsWith("image: "));
  EXPECT_THAT(numbers_in(found.mixed), IsSupersetOf({140, 60}));
  warn_of_unusual("test", found);
  EXPECT_THAT(warnings.messages, ElementsAre(Failure{"mixed_scales", "test"}));
}

// Legitimate data.

struct Distribution {
  const char* name;
  std::function<double(std::mt19937&, size_t sample)> value;
};

TEST(UnusualSamples, AreNoneInLegitimateData) {
  const auto uniform = [](std::mt19937& g) {
    return std::uniform_real_distribution<double>(0, 1)(g);
  };
  const auto normal = [](std::mt19937& g) {
    return std::normal_distribution<double>()(g);
  };
  const Distribution all[] = {
      {"images", [&](auto& g, size_t) { return uniform(g); }},
      {"bytes", [&](auto& g, size_t) { return std::floor(256 * uniform(g)); }},
      {"standardized", [&](auto& g, size_t) { return normal(g); }},
      {"exponential", [&](auto& g, size_t) { return -std::log(uniform(g)); }},
      {"log-normal", [&](auto& g, size_t) { return std::exp(2 * normal(g)); }},
      {"Student t of 2 degrees",
       [&](auto& g, size_t) {
         return std::student_t_distribution<double>(2)(g);
       }},
      {"Cauchy",
       [&](auto& g, size_t) { return std::cauchy_distribution<double>()(g); }},
      {"Pareto of exponent 0.5",
       [&](auto& g, size_t) { return std::pow(uniform(g), -2.0); }},
      {"sparse",
       [&](auto& g, size_t) { return uniform(g) < 0.01 ? normal(g) : 0.0; }},
      {"sparse counts",
       [&](auto& g, size_t) {
         return uniform(g) < 0.02 ? std::floor(std::pow(uniform(g), -1.0))
                                  : 0.0;
       }},
      {"all black", [&](auto&, size_t) { return 0.0; }},
      {"black but for one",
       [&](auto& g, size_t sample) { return sample == 11 ? uniform(g) : 0.0; }},
      {"white among black",
       [&](auto& g, size_t sample) {
         return sample % 50 == 0 ? 1.0 : 0.02 * uniform(g);
       }},
      {"quiet and loud",
       [&](auto& g, size_t sample) {
         return (sample % 10 == 5 ? 1.0 : 0.001) * normal(g);
       }},
  };
  for (const Distribution& each : all) {
    SCOPED_TRACE(each.name);
    for (const int64_t n : {1, 2, 5, 20, 200, 1000}) {
      std::mt19937 generator(static_cast<unsigned>(7 * n));
      EXPECT_THAT(
          unusual(drawn(
              n, [&](size_t sample) { return each.value(generator, sample); })),
          IsEmpty())
          << n;
    }
  }
}

TEST(UnusualSamples, AreNoneOfOneHotSamples) {
  Tensor x = Tensor::zeros({200, 64});
  for (size_t n = 0; n < 200; ++n) x.f32()[n * 64 + (n * 7) % 64] = 1;
  EXPECT_THAT(unusual(x), IsEmpty());
}

TEST(UnusualSamples, AreNoneIfTheyBelongToTheDistribution) {
  Tensor x = noise({100, 64});
  for (size_t i = 0; i < 8 * 64; ++i) x.f32()[i] *= 1e5f;
  EXPECT_THAT(unusual(x), IsEmpty());
}

// Calibration.

TEST(UnusualSamples, DoNotCalibrate) {
  Tensor x = noise({200, 8, 6, 1});
  const Dataset clean = unlabeled(x.clone()).drop(1);
  for (const float value : {1e6f, kNan}) {
    x.f32()[5] = value;
    for (const Calibration method :
         {Calibration::max, Calibration::percentile, Calibration::entropy}) {
      const WarningCapture warnings;
      Model model = quantize_model(quickstart());
      calibrate(model, unlabeled(x), {.method = method});
      ASSERT_THAT(warnings.messages,
                  ElementsAre(Failure{"unusual_samples", "calibrate"}));
      EXPECT_EQ(numbers_in(warnings.messages[0].text()).at(2), 0);
      Model expected = quantize_model(quickstart());
      calibrate(expected, clean, {.method = method});
      EXPECT_EQ(scales(model), scales(expected));
    }
    const WarningCapture warnings;
    Model model = quantize_model(quickstart());
    const AutoCalibration found = auto_calibrate(model, unlabeled(x));
    ASSERT_EQ(found.ignored.size(), 1u);
    EXPECT_EQ(found.ignored[0].index, 0);
    EXPECT_EQ(found.samples + found.held_out, 199);
    EXPECT_THAT(found.to_string(), HasSubstr("unusual"));
    Model expected = quantize_model(quickstart());
    auto_calibrate(expected, clean);
    EXPECT_EQ(scales(model), scales(expected));
  }
}

TEST(UnusualSamples, CalibrateOnRequest) {
  Tensor x = noise({40, 8, 6, 1});
  for (size_t n = 0; n < 2; ++n) x.f32()[n * 48 + 5] = 1e6f;
  Model model = quantize_model(quickstart());
  auto_calibrate(model, unlabeled(x),
                 {.methods = {{.method = Calibration::max}},
                  .check_samples = false,
                  .warn_of_loss = false});
  EXPECT_GT(*quantizer(model, "image")->scale(), 1000);
}

TEST(UnusualSamples, DoNotFitPostTrainingMethods) {
  Tensor x = noise({64, 8, 6, 1});
  const Dataset clean = unlabeled(x.clone()).drop(1);
  x.f32()[5] = 1e6f;
  const auto rounded = [&](const Dataset& data) {
    Model model =
        quantize_model(quickstart(), {.weight = {.bits = 4,
                                                 .narrow_range = true,
                                                 .per_channel = true,
                                                 .rule = ScaleRule::fixed}});
    calibrate(model, data);
    round_weights(model, data);
    return values(model.layer("quant_dense").parameters()[0].variable.value());
  };
  EXPECT_EQ(rounded(unlabeled(x)), rounded(clean));
}

}  // namespace
}  // namespace octet::quant
