// Models of Keras against Keras' outputs. Each .json in tests/golden/keras
// names its writer; see tests/oracle/make_keras_golden.py.
#include <array>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/error.h>

#include "keras_files.h"
#include "support.h"

namespace octet::io {
namespace {

// Both compute in float32, in different orders: sums of a few hundred products
// of magnitude 1, in outputs of magnitude up to 10.
constexpr float kTolerance = 1e-5f;

struct GoldenFile {
  std::string name;  // of the case
  std::string file;
  std::string architecture = "";
  std::string backend = "";
};

std::vector<GoldenFile> golden_files() {
  return {
      {"k1_tf", "k1_tf.h5"},
      {"k1_th", "k1_th.h5", "", "tensorflow"},
      {"k1_th_theano", "k1_th_theano.h5", "", "theano"},
      {"k2_functional", "k2_functional.h5"},
      {"k2_functional", "k2_functional.keras"},
      {"k2_functional", "k2_functional.legacy_weights.h5",
       "k2_functional.architecture.json"},
      {"k2_functions", "k2_functions.h5"},
      {"k2_masked", "k2_masked.h5"},
      {"k2_masked_chain", "k2_masked_chain.h5"},
      {"k2_recurrent", "k2_recurrent.h5"},
      {"k2_sequence", "k2_sequence.h5"},
      {"k2_signal", "k2_signal.h5"},
      {"k30_functional", "k30_functional.keras"},
      {"k3_applications", "k3_applications.h5"},
      {"k3_applications", "k3_applications.keras"},
      {"k3_blocks", "k3_blocks.h5"},
      {"k3_blocks", "k3_blocks.keras"},
      {"k3_bfloat16", "k3_bfloat16.keras"},
      {"k3_channels_first", "k3_channels_first.h5"},
      {"k3_channels_first", "k3_channels_first.keras"},
      {"k3_functional", "k3_functional.h5"},
      {"k3_functional", "k3_functional.keras"},
      {"k3_functional", "k3_functional.legacy_weights.h5",
       "k3_functional.architecture.json"},
      {"k3_functions", "k3_functions.keras"},
      {"k3_functions_channels_first", "k3_functions_channels_first.keras"},
      {"k3_operations", "k3_operations.keras"},
      {"k3_functional", "k3_functional.weights.h5",
       "k3_functional.architecture.json"},
      {"k3_masked", "k3_masked.keras"},
      {"k3_masked_chain", "k3_masked_chain.h5"},
      {"k3_masked_chain", "k3_masked_chain.keras"},
      {"k3_masked_operations", "k3_masked_operations.keras"},
      {"k3_not_augmenting", "k3_not_augmenting.h5"},
      {"k3_preprocessing", "k3_preprocessing.keras"},
      {"k3_preprocessing_channels_first",
       "k3_preprocessing_channels_first.keras"},
      {"k3_recurrent", "k3_recurrent.h5"},
      {"k3_recurrent", "k3_recurrent.keras"},
      {"k3_recurrent", "k3_recurrent.weights.h5",
       "k3_recurrent.architecture.json"},
      {"k3_sequence", "k3_sequence.keras"},
      {"k3_signal", "k3_signal.keras"},
      {"k3_signal_channels_first", "k3_signal_channels_first.keras"},
  };
}

class KerasGolden : public ::testing::TestWithParam<GoldenFile> {};

TEST_P(KerasGolden, MatchesKeras) {
  const GoldenFile& golden = GetParam();
  KerasOptions options{.backend = golden.backend};
  if (!golden.architecture.empty()) {
    options.architecture = keras_golden(golden.architecture);
  }
  const Model model = load_keras(keras_golden(golden.file), options);
  expect_computes(model, keras_case(golden.name), kTolerance);
}

TEST_P(KerasGolden, IsTheSameWithoutAChildProcess) {
  const GoldenFile& golden = GetParam();
  KerasOptions options{.backend = golden.backend,
                       .limits = {.isolation = Isolation::none}};
  if (!golden.architecture.empty()) {
    options.architecture = keras_golden(golden.architecture);
  }
  const Model model = load_keras(keras_golden(golden.file), options);
  expect_computes(model, keras_case(golden.name), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Files, KerasGolden,
                         ::testing::ValuesIn(golden_files()),
                         [](const auto& file) {
                           std::string name = file.param.file;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) ==
                                 0) {
                               c = '_';
                             }
                           }
                           return name;
                         });

TEST(KerasModel, NestedAndSharedLayersArePartOfOneGraph) {
  const Model model = load_keras(keras_golden("k2_functional.h5"));
  EXPECT_EQ(model.name(), "outer");
  EXPECT_EQ(model.inputs().size(), 2u);
  const Layer& conv = model.layer("middle/encoder/conv1");
  EXPECT_EQ(conv.class_name(), "Conv2D");
  // Called twice: two nodes, one layer.
  const auto calls = std::ranges::count_if(
      model.nodes(),
      [&](const auto& node) { return node->layer.get() == &conv; });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(model.layer("shared/leaky_re_lu").class_name(), "LeakyReLU");
  EXPECT_EQ(model.layer("attention/attention").class_name(),
            "ScaledDotProductAttention");
  EXPECT_EQ(model.layer("head/dense_in_head").class_name(), "Dense");
}

