// User-defined quantization by public headers alone: observers, and wrappers of
// Octet's layer classes.
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/octet.h>

#include "../support.h"
#include "../temp_folder.h"

namespace octet {
namespace {

using quant::RangeObserver;
using testing::ElementsAre;

/// Twice the mean magnitude.
class MeanObserver final : public RangeObserver {
 public:
  void observe(const Tensor& x) override {
    for (const float v : x.f32()) sum_ += std::fabs(v);
    count_ += x.size();
  }
  std::optional<float> range() const override {
    if (count_ == 0) return std::nullopt;
    return static_cast<float>(2 * sum_ / static_cast<double>(count_));
  }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

/// Returns a constant range.
class FixedObserver final : public RangeObserver {
 public:
  explicit FixedObserver(std::optional<float> range) : range_(range) {}
  void observe(const Tensor&) override {}
  std::optional<float> range() const override { return range_; }

 private:
  std::optional<float> range_;
};

Tensor batch() {
  Tensor x({2, 2});
  x.f32()[0] = 1;
  x.f32()[1] = -2;
  x.f32()[2] = 8;
  x.f32()[3] = 5;
  return x;
}

void run(const Model& model) { (void)model.predict(batch()); }

Model quantized_dense() {
  const auto x = input({2}, "x");
  return quant::quantize_model(Model(x, Dense({.units = 3, .name = "a"})(x)));
}

quant::CalibrationOptions fixed_at(std::optional<float> range) {
  return {.observer = [=] { return std::make_unique<FixedObserver>(range); }};
}

const quant::Quantizer& input_quantizer(const Model& model) {
  return *quant::activation_quantizers(model).at(0).quantizer;
}

TEST(CustomObserver, DeterminesTheScalesOfCalibrate) {
  Model model = quantized_dense();
  const auto ranges = quant::calibrate(
      model, run,
      {.observer = [] { return std::make_unique<MeanObserver>(); }});
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].range, 8.0f);
  EXPECT_EQ(input_quantizer(model).scale(), 8.0f / 127);

  const TempFolder folder;
  io::save_model(model, folder / "model.h5");
  const Model again = io::load_model(folder / "model.h5");
  EXPECT_EQ(input_quantizer(again).scale(), 8.0f / 127);
  EXPECT_EQ(bits(again.predict(batch())), bits(model.predict(batch())));
}

TEST(CustomObserver, OfZerosHasScaleOne) {
  const WarningCapture warnings;
  Model model = quantized_dense();
  EXPECT_TRUE(quant::calibrate(model, run, fixed_at(0.0f)).at(0).all_zero);
  EXPECT_EQ(input_quantizer(model).scale(), 1.0f);
}

TEST(CustomObserver, IsRejectedWithoutAUsableRangeAndNothingChanges) {
  Model model = quantized_dense();
  quant::calibrate(model, run);
  const auto scale = input_quantizer(model).scale();
  const auto refusal = [&](const quant::CalibrationOptions& options) {
    Failure failure =
        failure_of<ValueError>([&] { quant::calibrate(model, run, options); });
    EXPECT_EQ(input_quantizer(model).scale(), scale);
    EXPECT_FALSE(input_quantizer(model).observing());
    EXPECT_TRUE(input_quantizer(model).enabled());
    return failure;
  };
  EXPECT_EQ(refusal({.observer = [] { return nullptr; }}),
            (Failure{"missing_value", "CalibrationOptions.observer"}));
  const std::string name = "'" + input_quantizer(model).name() + "'";
  EXPECT_EQ(refusal(fixed_at(std::nullopt)),
            (Failure{"missing_value", "quantizer 'x'"}));
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), -1.0f, kInf, -kInf}) {
    const char* code = std::isfinite(bad) ? "out_of_range" : "not_finite";
    EXPECT_EQ(refusal(fixed_at(bad)), (Failure{code, "range"}));
  }
}

TEST(CustomObserver, PreventsSavingUntilItIsFinished) {
  const Model model = quantized_dense();
  const auto quantizer = quant::activation_quantizers(model).at(0).quantizer;
  quantizer->start_observing(fixed_at(127.0f));
  run(model);
  const TempFolder folder;
  EXPECT_EQ(failure_of<UnsupportedError>(
                [&] { io::save_model(model, folder / "model.h5"); }),
            (Failure{"unsupported_type", "CalibrationOptions.observer"}));
  EXPECT_TRUE(folder.empty());
  quantizer->finish_observing();
  io::save_model(model, folder / "model.h5");
  EXPECT_EQ(input_quantizer(io::load_model(folder / "model.h5")).scale(), 1);
}

/// Q/DQ at the first input only; counts forward passes.
class CountingQuantizeWrapper : public quant::BaseQuantizeWrapper {
 public:
  using BaseQuantizeWrapper::BaseQuantizeWrapper;
  static quant::QdqSites sites() { return {.inputs = 1}; }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    ++passes;
    return BaseQuantizeWrapper::forward(context, inputs);
  }

  static inline int passes = 0;
};

Model smallest() {
  const auto x = input({2}, "x");
  return Model(x, Minimum({.name = "least"})(std::vector{x, x}));
}

std::vector<std::string> sites_of(const quant::QdqPlan& plan) {
  std::vector<std::string> sites;
  for (const quant::QdqPoint& point : plan.points) {
    sites.push_back(to_string(point.site));
  }
  return sites;
}

TEST(CustomWrapper, ReplacesAWrapperOfOctetOnRequest) {
  const quant::WrapperDef def{.name = "MinimumQuantizeWrapper"};
  EXPECT_EQ(failure_of<ValueError>(
                [&] { quant::register_wrapper<CountingQuantizeWrapper>(def); }),
            (Failure{"duplicate_name", "register_wrapper"}));
  const size_t known = quant::wrapper_infos().size();
  // The second call replaces the user's wrapper.
  for (int i = 0; i < 2; ++i) {
    quant::register_wrapper<CountingQuantizeWrapper>(
        {.name = "MinimumQuantizeWrapper", .replace = true});
  }
  EXPECT_EQ(quant::wrapper_infos().size(), known);
  EXPECT_TRUE(quant::wrapper_info("Minimum").user_defined);

  Model model =
      quant::quantize_model(smallest(), {.policy = quant::Policy::toolkit});
  EXPECT_THAT(sites_of(quant::plan_of(model)), ElementsAre("input 0"));
  quant::calibrate(model, run, {.method = quant::Calibration::max});

  const TempFolder folder;
  io::save_model(model, folder / "model.h5");
  const Model again = io::load_model(folder / "model.h5");
  EXPECT_EQ(quant::plan_of(again), quant::plan_of(model));
  CountingQuantizeWrapper::passes = 0;
  const Variable x(batch());
  EXPECT_EQ(bits(again(x)), bits(model(x)));
  EXPECT_EQ(CountingQuantizeWrapper::passes, 2);
}

}  // namespace
}  // namespace octet
