// Bit widths of single layers.
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;

/// conv2d [image] -> flatten -> dense.
QuantizeOptions four_bits(std::vector<LayerBits> layers) {
  return {.activation = {.bits = 4},
          .weight = {.bits = 4,
                     .narrow_range = true,
                     .per_channel = true,
                     .rule = ScaleRule::live},
          .bits = std::move(layers)};
}

std::map<std::string, std::string> widths(const QdqPlan& plan) {
  std::map<std::string, std::string> result;
  for (const QdqPoint& point : plan.points) {
    const QuantizerConfig& config = point.config;
    result[point.group] =
        fmt::format("{}{}", config.is_signed ? "" : "u", config.bits);
  }
  return result;
}

using Widths = std::map<std::string, std::string>;

TEST(LayerBits, ApplyToTheNamedLayersOnly) {
  EXPECT_EQ(widths(plan_for(quickstart(), four_bits({}))),
            (Widths{{"image", "4"},
                    {"conv2d/kernel", "4"},
                    {"flatten", "u4"},
                    {"dense/kernel", "4"}}));
  EXPECT_EQ(widths(plan_for(
                quickstart(),
                four_bits({{.layer = "conv2d", .weight = 8, .activation = 8},
                           {.layer = "dense", .weight = 2}}))),
            (Widths{{"image", "8"},
                    {"conv2d/kernel", "8"},
                    {"flatten", "u4"},
                    {"dense/kernel", "2"}}));
}

TEST(LayerBits, UpdateTheSignedness) {
  EXPECT_EQ(widths(plan_for(quickstart(),
                            four_bits({{.layer = "dense", .activation = 8}})))
                .at("flatten"),
            "8");
  QuantizeOptions options;
  options.bits = {{.layer = "dense", .activation = 3}};
  EXPECT_EQ(widths(plan_for(quickstart(), options)).at("flatten"), "u3");
}

TEST(LayerBits, SupportWildcardsAndTheLastEntryWins) {
  const auto result = widths(
      plan_for(quickstart(), four_bits({{.layer = "*", .weight = 3},
                                        {.layer = "con?2d", .weight = 5}})));
  EXPECT_EQ(result.at("conv2d/kernel"), "5");
  EXPECT_EQ(result.at("dense/kernel"), "3");
}

TEST(LayerBits, AreTheLargestOfAllConsumers) {
  const SymbolicTensor x = input({6}, "x");
  const SymbolicTensor y = ReLU({.name = "y"})(x);
  const Model model({x}, {Dense({.units = 2, .name = "a"})(y),
                          Dense({.units = 2, .name = "b"})(y)});
  const WarningCapture warnings;
  EXPECT_EQ(
      widths(plan_for(model, four_bits({{.layer = "a", .activation = 8}})))
          .at("y"),
      "8");
  EXPECT_TRUE(warnings.messages.empty());
  EXPECT_EQ(
      widths(plan_for(model, four_bits({{.layer = "a", .activation = 2}})))
          .at("y"),
      "u4");
  EXPECT_THAT(warnings.messages,
              ElementsAre(Failure{"conflicting_options", "bits of 'a'"}));
}

TEST(LayerBits, ApplyToThePatternRoute) {
  const Model model = quickstart();
  const TransformResult result = transform(model);
  const QdqPlan plan = plan_of_matches(
      result.model, result.matches,
      {.bits = {{.layer = "conv2d", .weight = 4, .activation = 6}}});
  EXPECT_EQ(widths(plan).at("conv2d/kernel"), "4");
  EXPECT_EQ(widths(plan).at("image"), "6");
}

TEST(LayerBits, RefuseUnknownLayers) {
  const auto refusal = [](LayerBits entry) {
    return failure_of<NotFoundError>(
        [&] { (void)plan_for(quickstart(), four_bits({entry})); });
  };
  EXPECT_EQ(refusal({.layer = "conv2", .weight = 8}),
            (Failure{"unknown_name", "bits of 'conv2'"}));
  EXPECT_EQ(refusal({.layer = "flatten", .activation = 8}),
            (Failure{"unknown_name", "bits of 'flatten'"}));
}

TEST(LayerBits, RefuseWidthsOutOfRange) {
  const auto refusal = [](LayerBits entry) {
    return failure_of<ValueError>(
        [&] { (void)plan_for(quickstart(), four_bits({entry})); });
  };
  const Failure out_of_range{"out_of_range", "bits of '*'"};
  for (const int bits : {1, 9, 0, -4}) {
    EXPECT_EQ(refusal({.layer = "*", .weight = bits}), out_of_range);
    EXPECT_EQ(refusal({.layer = "*", .activation = bits}), out_of_range);
  }
  EXPECT_EQ(refusal({.layer = "dense"}),
            (Failure{"missing_value", "bits of 'dense'"}));
}

}  // namespace
}  // namespace octet::quant
