// C code of models: compiled on this machine, it computes the model's outputs
// bit for bit.
#include <limits>
#include <string>

#include <gmock/gmock.h>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "../support.h"
#include "c_program.h"

namespace octet::io {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Height, width and channels differ, and are odd.
Model plain_network() {
  const auto x = input({9, 7, 3}, "image");
  auto y = Conv2D({.filters = 17,
                   .strides = {2, 1},
                   .padding = Padding::same,
                   .activation = "relu",
                   .name = "stem"})(x);
  y = DepthwiseConv2D(
      {.kernel_size = {3, 3}, .padding = Padding::same, .name = "depth"})(y);
  y = BatchNormalization({.name = "norm"})(y);
  y = ReLU({.max_value = 6, .name = "relu6"})(y);
  y = Conv2D({.filters = 5, .kernel_size = {1, 1}, .name = "point"})(y);
  y = MaxPooling2D({.pool_size = {2, 2}, .name = "pool"})(y);
  y = Flatten()(y);
  y = Dense({.units = 4, .name = "head"})(y);
  return Model(x, Softmax({.name = "softmax"})(y));
}

TEST_F(CCodeTest, QuantizedConvolutionsEqualTheModel) {
  expect_same_bits(int8_model(plain_network()));
  const std::string header = text("model.h");
  EXPECT_THAT(header, HasSubstr("#define NET_INPUT_SIZE 189\n"));
  EXPECT_THAT(header, HasSubstr("'image', [9,7,3]"));
  EXPECT_THAT(header, HasSubstr("NET_INPUT_SCALE"));
  EXPECT_THAT(header, HasSubstr("int net_run(const int8_t* input, "
                                "float* output, void* arena);"));
  EXPECT_EQ(report_.inputs, 189);
  EXPECT_EQ(report_.outputs, 16);
  // 5x7 outputs: 27 products of each of 17 channels, 9 of each, 17 of each of
  // 5; 30 of each of 4.
  EXPECT_EQ(report_.multiply_adds, 35 * (27 * 17 + 9 * 17 + 17 * 5) + 30 * 4);
  // Two values of 5x7x17 int8 values, rounded up to 16 bytes.
  EXPECT_EQ(report_.arena, 2 * 608);
}

TEST_F(CCodeTest, FloatModelsEqualTheModel) {
  expect_same_bits(plain_network());
  EXPECT_THAT(text("model.h"), Not(HasSubstr("_SCALE")));
  EXPECT_THAT(text("model.c"), Not(HasSubstr("net_conv_s8")));
}

TEST_F(CCodeTest, SumsOfBranchesEqualTheModel) {
  const auto x = input({6, 5, 4});
  auto y = Conv2D({.filters = 8, .padding = Padding::same})(x);
  y = BatchNormalization()(y);
  const auto left = ReLU()(y);
  y = Conv2D({.filters = 8, .padding = Padding::same})(left);
  y = ReLU()(Add()({y, left}));
  const auto right =
      Conv2D({.filters = 8, .kernel_size = {1, 1}, .strides = {2, 2}})(y);
  y = Conv2D({.filters = 8, .strides = {2, 2}, .padding = Padding::same})(y);
  y = Add()({y, right});
  const Model model(x, GlobalAveragePooling2D()(y));
  expect_same_bits(int8_model(model));
  expect_same_bits(int8_model(model, {.policy = quant::Policy::toolkit}));
  expect_same_bits(model);
}

TEST_F(CCodeTest, ConcatenationsAndPoolsEqualTheModel) {
  const auto x = input({8, 6, 3});
  auto y = Conv2D({.filters = 6, .activation = "relu"})(
      ZeroPadding2D({.padding = 1})(x));
  const auto a = Conv2D({.filters = 3, .kernel_size = {1, 1}})(y);
  const auto b = MaxPooling2D({.pool_size = {3, 3},
                               .strides = Size2{1, 1},
                               .padding = Padding::same})(y);
  const auto c = AveragePooling2D({.pool_size = {3, 3},
                                   .strides = Size2{1, 1},
                                   .padding = Padding::same})(y);
  y = Concatenate()({a, b, c});
  y = UpSampling2D({.size = {2, 2}})(y);
  y = Conv2D({.filters = 4, .dilation_rate = {2, 2}, .groups = 1})(y);
  const Model model(x, y);
  expect_same_bits(int8_model(model));
  expect_same_bits(model);
}

// The policy quantizes every value: gates, repeated pixels and concatenations.
TEST_F(CCodeTest, NetworksOfTflitePolicyEqualTheModel) {
  const quant::QuantizeOptions tflite{.policy = quant::Policy::tflite};
  const auto vector = input({17});
  expect_same_bits(int8_model(
      Model(vector, Dense({.units = 5, .activation = "silu"})(vector)),
      tflite));
  const auto x = input({5, 4, 3});
  expect_same_bits(
      int8_model(Model(x, UpSampling2D({.size = {1, 2}})(x)), tflite));
  const auto y =
      Conv2D({.filters = 2, .kernel_size = 1, .activation = "softmax"})(x);
  expect_same_bits(
      int8_model(Model(x, AveragePooling2D({.pool_size = 2, .padding = "same"})(
                              Concatenate()({x, y}))),
                 tflite));
  expect_same_bits(int8_model(Model(x, Softmax()(x)), tflite),
                   {.arithmetic = CArithmetic::fixed});
}

TEST_F(CCodeTest, GroupsAndMultipliersEqualTheModel) {
  const auto x = input({5, 4, 6});
  auto y = Conv2D({.filters = 9, .groups = 3})(x);
  y = DepthwiseConv2D({.kernel_size = {2, 2}, .depth_multiplier = 2})(y);
  const Model model(x, LeakyReLU({.negative_slope = 0.1f})(y));
  expect_same_bits(int8_model(model));
  expect_same_bits(model);
}

TEST_F(CCodeTest, SequencesEqualTheModel) {
  const auto x = input({20, 3});
  auto y = Conv1D({.filters = 5, .kernel_size = 4, .activation = "relu"})(x);
  y = DepthwiseConv1D({.kernel_size = 3})(y);
  y = MaxPooling1D({.pool_size = 2})(y);
  y = Dense({.units = 7})(y);
  const Model model(x, GlobalAveragePooling1D()(y));
  expect_same_bits(int8_model(model));
  expect_same_bits(model);
}

TEST_F(CCodeTest, SeveralInputsAndOutputsHaveTheirNames) {
  const auto left = input({4, 4, 2}, "left eye");
  const auto right = input({4, 4, 2}, "right-eye");
  const Conv2D shared({.filters = 3, .name = "shared"});
  const auto a = shared(left), b = shared(right);
  const auto y =
      Dense({.units = 2, .name = "gaze"})(Flatten()(Concatenate()({a, b})));
  const Model model({left, right}, {y, a});
  expect_same_bits(int8_model(model), {.name = "eyes"});
  const std::string header = text("model.h");
  EXPECT_THAT(header, HasSubstr("input_left_eye, "));
  EXPECT_THAT(header, HasSubstr("input_right_eye, float* output_gaze, "));
  EXPECT_THAT(header, HasSubstr("#define EYES_INPUT_LEFT_EYE_SIZE 32\n"));
  EXPECT_THAT(header, HasSubstr("#define EYES_ARENA_BYTES "));
}

// The network of MLPerf Tiny for anomaly detection.
TEST_F(CCodeTest, AutoencodersEqualTheModel) {
  const auto x = input({640});
  auto y = x;
  for (const int64_t units : {128, 128, 128, 128, 8, 128, 128, 128, 128}) {
    y = ReLU()(BatchNormalization()(Dense({.units = units})(y)));
  }
  const Model model(x, Dense({.units = 640})(y));
  expect_same_bits(int8_model(model));
  EXPECT_EQ(report_.arena, 2 * 128 + 16);
  EXPECT_EQ(report_.multiply_adds, 264192);
}

TEST_F(CCodeTest, SmallNetworksEqualTheModel) {
  const auto x = input({1, 1, 1});
  expect_same_bits(int8_model(Model(
      x, Conv2D({.filters = 1, .kernel_size = {1, 1}, .name = "only"})(x))));
  const auto vector = input({3});
  expect_same_bits(Model(vector, ReLU()(vector)));
  expect_same_bits(Model(vector, Reshape({.target_shape = {3, 1}})(vector)));
}

TEST_F(CCodeTest, NamesOfLayersAreNoCode) {
  const auto x = input({3});
  const auto y =
      Dense({.units = 2, .name = "a */ int x; /* ?\?/ \\ \n\xc3\xa4"})(x);
  expect_same_bits(Model(x, Dense({.units = 2, .name = "buffer_0"})(y)));
}

TEST_F(CCodeTest, ResultsDoNotDependOnTheInstructionSet) {
  const Model model = int8_model(plain_network());
  const Isa before = active_isa();
  const std::string code = to_c(model).files.at(1).contents;
  EXPECT_EQ(active_isa(), before);
  for (const Isa isa : supported_isas()) {
    set_active_isa(isa);
    EXPECT_EQ(to_c(model).files.at(1).contents, code) << to_string(isa);
  }
  set_active_isa(before);
}

// Quantizes every output and weight: the recipe of TensorFlow Lite.
Model fully_quantized(const Model& model, float scale, int zero_point) {
  quant::QdqPlan plan;
  quant::QuantizerConfig config = quant::activation_quantizer();
  config.is_signed = false;
  config.zero_point = zero_point;
  for (const auto& node : model.nodes()) {
    const Layer& layer = *node->layer;
    if (node->inputs.empty()) continue;
    if (node->inputs[0].node->inputs.empty()) {
      plan.points.push_back({.layer = layer.name(),
                             .site = quant::QdqSite::input(0),
                             .config = config,
                             .rule = "user"});
    }
    for (const Parameter& p : layer.parameters()) {
      if (!p.name.ends_with("kernel")) continue;
      plan.points.push_back({.layer = layer.name(),
                             .site = quant::QdqSite::weight(p.name),
                             .config = quant::weight_quantizer(),
                             .rule = "user"});
    }
    quant::QuantizerConfig own = config;
    if (layer.class_name() == "Softmax") own.zero_point = 0;
    plan.points.push_back({.layer = layer.name(),
                           .site = quant::QdqSite::output(),
                           .config = own,
                           .rule = "user"});
  }
  Model int8 = quant::apply(plan, model);
  for (const auto& layer : int8.layers()) {
    const auto* wrapper =
        dynamic_cast<const quant::BaseQuantizeWrapper*>(layer.get());
    if (wrapper == nullptr) continue;
    const bool softmax = layer->original_name() == "softmax";
    for (const quant::PlacedQuantizer& placed : wrapper->activations()) {
      placed.quantizer->set_scale(softmax ? 1.0f / 256 : scale);
    }
  }
  return int8;
}

TEST_F(CCodeTest, TheFixedFormEqualsItsReference) {
  const auto x = input({9, 7, 3}, "image");
  auto y = Conv2D({.filters = 12,
                   .padding = Padding::same,
                   .activation = "relu6",
                   .bias_initializer = constant_value(0.1)})(x);
  const auto left = y;
  y = DepthwiseConv2D({.kernel_size = {3, 3}, .padding = Padding::same})(y);
  y = Add()({y, left});
  y = MaxPooling2D({.pool_size = {2, 2}})(y);
  y = AveragePooling2D({.pool_size = {3, 3}, .strides = Size2{1, 1}})(y);
  y = Conv2D({.filters = 20, .kernel_size = {1, 1}})(y);
  y = GlobalAveragePooling2D()(y);
  y = Dense({.units = 10})(y);
  const Model model(x, Softmax({.name = "softmax"})(y));
  for (const int zero_point : {0, 128, 113}) {
    (void)export_c(fully_quantized(model, 0.03f, zero_point), folder_.path(),
                   {.arithmetic = CArithmetic::fixed});
    EXPECT_THAT(text("model.c"), Not(HasSubstr("float*")));
    const CommandResult result = run_c(folder_);
    EXPECT_EQ(result.exit_code, 0) << result.output;
  }
}

TEST(CCodeRefusals, TheFixedFormListsFloatValues) {
  const Failure failure = failure_of<UnsupportedError>([&] {
    (void)to_c(int8_model(plain_network()), {.arithmetic = CArithmetic::fixed});
  });
  EXPECT_EQ(failure.code, "not_integer");
  EXPECT_THAT(failure.message, HasSubstr("'head': the output is float"));
}

// A bias of 1e9 is 1e9 / (scale * 1/127) units.
TEST(CCodeRefusals, TheFixedFormRejectsSumsBeyond32Bits) {
  const auto x = input({2});
  const Model model(x, Dense({.units = 1,
                              .kernel_initializer = constant_value(1),
                              .bias_initializer = constant_value(1e9),
                              .name = "head"})(x));
  const Failure failure = failure_of<UnsupportedError>([&] {
    (void)to_c(fully_quantized(model, 0.03f, 0),
               {.arithmetic = CArithmetic::fixed});
  });
  EXPECT_THAT(failure.message, HasSubstr("'head': its sums exceed int32"));
}

TEST_F(CCodeTest, ErrorsOfArenasAreCodes) {
  (void)export_c(int8_model(plain_network()), folder_.path());
  write_file(folder_ / "errors.c", R"(#include <stdio.h>
#include "model.h"
static uint32_t arena[NET_ARENA_BYTES / 4 + 1];
static int8_t x[NET_INPUT_SIZE];
static float y[NET_OUTPUT_SIZE];
int main(void) {
  printf("%d %d %d %d %d %d %d\n", net_run(x, y, arena), net_run(x, y, NULL),
         net_run(NULL, y, arena), net_run(x, NULL, arena),
         net_run(x, y, (char*)arena + 1),
         net_check_arena(arena, NET_ARENA_BYTES - 1),
         net_check_arena(arena, NET_ARENA_BYTES));
  return 0;
}
)");
  EXPECT_EQ(run_c(folder_, "-O1", "errors.c").output, "0 -1 -1 -1 -2 -3 0\n");
}

TEST_F(CCodeTest, SanitizersFindNothing) {
  (void)export_c(int8_model(plain_network()), folder_.path());
  const CommandResult result =
      run_c(folder_, "-g -fsanitize=address,undefined -fno-sanitize-recover");
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST(CCodeOptions, RejectsNamesThatAreNoIdentifiers) {
  const Model model = plain_network();
  for (const std::string name :
       {"", "2net", "a-b", "int", "_net", "n\xc3\xa4"}) {
    const Failure failure =
        failure_of<ValueError>([&] { (void)to_c(model, {.name = name}); });
    EXPECT_EQ(failure.code, "invalid_name") << name;
    EXPECT_EQ(failure.subject, "name");
  }
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)to_c(model, {.golden = 0}); }).code,
      "out_of_range");
  EXPECT_EQ(
      failure_of<ValueError>([] { (void)c_arithmetic_named("half"); }).code,
      "unknown_name");
}

