// Functions of tf and keras.ops in place of layers.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>

#include "keras_forms.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;

// Returns all output values for input 0, 1, 2, ... [1,2,3].
std::vector<float> values_of_function(const std::string& function,
                                      const std::string& arguments,
                                      int outputs = 1) {
  std::string ends;
  for (int i = 0; i < outputs; ++i) {
    ends += fmt::format(R"({}["op",0,{}])", i == 0 ? "" : ",", i);
  }
  const Model model = keras_model(
      keras_functional({keras_input("i", "[null,2,3]"),
                        keras_layer("TFOpLambda", "op",
                                    fmt::format(R"("function":"{}")", function),
                                    R"([["i",0,0,)" + arguments + "]]")},
                       R"([["i",0,0]])", "[" + ends + "]"));
  std::vector<float> all;
  for (const Tensor& y :
       model.predict(std::vector<Tensor>{counting({1, 2, 3})})) {
    const auto numbers = values(y);
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

TEST(KerasFunctions, FunctionsOfAxesBecomeLayers) {
  const auto call = [](const std::string& function,
                       const std::string& arguments, int outputs = 1) {
    return values_of_function(function, arguments, outputs);
  };
  using V = std::vector<float>;
  EXPECT_EQ(call("math.reduce_sum", R"({"axis":-1})"), (V{3, 12}));
  EXPECT_EQ(call("math.reduce_sum", R"({"axis":[1],"keepdims":true})"),
            (V{3, 5, 7}));
  EXPECT_EQ(call("math.reduce_mean", R"({"axis":2})"), (V{1, 4}));
  EXPECT_EQ(call("math.reduce_max", R"({"axis":-1,"keepdims":true})"),
            (V{2, 5}));
  EXPECT_EQ(call("math.reduce_min", R"({"axis":1})"), (V{0, 1, 2}));
  EXPECT_EQ(call("math.argmax", R"({"axis":-1})"), (V{2, 2}));
  EXPECT_EQ(call("math.argmin", R"({"axis":1})"), (V{0, 0, 0}));
  EXPECT_EQ(call("math.reduce_sum", R"({"axis":[1,2],"keepdims":true})"),
            (V{15}));
  EXPECT_EQ(call("compat.v1.transpose", R"({"perm":[0,2,1]})"),
            (V{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(call("reverse", R"({"axis":[-1]})"), (V{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(call("split", R"({"num_or_size_splits":3,"axis":-1})", 3),
            (V{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(call("split", R"({"num_or_size_splits":[1,2],"axis":2})", 2),
            (V{0, 3, 1, 2, 4, 5}));
  EXPECT_EQ(call("tile", R"({"multiples":[1,1,2]})"),
            (V{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(call("repeat", R"({"repeats":2,"axis":1})"),
            (V{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(call("roll", R"({"shift":1,"axis":-1})"), (V{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(call("pad", R"({"paddings":[[0,0],[0,1],[0,0]]})"),
            (V{0, 1, 2, 3, 4, 5, 0, 0, 0}));
  EXPECT_EQ(call("pad", R"({"paddings":[[0,0],[0,0],[1,0]],)"
                        R"("constant_values":7})"),
            (V{7, 0, 1, 2, 7, 3, 4, 5}));
  EXPECT_EQ(call("pad", R"({"paddings":[[0,0],[0,0],[0,2]],)"
                        R"("mode":"REFLECT"})"),
            (V{0, 1, 2, 1, 0, 3, 4, 5, 4, 3}));
  EXPECT_EQ(call("pad", R"({"paddings":[[0,0],[1,0],[0,0]],)"
                        R"("mode":"SYMMETRIC"})"),
            (V{0, 1, 2, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(call("math.greater", R"({"y":2})"), (V{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(call("where", R"({"x":["i",0,0],"y":["i",0,0]})"),
            (V{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(call("einsum", R"({"subscripts":"bij,bkj->bik","y":["i",0,0]})"),
            (V{5, 14, 14, 50}));
  EXPECT_EQ(call("math.less_equal", R"({"y":["i",0,0]})"),
            (V{1, 1, 1, 1, 1, 1}));
  const auto refused = [](const std::string& function,
                          const std::string& arguments, int outputs = 1) {
    return failure_of<Error>(
        [&] { (void)values_of_function(function, arguments, outputs); });
  };
  for (const char* axes :
       {"{}", R"({"axis":0})", R"({"axis":3})", R"({"axis":[1,-2]})",
        R"({"axis":[1,2]})", R"({"axis":[]})", R"({"axis":"x"})"}) {
    EXPECT_EQ(refused("math.reduce_sum", axes),
              (Failure{"unsupported_attribute", "axis"}))
        << axes;
  }
  EXPECT_EQ(refused("compat.v1.transpose", R"({"perm":[1,0,2]})"),
            (Failure{"invalid_value", "transpose"}));
  EXPECT_EQ(
      refused("compat.v1.transpose", R"({"perm":[0,2,1],"conjugate":true})"),
      (Failure{"unsupported_attribute", "transpose"}));
  EXPECT_EQ(refused("nn.softmax", R"({"axis":-1,"beta":2})"),
            (Failure{"unsupported_attribute", "nn.softmax"}));
  EXPECT_EQ(refused("nn.gelu", R"({"approximate":true,"scale":2})"),
            (Failure{"unsupported_attribute", "nn.gelu"}));
  EXPECT_EQ(refused("compat.v1.squeeze", R"({"axis":[]})"),
            (Failure{"unsupported_attribute", "axis"}));
  EXPECT_EQ(refused("nn.softmax", R"({"axis":[1,2]})"),
            (Failure{"unsupported_attribute", "axis"}));
  EXPECT_EQ(refused("cast", R"({"dtype":"int32"})"),
            (Failure{"unsupported_attribute", "dtype"}));
  EXPECT_EQ(refused("math.round", R"({"decimals":1})"),
            (Failure{"unsupported_attribute", "decimals"}));
  EXPECT_EQ(refused("compat.v1.squeeze", R"({"axis":[1]})"),
            (Failure{"shape_mismatch", "squeeze"}));
  EXPECT_EQ(refused("split", R"({"num_or_size_splits":2,"axis":0})", 2),
            (Failure{"unsupported_attribute", "axis"}));
  EXPECT_EQ(refused("split", R"({"num_or_size_splits":2,"axis":2})", 2),
            (Failure{"invalid_value", "split"}));
  EXPECT_EQ(refused("split", R"({"num_or_size_splits":3,"axis":2})", 4),
            (Failure{"out_of_range", "output_layers"}));
  for (const char* sizes :
       {"[1,1]", "[9223372036854775807,9223372036854775807]"}) {
    EXPECT_EQ(
        refused("split",
                fmt::format(R"({{"num_or_size_splits":{},"axis":2}})", sizes),
                2),
        (Failure{"unsupported_attribute", "sections"}))
        << sizes;
  }
  for (const char* sizes : {"[3,0]", "[4,-1]", "[-9,12]"}) {
    EXPECT_EQ(
        refused("split",
                fmt::format(R"({{"num_or_size_splits":{},"axis":2}})", sizes),
                2),
        (Failure{"out_of_range", "split"}))
        << sizes;
  }
  EXPECT_EQ(refused("tile", R"({"multiples":[2,1,1]})"),
            (Failure{"out_of_range", "tile"}));
  EXPECT_EQ(refused("pad", R"({"paddings":[[1,0],[0,0],[0,0]]})"),
            (Failure{"out_of_range", "pad"}));
  EXPECT_EQ(refused("pad", R"({"paddings":[[0,0],[0,0]]})"),
            (Failure{"count_mismatch", "pad"}));
  EXPECT_EQ(refused("nn.depth_to_space", R"({"block_size":2})"),
            (Failure{"invalid_value", "depth_to_space"}));
}

TEST(KerasFunctions, FunctionsKeepTheOrderOfAModel) {
  // A sum over the last two axes of an image with its channels last.
  const Model model = keras_model(keras_functional(
      {keras_input("i", "[null,2,3,4]"),
       keras_layer("TFOpLambda", "op", R"("function":"math.reduce_sum")",
                   R"([["i",0,0,{"axis":[2,3],"keepdims":true}]])")},
      R"([["i",0,0]])", R"([["op",0,0]])"));
  const Tensor y = model.predict(counting({1, 2, 3, 4}));
  EXPECT_EQ(y.shape(), (Shape{1, 2, 1, 1}));
  EXPECT_EQ(values(y), (std::vector<float>{66, 210}));
}

/// Returns the output of a function after a pooling with `format`. Images are
/// [3,2,3] in Keras; Octet's input is 0, 1, 2, ... [1,2,3,3] if the channels
/// are first.
Tensor behind_pooling(const std::string& format, const std::string& function,
                      const std::string& settings,
                      const std::string& arguments) {
  const Model model = keras_model(keras_functional(
      {keras_input("i", "[null,3,2,3]"),
       keras_layer(
           "MaxPooling2D", "pool",
           fmt::format(R"("pool_size":[1,1],"data_format":"{}")", format),
           R"([["i",0,0,{}]])"),
       keras_layer("TFOpLambda", "op",
                   fmt::format(R"("function":"{}"{})", function, settings),
                   R"([["pool",0,0,)" + arguments + "]]")},
      R"([["i",0,0]])", R"([["op",0,0]])"));
  return model.predict(counting(model.inputs()[0].shape().with(0, 1)));
}

TEST(KerasFunctions, ListsOfNumbersAreForTheLastAxisInKerasOrder) {
  const Tensor y =
      behind_pooling("channels_first", "math.multiply", "", R"({"y":[1,2,3]})");
  ASSERT_EQ(y.shape(), (Shape{1, 3, 2, 3}));
  for (int c = 0; c < 3; ++c) {
    for (int h = 0; h < 2; ++h) {
      for (int w = 0; w < 3; ++w) {
        EXPECT_EQ(values(y)[static_cast<size_t>((c * 2 + h) * 3 + w)],
                  static_cast<float>(((h * 3 + w) * 3 + c) * (w + 1)));
      }
    }
  }
}

TEST(KerasFunctions, ReductionsHaveKerasOrderButForPixels) {
  // Sums over rows, [n,c,w]: x[h][w][c] = 9h + 3w + c.
  const Tensor sums = behind_pooling("channels_first", "math.reduce_sum", "",
                                     R"({"axis":[2]})");
  EXPECT_EQ(values(sums),
            (std::vector<float>{9, 15, 21, 11, 17, 23, 13, 19, 25}));
  EXPECT_EQ(behind_pooling("channels_first", "math.reduce_max", "",
                           R"({"axis":[1],"keepdims":true})")
                .shape(),
            (Shape{1, 1, 2, 3}));
  EXPECT_EQ(values(behind_pooling("channels_first", "math.reduce_mean", "",
                                  R"({"axis":[-1,-2]})")),
            (std::vector<float>{7.5f, 8.5f, 9.5f}));
  EXPECT_EQ(behind_pooling("channels_first", "math.reduce_mean", "",
                           R"({"axis":[2,3],"keepdims":true})")
                .shape(),
            (Shape{1, 1, 1, 3}));
}

TEST(KerasFunctions, ResizeUsesTheDataFormatOfTheModelsLayers) {
  // The first pixel is the corner.
  const auto corner = [](const std::string& format, const std::string& function,
                         const std::string& settings,
                         const std::string& arguments) {
    const Tensor y = behind_pooling(format, function, settings, arguments);
    EXPECT_EQ(y.shape(), (Shape{1, 4, 5, 3}));
    const std::vector<float> all = values(y);
    return std::vector<float>(all.begin(), all.begin() + 3);
  };
  using V = std::vector<float>;
  constexpr const char* kSize = R"(,"size":[4,5],"data_format":null)";
  EXPECT_EQ(corner("channels_first", "Resize", kSize, "{}"), (V{0, 1, 2}));
  EXPECT_EQ(corner("channels_last", "Resize", kSize, "{}"), (V{0, 1, 2}));
  // tf.image expects channels last: [3,2,3] in Keras' order.
  EXPECT_EQ(corner("channels_first", "image.resize", R"(,"unused":null)",
                   R"({"size":[4,5]})"),
            (V{0, 3, 6}));
}

TEST(KerasFunctions, SoftmaxOverAllSamplesIsRejected) {
  for (const char* function : {"Softmax", "LogSoftmax"}) {
    EXPECT_EQ(failure_of<UnsupportedError>([&] {
                (void)behind_pooling("channels_last", function,
                                     R"(,"axis":null)", "{}");
              }),
              (Failure{"unsupported_attribute", "axis"}));
  }
}

TEST(KerasFunctions, NormsHaveTheMinimumOfTheirFunction) {
  const auto normalized = [](const std::string& function, float x) {
    const Model model = keras_model(keras_functional(
        {keras_input("i", "[null,2]"),
         keras_layer("TFOpLambda", "op",
                     fmt::format(R"("function":"{}")", function),
                     R"([["i",0,0,{"axis":-1}]])")},
        R"([["i",0,0]])", R"([["op",0,0]])"));
    return values(model.predict(Tensor::of<float>({1, 2}, {x, 0})))[0];
  };
  EXPECT_FLOAT_EQ(normalized("math.l2_normalize", 1e-3f), 1);
  EXPECT_FLOAT_EQ(normalized("math.l2_normalize", 1e-7f), 0.1f);
  EXPECT_FLOAT_EQ(normalized("Normalize", 1e-8f), 0.1f);
}

TEST(KerasFunctions, AModelInAModelMayCallFunctionsTwice) {
  std::string inner = keras_functional(
      {keras_input("x", "[null,3]"),
       keras_layer("TFOpLambda", "op", R"("function":"math.square")",
                   R"([["x",0,0,{}]])")},
      R"([["x",0,0]])", R"([["op",0,0]])", "inner");
  inner.pop_back();
  inner += R"(,"inbound_nodes":[[["i",0,0]],[["inner",1,0]]]})";
  const Model model =
      keras_model(keras_functional({keras_input("i", "[null,3]"), inner},
                                   R"([["i",0,0]])", R"([["inner",2,0]])"));
  EXPECT_EQ(values(model.predict(Tensor::of<float>({1, 3}, {1, 2, 3}))),
            (std::vector<float>{1, 16, 81}));
}

// Expected: Keras 3.15.
TEST(KerasLayers, AttentionWithAndWithoutAMaskAreTwoLayers) {
  const Model model = keras_model(keras_functional(
      {keras_input("i", "[null,2,1]"),
       keras_layer("Attention", "a", "",
                   R"([[["i",0,0,{}],["i",0,0,{}]],)"
                   R"([["i",0,0,{"use_causal_mask":true}],["i",0,0,{}]]])")},
      R"([["i",0,0]])", R"([["a",0,0],["a",1,0]])"));
  const std::vector<Tensor> y =
      model.predict(std::vector<Tensor>{Tensor::of<float>({1, 2, 1}, {0, 1})});
  const float last = 1 / (1 + std::exp(-1.0f));
  EXPECT_THAT(values(y[0]), ElementsAre(0.5f, FloatEq(last)));
  EXPECT_THAT(values(y[1]), ElementsAre(0, FloatEq(last)));
}

// The axes of a single value have no order.
TEST(KerasLayers, ImagesOfASingleValueMayHaveChannelsFirst) {
  const std::string conv =
      keras_layer("Conv2D", "conv",
                  R"("filters":2,"kernel_size":[1,1],"use_bias":false,)"
                  R"("data_format":"channels_first")");
  const TempFolder folder;
  KerasFile(keras_sequential(
                {keras_input("i", "[null,1,1,1]"), conv,
                 keras_layer("LayerNormalization", "norm", R"("axis":[1])")}))
      .layer("conv", {{"kernel:0", Tensor::of<float>({1, 1, 1, 2}, {1, 3})}})
      .layer("norm", {{"gamma:0", Tensor::of<float>({2}, {1, 1})},
                      {"beta:0", Tensor::of<float>({2}, {5, 6})}})
      .write(folder / "m.h5");
  const Model model = load_keras(folder / "m.h5");
  EXPECT_THAT(values(model.predict(Tensor::full({1, 1, 1, 1}, 100))),
              ElementsAre(FloatNear(4, 1e-4f), FloatNear(7, 1e-4f)));
}

}  // namespace
}  // namespace octet::io