TEST(KerasModel, ImagesWithTheirChannelsFirstBecomeNhwc) {
  const Model model = load_keras(keras_golden("k3_channels_first.keras"));
  EXPECT_EQ(model.inputs()[0].shape(), (Shape{-1, 8, 6, 3}));
  EXPECT_EQ(model.layer("conv").parameter("kernel").variable.shape(),
            (Shape{3, 3, 3, 4}));
  EXPECT_EQ(model.layer("each").parameter("alpha").variable.shape(),
            (Shape{8, 3, 4}));
  // No layer transposes images before this Dense.
  const auto dense = std::ranges::find_if(model.nodes(), [](const auto& node) {
    return node->layer->name() == "row_dense";
  });
  std::vector<const GraphNode*> before{dense->get()};
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NE(before[i]->layer->class_name(), "Permute");
    EXPECT_NE(before[i]->layer->class_name(), "Reshape");
    for (const SymbolicTensor& x : before[i]->inputs) {
      before.push_back(x.node.get());
    }
  }
  EXPECT_GT(before.size(), 10u);
}

// Also of layers that are several in Octet, or have another name.
TEST(KerasModel, FindsOutputsByTheNamesOfTheFile) {
  const Model model = load_keras(keras_golden("k3_blocks.keras"));
  EXPECT_EQ(model.output("heads").shape(), (Shape{-1, 5, 2, 4}));
  EXPECT_EQ(model.output("mix").shape(), (Shape{-1, 5, 6}));
  EXPECT_EQ(model.output("causal").node,
            model.output("causal/attention_output").node);
  EXPECT_EQ(model.output("up").shape(), (Shape{-1, 10, 4}));
  EXPECT_EQ(model.output("images").shape(), (Shape{-1, 3, 8, 6, 2}));
  EXPECT_EQ(model.output("each").node->layer->class_name(), "Dense");
}

TEST(KerasModel, ReadsIntegersWhereKerasHasThem) {
  const Model model = load_keras(keras_golden("k3_sequence.keras"));
  EXPECT_EQ(model.layer("learned").parameter("count").variable.value().item(),
            7);
}

// --- third-party models ------------------------------------------------------

class SharedModels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(testdata())) {
      GTEST_SKIP() << testdata() << ": expected the shared test data";
    }
  }
  static KerasCase published(const std::string& name, const Shape& input,
                             int64_t classes) {
    const auto raw = [&](const char* end, const Shape& shape) {
      return raw_floats(testdata("golden/" + name + end), shape);
    };
    return {{raw(".in.f32", input.with(0, 2))},
            {raw(".out.f32", {2, classes})}};
  }
};

TEST_F(SharedModels, ResNet8GivesThePublishedOutputs) {
  const std::string name = "pretrainedResnet.h5";
  const Model model = load_keras(testdata("models/" + name));
  expect_computes(model, published(name, {-1, 32, 32, 3}, 10), kTolerance);
  EXPECT_EQ(model.parameter_count(), 78666);
}

TEST_F(SharedModels, DsCnnGivesThePublishedOutputs) {
  const std::string name = "kws_ref_model_converted.h5";
  const Model model = load_keras(testdata("models/" + name));
  expect_computes(model, published(name, {-1, 49, 10, 1}, 12), kTolerance);
}

TEST_F(SharedModels, DsCnnHasThePublishedAccuracy) {
  const Model model = load_keras(testdata("models/kws_ref_model_converted.h5"));
  const Keywords words = keywords();
  const Tensor y = model.predict(words.x);
  int correct = 0;
  const auto labels = words.labels.data<int64_t>();
  for (size_t n = 0; n < labels.size(); ++n) {
    const auto scores = y.f32().subspan(12 * n, 12);
    const auto best = std::ranges::max_element(scores) - scores.begin();
    correct += best == labels[n] ? 1 : 0;
  }
  EXPECT_EQ(correct, 913);

  // Outputs of the published float model for the first inputs.
  std::ifstream csv(testdata("kws01/expected_float_softmax_first16.csv"));
  std::string line;
  size_t compared = 0;
  while (std::getline(csv, line) && compared < 16 * 12) {
    std::istringstream numbers(line);
    std::string number;
    while (std::getline(numbers, number, ',')) {
      EXPECT_NEAR(y.f32()[compared], std::stof(number), 1e-4f) << compared;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 16u * 12);
}

TEST_F(SharedModels, WeightsOfAFileFitTheNetworkOfTheZoo) {
  // The zoo's network ends before the softmax.
  Model zoo = zoo::make("resnet8");
  load_keras_weights(zoo, testdata("models/pretrainedResnet.h5"));
  const Model model = load_keras(testdata("models/pretrainedResnet.h5"));
  const KerasCase expected =
      published("pretrainedResnet.h5", {-1, 32, 32, 3}, 10);
  const SymbolicTensor x = input({10});
  const Model softmax(x, Softmax()(x));
  const Tensor scores = softmax.predict(zoo.predict(expected.inputs[0]));
  EXPECT_LE(largest_difference(scores, expected.outputs[0]), kTolerance);
}

}  // namespace
}  // namespace octet::io
