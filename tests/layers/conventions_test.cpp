// Conventions of every class in the registry, present and future. The examples
// are the golden cases, so that a class without a case is detected here.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"
#include "support.h"
#include "user_layers.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

/// A valid configuration and inputs of a class.
struct Example {
  std::string name;
  Config config;
  std::vector<Shape> samples;  ///< input shapes without the batch
  bool keras = false;          ///< `config` was written by Keras
};

/// Classes without golden cases, and why.
const std::map<std::string, Example, std::less<>>& own_examples() {
  static const std::map<std::string, Example, std::less<>> examples{
      // Computes nothing: the caller provides its values.
      {"InputLayer",
       {"input", Config().set("shape", Config::List{4, 6, 3}), {}}},
      // Defined by tests.
      {"UserOffset", {"offset", Config().set("start", 0.5), {{4, 6, 3}}}},
  };
  return examples;
}

const std::map<std::string, std::vector<Example>, std::less<>>& examples() {
  static const auto all = [] {
    std::map<std::string, std::vector<Example>, std::less<>> result;
    for (const GoldenCase& c : read_goldens("layers")) {
      Example example{c.name, c.config, {}, c.origin.starts_with("Keras")};
      for (const GoldenArray& x : c.inputs) {
        const Shape& shape = x.value.shape();
        example.samples.push_back(shape.slice(1, shape.rank()));
      }
      result[c.class_name].push_back(std::move(example));
    }
    for (const auto& [class_name, example] : own_examples()) {
      result[class_name].push_back(example);
    }
    return result;
  }();
  return all;
}

std::vector<Shape> with_batch(const Example& example, int64_t batch) {
  std::vector<Shape> shapes;
  for (const Shape& sample : example.samples) {
    std::vector<int64_t> dims{batch};
    dims.insert(dims.end(), sample.dims().begin(), sample.dims().end());
    shapes.emplace_back(std::span<const int64_t>(dims));
  }
  return shapes;
}

