// autotune(): regions, decisions, fallbacks, resumption.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/quant/autotune.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "../facts.h"
#include "post_training_support.h"

namespace octet::quant {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A stem, two equal residual blocks, a wider one and a head.
Model residual_network() {
  const SymbolicTensor image = input({8, 8, 3}, "image");
  SymbolicTensor x = Conv2D({.filters = 4,
                             .kernel_size = 3,
                             .padding = Padding::same,
                             .activation = "relu",
                             .name = "stem"})(image);
  for (const char* name : {"a", "b", "c"}) {
    const std::string n = name;
    const int64_t filters = n == "c" ? 6 : 4;
    SymbolicTensor y = Conv2D({.filters = filters,
                               .kernel_size = 3,
                               .padding = Padding::same,
                               .activation = "relu",
                               .name = n + "_1"})(x);
    y = Conv2D({.filters = filters,
                .kernel_size = 3,
                .padding = Padding::same,
                .name = n + "_2"})(y);
    if (n == "c") {
      x = Conv2D({.filters = 6, .kernel_size = 1, .name = "c_side"})(x);
    }
    x = ReLU({.name = n + "_relu"})(Add({.name = n + "_add"})({x, y}));
  }
  x = Flatten({.name = "flatten"})(x);
  return Model(image, Dense({.units = 3, .name = "head"})(x), {.seed = 5});
}

Model int8_of(const Model& model) {
  Model int8 = quantize_model(model);
  std::vector<int64_t> dims(model.inputs()[0].shape().dims().begin(),
                            model.inputs()[0].shape().dims().end());
  dims[0] = 8;
  const Tensor x = noise(Shape(dims), 3);
  calibrate(int8, [&](const Model& m) { (void)m(Variable(x)); });
  return int8;
}

/// A clock in which every layer takes 1 ms, or as many as `quantized` returns
/// for a layer with quantized weights; other Q/DQ take `other` ms per edge.
MeasureLatencies clock(std::function<double(const std::string&)> quantized,
                       double other = 0.01) {
  return in_rounds(
      [quantized = std::move(quantized), other](const Model& model) {
        double total = 0.1;
        for (const auto& layer : model.layers()) {
          const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
          if (wrapper == nullptr) {
            total += 1;
          } else if (wrapper->weights().empty()) {
            total +=
                1 + other * static_cast<double>(wrapper->quantizers().size());
          } else {
            total += quantized(wrapper->inner().name());
          }
        }
        return total;
      },
      3);
}

std::vector<std::string> quantized_layers(const Tuned& tuned) {
  std::vector<std::string> names;
  for (const QdqPoint& point : tuned.plan.points) {
    if (names.empty() || names.back() != point.layer) {
      names.push_back(point.layer);
    }
  }
  return names;
}

TEST(Autotune, KeepsQdqOnlyWhereTheyGain) {
  const Model int8 = int8_of(residual_network());
  const Tuned tuned =
      autotune(int8, {.latencies = clock([](const std::string& layer) {
                        return layer.starts_with("c_") ? 1.5 : 0.5;
                      })});
  EXPECT_EQ(tuned.selected, TunedModel::tuned) << tuned.to_string();
  for (const std::string& layer : quantized_layers(tuned)) {
    EXPECT_FALSE(layer.starts_with("c_")) << layer;
  }
  EXPECT_TRUE(std::ranges::any_of(tuned.plan.points, [](const QdqPoint& p) {
    return p.layer == "a_2" && p.reason.find(" -> ") != std::string::npos;
  }));
  // The blocks a and b are equal.
  const auto two = std::ranges::find_if(
      tuned.patterns,
      [](const TunedPattern& pattern) { return pattern.regions.size() == 2; });
  ASSERT_NE(two, tuned.patterns.end());
  EXPECT_EQ(two->regions[0][0], "a_1");
  EXPECT_EQ(two->regions[1][0], "b_1");
  EXPECT_LT(tuned.latency, tuned.planned_latency);
  EXPECT_LT(tuned.latency, tuned.float_latency);
  EXPECT_THAT(tuned.to_string(), HasSubstr("selected: tuned"));
  // Scales are those of the given model: outputs equal a plan applied by hand.
  for (const auto& quantizer : quantizers(tuned.model)) {
    EXPECT_TRUE(quantizer->calibrated() ||
                quantizer->config().rule == ScaleRule::live);
  }
}

TEST(Autotune, RemovesQdqOfAdditionsThatCost) {
  const Tuned tuned =
      autotune(int8_of(residual_network()),
               {.latencies = clock([](const std::string&) { return 0.5; }, 3)});
  EXPECT_EQ(tuned.selected, TunedModel::tuned);
  EXPECT_THAT(quantized_layers(tuned), Each(Not(HasSubstr("add"))));
  EXPECT_THAT(quantized_layers(tuned), ::testing::Contains("a_1"));
}

TEST(Autotune, KeepsTheGivenModelIfAllOfItGains) {
  const Model int8 = int8_of(residual_network());
  const Tuned tuned = autotune(
      int8,
      {.latencies = clock([](const std::string&) { return 0.5; }, -0.01)});
  EXPECT_EQ(tuned.selected, TunedModel::planned) << tuned.to_string();
  const Tensor x = noise({4, 8, 8, 3}, 8);
  EXPECT_EQ(bits(tuned.model.predict(x)), bits(int8.predict(x)));
  EXPECT_EQ(tuned.plan.points.size(), plan_of(int8).points.size());
  EXPECT_EQ(tuned.to_planned.ratio, 1);
}

TEST(Autotune, ReturnsTheFloatModelIfNothingGains) {
  const Model model = residual_network();
  const Tuned tuned =
      autotune(int8_of(model),
               {.latencies = clock([](const std::string&) { return 1.001; })});
  EXPECT_EQ(tuned.selected, TunedModel::float_model);
  EXPECT_FALSE(is_quantized(tuned.model));
  EXPECT_THAT(tuned.plan.points, IsEmpty());
  const Tensor x = noise({4, 8, 8, 3}, 8);
  EXPECT_EQ(bits(tuned.model.predict(x)), bits(model.predict(x)));
}

TEST(Autotune, IgnoresRegionsThatOnlyCostAlone) {
  // Every model with fewer Q/DQ than the whole plan is slower: regions alone
  // say the opposite.
  const Model int8 = int8_of(residual_network());
  const size_t whole = int8.layers().size();
  const Tuned tuned = autotune(
      int8, {.latencies = in_rounds([&](const Model& model) {
               const double points =
                   static_cast<double>(plan_of(model).points.size());
               return model.layers().size() == whole ? 10 - 0.2 * points
                                                     : 1 + points;
             })});
  EXPECT_EQ(tuned.selected, TunedModel::planned) << tuned.to_string();
  EXPECT_THAT(tuned.patterns[0].reason, HasSubstr("in the model"));
}

TEST(Autotune, NeverReturnsASlowerModel) {
  // The selection is flattered: the second measurement of a partial placement
  // is slow.
  const Model int8 = int8_of(residual_network());
  const size_t whole = int8.layers().size();
  const size_t all = plan_of(int8).points.size();
  int partial = 0;
  const MeasureLatencies measure =
      [&](const std::vector<const Model*>& models) {
        std::vector<double> row;
        bool any = false;
        for (const Model* model : models) {
          const size_t points = plan_of(*model).points.size();
          const bool is_partial =
              model->layers().size() == whole && points > 0 && points < all;
          any = any || is_partial;
          row.push_back(model->layers().size() != whole
                            ? 1 + (points > 3 ? 1 : -.5)
                        : is_partial  ? (partial == 0 ? 1 : 9)
                        : points == 0 ? 4
                                      : 3);
        }
        partial += any;
        return LatencyRounds(3, row);
      };
  const Tuned tuned = autotune(int8, {.latencies = measure});
  EXPECT_EQ(partial, 2);
  EXPECT_EQ(tuned.selected, TunedModel::planned);
  EXPECT_THAT(tuned.note, AllOf(HasSubstr("9 ms"), HasSubstr("3 ms")));
}

TEST(Autotune, SelectsByTheMedianInMuchNoise) {
  const Model int8 = int8_of(residual_network());
  const size_t whole = int8.layers().size();
  const size_t all = plan_of(int8).points.size();
  int partial = 0;
  const MeasureLatencies measure =
      [&](const std::vector<const Model*>& models) {
        LatencyRounds rows;
        bool any = false;
        for (const double noise : {0.3, 1.05, 3.0}) {
          std::vector<double> row;
          for (const Model* model : models) {
            const size_t points = plan_of(*model).points.size();
            const bool is_partial =
                model->layers().size() == whole && points > 0 && points < all;
            any = any || is_partial;
            row.push_back(model->layers().size() != whole
                              ? 1 + (points > 3 ? 1 : -.5)
                          : is_partial  ? (partial == 0 ? 1 : 3 * noise)
                          : points == 0 ? 4
                                        : 3);
          }
          rows.push_back(row);
        }
        partial += any;
        return rows;
      };
  const Tuned tuned = autotune(int8, {.latencies = measure});
  EXPECT_EQ(partial, 2);
  EXPECT_EQ(tuned.selected, TunedModel::planned) << tuned.to_string();
}

TEST(Autotune, KeepsRegionsThatCannotBeMeasured) {
  const Model int8 = int8_of(residual_network());
  const size_t whole = int8.layers().size();
  const MeasureLatencies measure = in_rounds([&](const Model& model) -> double {
    if (model.layers().size() != whole) {
      throw UnsupportedError("unsupported_model", "device", "too small");
    }
    return is_quantized(model) ? 1 : 2;
  });
  const Tuned tuned = autotune(int8, {.latencies = measure});
  EXPECT_EQ(tuned.selected, TunedModel::planned);
  for (const TunedPattern& pattern : tuned.patterns) {
    EXPECT_THAT(pattern.reason, HasSubstr("too small"));
  }
  // A device that fails for the model itself is an error.
  int calls = 0;
  const auto f = failure_of<UnsupportedError>([&] {
    (void)autotune(int8, {.latencies = in_rounds([&](const Model&) -> double {
                            if (++calls > 20) {
                              throw UnsupportedError("unsupported_model",
                                                     "device", "unplugged");
                            }
                            return 1;
                          })});
  });
  EXPECT_THAT(f.message, HasSubstr("unplugged"));
}

TEST(Autotune, ContinuesFromItsState) {
  const Model int8 = int8_of(residual_network());
  int calls = 0;
  AutotuneOptions options;
  const MeasureLatencies base =
      clock([](const std::string& layer) { return layer == "head" ? 2 : 0.5; });
  options.latencies = [&](const std::vector<const Model*>& models) {
    ++calls;
    return base(models);
  };
  std::vector<AutotuneState> states;
  options.on_change = [&](const AutotuneState& state) {
    states.push_back(autotune_state_from_config(to_config(state)));
  };
  const Tuned whole = autotune(int8, options);
  ASSERT_EQ(calls, std::ssize(states));
  for (size_t done = 0; done < states.size(); ++done) {
    calls = 0;
    AutotuneOptions rest = options;
    rest.on_change = {};
    rest.state = states[done];
    const Tuned again = autotune(int8, rest);
    EXPECT_EQ(calls, std::ssize(states) - static_cast<int>(done) - 1);
    EXPECT_EQ(again.plan, whole.plan);
    EXPECT_EQ(again.to_string(), whole.to_string());
  }
  // Other weights have equal latencies, other shapes have not.
  calls = 0;
  options.on_change = {};
  options.state = states.back();
  Model other = residual_network();
  other.layer("stem").parameter("kernel").variable.assign(
      noise({3, 3, 3, 4}, 1));
  (void)autotune(int8_of(other), options);
  EXPECT_EQ(calls, 0);
}

TEST(Autotune, RefusesBadArguments) {
  const Model int8 = int8_of(residual_network());
  const MeasureLatencies one = in_rounds([](const Model&) { return 1.0; });
  const auto code = [&](const Model& model, const AutotuneOptions& options) {
    return failure_of<ValueError>([&] { (void)autotune(model, options); }).code;
  };
  EXPECT_EQ(code(int8, {}), "missing_value");
  EXPECT_EQ(code(int8, {.latencies = one, .gain = 1}), "out_of_range");
  EXPECT_EQ(code(int8, {.latencies = one, .gain = -0.1}), "out_of_range");
  EXPECT_EQ(code(int8, {.latencies = one, .largest_region = 0}),
            "out_of_range");
  EXPECT_EQ(code(residual_network(), {.latencies = one}), "not_quantized");
  EXPECT_EQ(code(quantize_model(residual_network()), {.latencies = one}),
            "not_calibrated");
  for (const double value :
       {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(code(int8, {.latencies =
                              in_rounds([=](const Model&) { return value; })}),
              "invalid_value");
  }
  EXPECT_EQ(
      code(int8, {.latencies = [](const auto&) { return LatencyRounds{}; }}),
      "invalid_value");
  EXPECT_EQ(failure_of<ValueError>([] { (void)in_rounds({}, 0); }).code,
            "out_of_range");
}

TEST(Autotune, RefusesDamagedStates) {
  AutotuneState state;
  state.measurements = {{.key = "1",
                         .subject = "Conv2D",
                         .models = {"float", "planned"},
                         .milliseconds = {{1, 2}},
                         .errors = {"", ""}}};
  const Config good = to_config(state);
  EXPECT_EQ(autotune_state_from_config(good).measurements, state.measurements);
  for (const LatencyRounds& rows :
       {LatencyRounds{}, {{1}}, {{1, 0}}, {{1, -2}}, {{1, 2, 3}}}) {
    state.measurements[0].milliseconds = rows;
    const Config bad = to_config(state);
    const auto f =
        failure_of<ValueError>([&] { (void)autotune_state_from_config(bad); });
    EXPECT_EQ(f.subject, "milliseconds");
  }
  EXPECT_THROW((void)autotune_state_from_config(Config(Config::Object{})),
               NotFoundError);
}

TEST(LatencyRatio, IsTheMedianOfPairs) {
  // Pairs share the speed of their round.
  const LatencyRounds rounds = {{1, 2}, {10, 20}, {3, 6}, {5, 10}};
  EXPECT_EQ(latency_ratio(rounds, 0, 1).ratio, 0.5);
  EXPECT_EQ(latency_ratio(rounds, 0, 1).noise, 0);
  EXPECT_TRUE(latency_ratio(rounds, 1, 0).is_slower());
  EXPECT_EQ(median_latency(rounds, 0), 4);
  const LatencyRounds noisy = {{1, 1}, {1.3, 1}, {0.9, 1}, {1.1, 1}, {1.0, 1}};
  EXPECT_FALSE(latency_ratio(noisy, 0, 1).is_slower());
  EXPECT_GT(latency_ratio(noisy, 0, 1).noise, 0);
}

TEST(Autotune, PartitionsTheZoo) {
  for (const char* name : {"lenet", "resnet8", "ds_cnn", "densenet40",
                           "inception_small", "mobilenet_v1_025", "unet"}) {
    const Model model = zoo::make(name);
    Model int8 = quantize_model(model);
    calibrate(int8, [&](const Model& m) {
      const std::vector<Tensor> x = random_inputs(m, 1, 0, 1, Rng(1));
      (void)m(std::span<const Tensor>(x));
    });
    const Tuned tuned = autotune(
        int8,
        {.latencies = in_rounds(
             [](const Model& m) { return is_quantized(m) ? 1.0 : 2.0; }, 1)});
    std::vector<std::string> layers;
    for (const TunedPattern& pattern : tuned.patterns) {
      for (const auto& region : pattern.regions) {
        layers.insert(layers.end(), region.begin(), region.end());
      }
    }
    // Every layer with Q/DQ is in a region, no layer in two.
    for (const QdqPoint& point : plan_of(int8).points) {
      EXPECT_EQ(std::ranges::count(layers, point.layer), 1)
          << name << " " << point.layer;
    }
  }
}

}  // namespace
}  // namespace octet::quant
