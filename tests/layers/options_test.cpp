// Options written as in Keras' documentation, compared with the shapes and
// parameters that Keras computes: tests/oracle/make_options_golden.py.
#include <algorithm>
#include <string>
#include <vector>

#include <octet/io/json.h>
#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "support.h"

namespace octet {
namespace {

struct Typed {
  std::string call;  ///< in Keras
  Shape input;
  LayerHandle layer;
};

std::vector<Typed> typed_layers() {
  return {
      {R"(Conv2D(4, 3))", {9, 14, 3}, Conv2D({4, 3})},
      {R"(Conv2D(4, (3, 5)))", {9, 14, 3}, Conv2D({4, {3, 5}})},
      {R"(Conv2D(filters=4, kernel_size=3))",
       {9, 14, 3},
       Conv2D({.filters = 4, .kernel_size = 3})},
      {R"(Conv2D(filters=4, kernel_size=(2, 5)))",
       {9, 14, 3},
       Conv2D({.filters = 4, .kernel_size = {2, 5}})},
      {R"(Conv2D(4, 3, 2))", {9, 14, 3}, Conv2D({4, 3, 2})},
      {R"(Conv2D(4, 3, strides=2))",
       {9, 14, 3},
       Conv2D({.filters = 4, .kernel_size = 3, .strides = 2})},
      {R"(Conv2D(4, 3, strides=(1, 3)))",
       {9, 14, 3},
       Conv2D({.filters = 4, .kernel_size = {3}, .strides = {1, 3}})},
      {R"(Conv2D(4, 3, padding="same"))",
       {9, 14, 3},
       Conv2D({.filters = 4, .kernel_size = 3, .padding = "same"})},
      {R"(Conv2D(4, 3, strides=2, padding="same"))",
       {9, 14, 3},
       Conv2D({4, 3, 2, "same"})},
      {R"(Conv2D(4, 3, padding="valid"))",
       {9, 14, 3},
       Conv2D({.filters = 4, .kernel_size = 3, .padding = "valid"})},
      {R"(Conv2D(4, 3, dilation_rate=2))",
       {9, 14, 3},
       Conv2D({.filters = 4, .kernel_size = 3, .dilation_rate = 2})},
      {R"(Conv2D(4, 3, dilation_rate=(1, 3)))",
       {9, 14, 3},
       Conv2D({.filters = 4, .kernel_size = 3, .dilation_rate = {1, 3}})},
      {R"(Conv2D(6, 3, groups=3))",
       {9, 14, 3},
       Conv2D({.filters = 6, .kernel_size = 3, .groups = 3})},
      {R"(Conv2D(4, 3, use_bias=False))",
       {9, 14, 3},
       Conv2D({.filters = 4, .kernel_size = 3, .use_bias = false})},
      {R"(Conv2D(4, 3, activation="relu"))",
       {9, 14, 3},
       Conv2D({.filters = 4, .kernel_size = 3, .activation = "relu"})},
      {R"(DepthwiseConv2D(3))", {9, 14, 3}, DepthwiseConv2D({3})},
      {R"(DepthwiseConv2D((3, 5)))",
       {9, 14, 3},
       DepthwiseConv2D({.kernel_size = {3, 5}})},
      {R"(DepthwiseConv2D(kernel_size=3, strides=2))",
       {9, 14, 3},
       DepthwiseConv2D({.kernel_size = 3, .strides = 2})},
      {R"(DepthwiseConv2D(3, depth_multiplier=2, padding="same"))",
       {9, 14, 3},
       DepthwiseConv2D(
           {.kernel_size = 3, .padding = "same", .depth_multiplier = 2})},
      {R"(DepthwiseConv2D(3, dilation_rate=2, use_bias=False))",
       {9, 14, 3},
       DepthwiseConv2D(
           {.kernel_size = 3, .dilation_rate = 2, .use_bias = false})},
      {R"(SeparableConv2D(4, 3))", {9, 14, 3}, SeparableConv2D({4, 3})},
      {R"(SeparableConv2D(4, (3, 5), strides=2))",
       {9, 14, 3},
       SeparableConv2D({.filters = 4, .kernel_size = {3, 5}, .strides = 2})},
      {R"(SeparableConv2D(4, 3, padding="same", depth_multiplier=2))",
       {9, 14, 3},
       SeparableConv2D({.filters = 4,
                        .kernel_size = 3,
                        .padding = "same",
                        .depth_multiplier = 2})},
      {R"(SeparableConv2D(4, 3, dilation_rate=2))",
       {9, 14, 3},
       SeparableConv2D({.filters = 4, .kernel_size = 3, .dilation_rate = 2})},
      {R"(Conv2DTranspose(4, 3))", {9, 14, 3}, Conv2DTranspose({4, 3})},
      {R"(Conv2DTranspose(4, (3, 5), strides=2))",
       {9, 14, 3},
       Conv2DTranspose({.filters = 4, .kernel_size = {3, 5}, .strides = 2})},
      {R"(Conv2DTranspose(4, 3, strides=2, padding="same"))",
       {9, 14, 3},
       Conv2DTranspose(
           {.filters = 4, .kernel_size = 3, .strides = 2, .padding = "same"})},
      {R"(Conv2DTranspose(4, 3, strides=(1, 3), padding="same"))",
       {9, 14, 3},
       Conv2DTranspose({.filters = 4,
                        .kernel_size = 3,
                        .strides = {1, 3},
                        .padding = "same"})},
      {R"(Conv2DTranspose(4, 3, dilation_rate=2))",
       {9, 14, 3},
       Conv2DTranspose({.filters = 4, .kernel_size = 3, .dilation_rate = 2})},
      {R"(MaxPooling2D())", {9, 14, 3}, MaxPooling2D()},
      {R"(MaxPooling2D(3))", {9, 14, 3}, MaxPooling2D({3})},
      {R"(MaxPooling2D((2, 3)))",
       {9, 14, 3},
       MaxPooling2D({.pool_size = {2, 3}})},
      {R"(MaxPooling2D(pool_size=3, strides=2))",
       {9, 14, 3},
       MaxPooling2D({.pool_size = 3, .strides = 2})},
      {R"(MaxPooling2D(3, 2))", {9, 14, 3}, MaxPooling2D({3, 2})},
      {R"(MaxPooling2D(pool_size=(2, 3), strides=None))",
       {9, 14, 3},
       MaxPooling2D({.pool_size = {2, 3}, .strides = {}})},
      {R"(MaxPooling2D(pool_size=3, strides=1, padding="same"))",
       {9, 14, 3},
       MaxPooling2D({.pool_size = 3, .strides = 1, .padding = "same"})},
      {R"(AveragePooling2D(3))", {9, 14, 3}, AveragePooling2D({3})},
      {R"(AveragePooling2D((2, 3)))",
       {9, 14, 3},
       AveragePooling2D({.pool_size = {2, 3}})},
      {R"(AveragePooling2D(pool_size=3, strides=2))",
       {9, 14, 3},
       AveragePooling2D({.pool_size = 3, .strides = 2})},
      {R"(AveragePooling2D(3, (1, 2), padding="same"))",
       {9, 14, 3},
       AveragePooling2D({3, {1, 2}, "same"})},
      {R"(ZeroPadding2D())", {9, 14, 3}, ZeroPadding2D()},
      {R"(ZeroPadding2D(2))", {9, 14, 3}, ZeroPadding2D({2})},
      {R"(ZeroPadding2D(padding=(1, 2)))",
       {9, 14, 3},
       ZeroPadding2D({.padding = {1, 2}})},
      {R"(ZeroPadding2D(padding=((1, 0), (2, 3))))",
       {9, 14, 3},
       ZeroPadding2D({.padding = {{1, 0}, {2, 3}}})},
      {R"(Cropping2D(2))", {9, 14, 3}, Cropping2D({2})},
      {R"(Cropping2D(cropping=(1, 2)))",
       {9, 14, 3},
       Cropping2D({.cropping = {1, 2}})},
      {R"(Cropping2D(cropping=((1, 0), (2, 3))))",
       {9, 14, 3},
       Cropping2D({.cropping = {{1, 0}, {2, 3}}})},
      {R"(UpSampling2D())", {9, 14, 3}, UpSampling2D()},
      {R"(UpSampling2D(3))", {9, 14, 3}, UpSampling2D({3})},
      {R"(UpSampling2D(size=(2, 3)))",
       {9, 14, 3},
       UpSampling2D({.size = {2, 3}})},
      {R"(UpSampling2D(size=2, interpolation="bilinear"))",
       {9, 14, 3},
       UpSampling2D({.size = 2, .interpolation = "bilinear"})},
      {R"(GlobalAveragePooling2D())", {9, 14, 3}, GlobalAveragePooling2D()},
      {R"(GlobalAveragePooling2D(keepdims=True))",
       {9, 14, 3},
       GlobalAveragePooling2D({.keepdims = true})},
      {R"(GlobalMaxPooling2D())", {9, 14, 3}, GlobalMaxPooling2D()},
      {R"(GlobalMaxPooling2D(keepdims=True))",
       {9, 14, 3},
       GlobalMaxPooling2D({.keepdims = true})},
      {R"(Dense(5))", {9, 14, 3}, Dense({5})},
      {R"(Dense(units=5, activation="relu"))",
       {9, 14, 3},
       Dense({.units = 5, .activation = "relu"})},
      {R"(Dense(5, use_bias=False))",
       {9, 14, 3},
       Dense({.units = 5, .use_bias = false})},
      {R"(BatchNormalization())", {9, 14, 3}, BatchNormalization()},
      {R"(BatchNormalization(momentum=0.9, epsilon=1e-5))",
       {9, 14, 3},
       BatchNormalization({.momentum = 0.9f, .epsilon = 1e-5f})},
      {R"(BatchNormalization(center=False))",
       {9, 14, 3},
       BatchNormalization({.center = false})},
      {R"(BatchNormalization(center=False, scale=False))",
       {9, 14, 3},
       BatchNormalization({.center = false, .scale = false})},
      {R"(LayerNormalization())", {9, 14, 3}, LayerNormalization()},
      {R"(LayerNormalization(center=False, scale=False))",
       {9, 14, 3},
       LayerNormalization({.center = false, .scale = false})},
      {R"(PReLU())", {9, 14, 3}, PReLU()},
      {R"(PReLU(shared_axes=[1, 2]))",
       {9, 14, 3},
       PReLU({.shared_axes = {1, 2}})},
      {R"(Flatten())", {9, 14, 3}, Flatten()},
      {R"(Reshape((14, 27)))", {9, 14, 3}, Reshape({{14, 27}})},
      {R"(Reshape(target_shape=(-1, 3)))",
       {9, 14, 3},
       Reshape({.target_shape = {-1, 3}})},
      {R"(Permute((3, 1, 2)))", {9, 14, 3}, Permute({{3, 1, 2}})},
      {R"(Permute(dims=(2, 1, 3)))", {9, 14, 3}, Permute({.dims = {2, 1, 3}})},
      {R"(Activation("relu"))", {9, 14, 3}, Activation({.activation = "relu"})},
      {R"(ReLU())", {9, 14, 3}, ReLU()},
      {R"(ReLU(max_value=6))", {9, 14, 3}, ReLU({.max_value = 6})},
      {R"(ReLU(6.0))", {9, 14, 3}, ReLU({6.0})},
      {R"(LeakyReLU())", {9, 14, 3}, LeakyReLU()},
      {R"(LeakyReLU(negative_slope=0.1))",
       {9, 14, 3},
       LeakyReLU({.negative_slope = 0.1f})},
      {R"(ELU(alpha=0.5))", {9, 14, 3}, ELU({.alpha = 0.5})},
      {R"(Softmax())", {9, 14, 3}, Softmax()},
      {R"(Softmax(axis=1))", {9, 14, 3}, Softmax({.axis = 1})},
      {R"(Dropout(0.25))", {9, 14, 3}, Dropout({0.25})},
      {R"(SpatialDropout2D(0.25))", {9, 14, 3}, SpatialDropout2D({0.25})},
      {R"(GaussianNoise(0.1))", {9, 14, 3}, GaussianNoise({0.1f})},
      {R"(ActivityRegularization(l1=0.01))",
       {9, 14, 3},
       ActivityRegularization({.l1 = 0.01f})},
      {R"(Rescaling(1 / 255.0))", {9, 14, 3}, Rescaling({{1 / 255.0f}})},
      {R"(Rescaling(scale=2, offset=-1))",
       {9, 14, 3},
       Rescaling({.scale = {2}, .offset = {-1}})},
      {R"(Normalization(mean=0.5, variance=2.0))",
       {9, 14, 3},
       Normalization({.mean = {0.5}, .variance = {2.0}})},
      {R"(Normalization(axis=-1, mean=[1, 2, 3], variance=[1, 2, 3]))",
       {9, 14, 3},
       Normalization({.axis = {-1}, .mean = {1, 2, 3}, .variance = {1, 2, 3}})},
      {R"(Normalization(axis=None, mean=0.5, variance=2.0))",
       {9, 14, 3},
       Normalization({.axis = {}, .mean = {0.5}, .variance = {2.0}})},
      {R"(Conv1D(4, 3))", {14, 3}, Conv1D({4, 3})},
      {R"(Conv1D(4, 3, 2))", {14, 3}, Conv1D({4, 3, 2})},
      {R"(Conv1D(filters=4, kernel_size=5, strides=2))",
       {14, 3},
       Conv1D({.filters = 4, .kernel_size = 5, .strides = 2})},
      {R"(Conv1D(4, 3, padding="same"))",
       {14, 3},
       Conv1D({.filters = 4, .kernel_size = 3, .padding = "same"})},
      {R"(Conv1D(4, 3, padding="causal", dilation_rate=2))",
       {14, 3},
       Conv1D({.filters = 4,
               .kernel_size = 3,
               .padding = "causal",
               .dilation_rate = 2})},
      {R"(Conv1D(4, 3, strides=2, padding="causal"))",
       {14, 3},
       Conv1D({4, 3, 2, "causal"})},
      {R"(Conv1D(6, 3, groups=3, use_bias=False))",
       {14, 3},
       Conv1D(
           {.filters = 6, .kernel_size = 3, .groups = 3, .use_bias = false})},
      {R"(DepthwiseConv1D(3))", {14, 3}, DepthwiseConv1D({3})},
      {R"(DepthwiseConv1D(3, depth_multiplier=2, padding="same"))",
       {14, 3},
       DepthwiseConv1D(
           {.kernel_size = 3, .padding = "same", .depth_multiplier = 2})},
      {R"(SeparableConv1D(4, 3))", {14, 3}, SeparableConv1D({4, 3})},
      {R"(SeparableConv1D(4, 3, strides=2, depth_multiplier=2))",
       {14, 3},
       SeparableConv1D({.filters = 4,
                        .kernel_size = 3,
                        .strides = 2,
                        .depth_multiplier = 2})},
      {R"(MaxPooling1D())", {14, 3}, MaxPooling1D()},
      {R"(MaxPooling1D(3, 2))", {14, 3}, MaxPooling1D({3, 2})},
      {R"(MaxPooling1D(pool_size=3, strides=None))",
       {14, 3},
       MaxPooling1D({.pool_size = 3, .strides = {}})},
      {R"(AveragePooling1D(3))", {14, 3}, AveragePooling1D({3})},
      {R"(AveragePooling1D(pool_size=3, strides=2, padding="same"))",
       {14, 3},
       AveragePooling1D({3, 2, "same"})},
      {R"(GlobalAveragePooling1D())", {14, 3}, GlobalAveragePooling1D()},
      {R"(GlobalAveragePooling1D(keepdims=True))",
       {14, 3},
       GlobalAveragePooling1D({.keepdims = true})},
      {R"(GlobalMaxPooling1D())", {14, 3}, GlobalMaxPooling1D()},
      {R"(ZeroPadding1D())", {14, 3}, ZeroPadding1D()},
      {R"(ZeroPadding1D(2))", {14, 3}, ZeroPadding1D({2})},
      {R"(ZeroPadding1D(padding=(1, 3)))",
       {14, 3},
       ZeroPadding1D({.padding = {1, 3}})},
      {R"(Cropping1D())", {14, 3}, Cropping1D()},
      {R"(Cropping1D(cropping=(0, 3)))",
       {14, 3},
       Cropping1D({.cropping = {0, 3}})},
      {R"(UpSampling1D())", {14, 3}, UpSampling1D()},
      {R"(UpSampling1D(size=3))", {14, 3}, UpSampling1D({.size = 3})},
      {R"(SpatialDropout1D(0.25))", {14, 3}, SpatialDropout1D({0.25f})},
      {R"(BatchNormalization())", {14, 3}, BatchNormalization()},
      {R"(Dense(5))", {7}, Dense({5})},
      {R"(BatchNormalization())", {7}, BatchNormalization()},
      {R"(Softmax())", {7}, Softmax()},
      {R"(Reshape((7, 1, 1)))", {7}, Reshape({{7, 1, 1}})},
      {R"(Dropout(rate=0.5))", {7}, Dropout({.rate = 0.5})},
  };
}

std::vector<int64_t> numbers(const Config& list) {
  std::vector<int64_t> result;
  for (const Config& entry : list.as_list()) result.push_back(entry.as_int());
  return result;
}

TEST(LayerOptions, MatchKerasShapesAndParameters) {
  const Config golden = io::from_json(
      read_file(std::string(OCTET_SOURCE_DIR) + "/tests/golden/options.json"));
  const std::vector<Typed> typed = typed_layers();
  ASSERT_EQ(golden.as_list().size(), typed.size());
  for (size_t i = 0; i < typed.size(); ++i) {
    const Config& expected = golden.as_list()[i];
    SCOPED_TRACE(typed[i].call);
    ASSERT_EQ(expected.at("call").as_string(), typed[i].call);
    const SymbolicTensor x = input(typed[i].input);
    const SymbolicTensor y = typed[i].layer(x);
    const Shape sample = y.shape().slice(1, y.shape().rank());
    const std::vector<int64_t> dims(sample.dims().begin(), sample.dims().end());
    EXPECT_EQ(dims, numbers(expected.at("output")));
    EXPECT_EQ(Model(x, y).parameter_count(),
              expected.at("parameters").as_int());
  }
}

// As in PyTorch's documentation.
TEST(LayerOptions, AcceptAPadForAllSides) {
  const auto shape = [](const Padding& padding) {
    return Conv2D({.filters = 4, .kernel_size = 3, .padding = padding})(
               input({9, 14, 3}))
        .shape();
  };
  EXPECT_EQ(shape(1), Shape({Shape::kAnySize, 9, 14, 4}));
  EXPECT_EQ(shape({1, 2}), Shape({Shape::kAnySize, 9, 16, 4}));
  EXPECT_EQ(shape(Pads{{0, 1}, {2, 3}}), Shape({Shape::kAnySize, 8, 17, 4}));
  EXPECT_EQ(shape({0, 1, 2, 3}), Shape({Shape::kAnySize, 8, 17, 4}));
  EXPECT_EQ(shape(0), Shape({Shape::kAnySize, 7, 12, 4}));
  EXPECT_EQ(
      Conv2D({.filters = 4, .kernel_size = 3, .padding = {{0, 1}, {2, 3}}})(
          input({9, 14, 3}))
          .shape(),
      Shape({Shape::kAnySize, 8, 17, 4}));
}

// `.padding = true` would mean "same" to some users, but a padding of 1 in C++.
TEST(LayerOptions, RejectBooleans) {
  static_assert(!std::is_constructible_v<Size2, bool>);
  static_assert(!std::is_constructible_v<Size2, int, bool>);
  static_assert(!std::is_constructible_v<Pads, bool>);
  static_assert(!std::is_constructible_v<Padding, bool>);
}

TEST(LayerOptions, AreRequiredWithoutADefaultInKeras) {
  EXPECT_THROW((void)Conv2D({.filters = 4, .kernel_size = {}}), ValueError);
  EXPECT_THROW((void)Conv2D({.filters = 4, .strides = {}}), ValueError);
  EXPECT_THROW((void)UpSampling2D({.size = {}}), ValueError);
}

TEST(LayerOptions, RejectUnknownPaddings) {
  EXPECT_EQ(failure_of<ValueError>([] { (void)Padding("smae"); }),
            (Failure{"invalid_value", "padding"}));
}

// 1 / 255 is 0 in C++: it would make every image black.
TEST(LayerOptions, RejectAScaleOfZero) {
  const Failure failure =
      failure_of<ValueError>([] { (void)Rescaling({.scale = {1 / 255}}); });
  EXPECT_EQ(failure, (Failure{"out_of_range", "scale"}));
  EXPECT_THAT(failure.message, testing::HasSubstr("1 / 255.0f"));
}

}  // namespace
}  // namespace octet