TEST(CCodeRefusals, ListsStepsWithoutACForm) {
  const auto x = input({4, 4, 2});
  auto y = Conv2DTranspose({.filters = 3, .name = "enlarge"})(x);
  y = Permute({.dims = {2, 1, 3}, .name = "turn"})(y);
  const Failure failure =
      failure_of<UnsupportedError>([&] { (void)to_c(Model(x, y)); });
  EXPECT_EQ(failure.code, "no_c_form");
  EXPECT_THAT(failure.message, HasSubstr("'enlarge' (transposed convolution)"));
  EXPECT_THAT(failure.message, HasSubstr("'turn' (transpose)"));
  EXPECT_THAT(failure.message, HasSubstr("2 steps"));
}

TEST(CCodeRefusals, RejectsWeightsThatAreNotFinite) {
  const auto x = input({2});
  Model model(x, Dense({.units = 1, .name = "head"})(x));
  model.load_state_dict(
      {{"head.kernel",
        Tensor::full({2, 1}, std::numeric_limits<float>::infinity())}},
      StateMatch::partial);
  const Failure failure = failure_of<ValueError>([&] { (void)to_c(model); });
  EXPECT_EQ(failure.code, "not_finite");
  EXPECT_EQ(failure.subject, "'head'");
}

}  // namespace
}  // namespace octet::io