template <class Check>
void for_each_example(Check check) {
  register_offset();
  for (const LayerDef* def : layer_defs()) {
    const auto found = examples().find(def->class_name);
    if (found == examples().end()) continue;  // reported by HasAGoldenCase
    for (const Example& example : found->second) {
      SCOPED_TRACE(fmt::format("{}, case {}", def->class_name, example.name));
      try {
        check(*def, example);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}

TEST(EveryLayerClass, HasAGoldenCase) {
  register_offset();
  for (const LayerDef* def : layer_defs()) {
    // Registered by earlier tests in this process.
    if (def->class_name.starts_with("User")) continue;
    EXPECT_TRUE(examples().contains(def->class_name))
        << def->class_name
        << ": add cases to tests/oracle/layer_cases.py and run "
           "make_layer_golden.py";
  }
}

TEST(EveryLayerClass, IsInTheRegistryIfItHasAGoldenCase) {
  register_offset();
  for (const auto& [class_name, cases] : examples()) {
    EXPECT_NE(find_layer_def(class_name), nullptr) << class_name;
  }
}

TEST(EveryLayerClass, IsCreatedByNameFromAConfiguration) {
  for_each_example([](const LayerDef& def, const Example& example) {
    const auto layer = create_layer(def.class_name, example.config);
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(layer->class_name(), def.class_name);
    EXPECT_EQ(layer->name(), "");
  });
}

TEST(EveryLayerClass, RoundTripsThroughItsConfiguration) {
  for_each_example([](const LayerDef& def, const Example& example) {
    const auto layer = create_layer(def.class_name, example.config);
    ASSERT_TRUE(layer->config().is_object());
    const auto again = create_layer(def.class_name, layer->config());
    EXPECT_EQ(again->config(), layer->config());
  });
}

/// Returns whether two entries are equivalent: Octet's floats have 32 bits, an
/// integer is a list of one, and null an empty list.
bool same(const Config& a, const Config& b) {
  if (a.is_null() && b.is_list()) return b.as_list().empty();
  if (a.is_list() && b.is_int()) return same(a, Config::List{b});
  if (a.is_number() && b.is_number()) {
    return static_cast<float>(a.as_number()) ==
           static_cast<float>(b.as_number());
  }
  if (!a.is_list() || !b.is_list()) return a == b;
  return std::ranges::equal(a.as_list(), b.as_list(), same);
}

TEST(EveryLayerClass, PreservesConfigurationEntries) {
  for_each_example([](const LayerDef& def, const Example& example) {
    const Config config =
        create_layer(def.class_name, example.config)->config();
    for (const auto& [name, value] : example.config.as_object()) {
      const Config* kept = config.find(name);
      // Keras writes more fields of initializers and regularizers.
      if (kept == nullptr || kept->is_object() || value.is_object()) continue;
      EXPECT_TRUE(same(*kept, value))
          << name << ": expected " << io::to_json(value) << ", got "
          << io::to_json(*kept);
    }
  });
}

TEST(EveryLayerClass, NamesItsOptionsAsKerasDoes) {
  for_each_example([](const LayerDef& def, const Example& example) {
    if (!example.keras) return;
    const Config config =
        create_layer(def.class_name, example.config)->config();
    for (const auto& [name, value] : config.as_object()) {
      EXPECT_NE(example.config.find(name), nullptr)
          << "'" << name << "' is no option of Keras' " << def.class_name;
    }
  });
}

TEST(EveryLayerClass, CloneHasItsNameAndIsNotBuilt) {
  for_each_example([](const LayerDef& def, const Example& example) {
    const auto layer = create_layer(def.class_name, example.config);
    layer->set_name("original");
    layer->build_once(with_batch(example, Shape::kAnySize));
    CloneContext context;
    const auto copy = layer->clone(context);
    EXPECT_NE(copy, layer);
    EXPECT_EQ(copy->name(), "original");
    EXPECT_EQ(copy->class_name(), def.class_name);
    EXPECT_EQ(copy->config(), layer->config());
    EXPECT_FALSE(copy->built());
  });
}

TEST(EveryLayerClass, OutputHasTheInferredShapeForAnyBatch) {
  for_each_example([](const LayerDef& def, const Example& example) {
    if (example.samples.empty()) return;
    const auto layer = create_layer(def.class_name, example.config);
    std::vector<SymbolicTensor> inputs;
    for (const Shape& sample : example.samples) inputs.push_back(input(sample));
    const Model model(inputs, {call(layer, inputs)});
    for (const int64_t batch : {1, 3}) {
      const std::vector<Tensor> samples =
          random_inputs(model, batch, -1, 1, Rng(1));
      const std::vector<Variable> x(samples.begin(), samples.end());
      const NoGradGuard no_grad;
      EXPECT_EQ(model(x)[0].shape(), model.outputs()[0].shape().with(0, batch));
    }
  });
}

TEST(EveryLayerClass, RejectsAWrongNumberOfInputs) {
  for_each_example([](const LayerDef& def, const Example& example) {
    // InputLayer has no inputs, the user-defined class checks nothing.
    if (example.samples.empty() || def.class_name == "UserOffset") return;
    const auto layer = create_layer(def.class_name, example.config);
    EXPECT_THROW((void)layer->output_shape({}), Error);
    if (example.samples.size() > 1) return;  // some classes accept any number
    const std::vector<Shape> many(17, with_batch(example, Shape::kAnySize)[0]);
    EXPECT_THROW((void)layer->output_shape(many), Error);
  });
}

TEST(EveryLayerClass, HasTheParametersOfItsQdqDefault) {
  for_each_example([](const LayerDef& def, const Example& example) {
    if (def.qdq.weight.empty()) return;
    const auto layer = create_layer(def.class_name, example.config);
    layer->build_once(with_batch(example, Shape::kAnySize));
    EXPECT_NO_THROW(layer->parameter(def.qdq.weight));
    if (def.qdq.second_weight.empty()) return;
    EXPECT_NO_THROW(layer->parameter(def.qdq.second_weight));
  });
}

TEST(EveryLayerClass, ErrorsOfOptionsNameTheLayer) {
  const std::pair<std::string, std::function<void()>> cases[] = {
      {"'stem' (Conv2D)", [] { (void)Conv2D({.filters = 0, .name = "stem"}); }},
      {"'logits' (Dense)", [] { (void)Dense({.units = 0, .name = "logits"}); }},
      {"'bn' (BatchNormalization)",
       [] { (void)BatchNormalization({.momentum = 2, .name = "bn"}); }},
      {"'pool' (MaxPooling2D)",
       [] {
         (void)MaxPooling2D({.pool_size = {0, 1}, .name = "pool"});
       }},
      {"'clip' (ReLU)", [] { (void)ReLU({.max_value = 0, .name = "clip"}); }}};
  for (const auto& [layer, make] : cases) {
    const Failure failure = failure_of<ValueError>(make);
    EXPECT_EQ(failure.code, "out_of_range");
    EXPECT_THAT(failure.context, ElementsAre("in layer " + layer));
  }
}

}  // namespace
}  // namespace octet
