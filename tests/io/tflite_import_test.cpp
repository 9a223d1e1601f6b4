// Import of .tflite files, written by export.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/tflite.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/file.h>

#include "support.h"

namespace octet::io {
namespace {

using ::testing::HasSubstr;

Tensor tflite_samples(const Model& model, int64_t count, uint64_t seed) {
  Tensor x(model.inputs()[0].shape().with(0, count));
  Rng(seed).fill_normal(x, 0.1f, 1);
  return x;
}

Model int8_for_tflite(const Model& model) {
  Model int8 = quant::quantize_model(model, {.policy = quant::Policy::tflite});
  quant::calibrate(
      int8, [](const Model& m) { (void)m(Variable(tflite_samples(m, 16, 1))); },
      {.method = quant::Calibration::max});
  return int8;
}

Model tflite_source() {
  const SymbolicTensor x = input({9, 7, 3}, "image");
  SymbolicTensor y =
      Conv2D({.filters = 4, .activation = "relu6", .name = "conv"})(x);
  const SymbolicTensor z = DepthwiseConv2D(
      {.kernel_size = 3, .padding = "same", .name = "depthwise"})(y);
  y = ReLU({.name = "relu"})(Add({.name = "sum"})({y, z}));
  const SymbolicTensor gate = Conv2D({.filters = 2,
                                      .kernel_size = 1,
                                      .activation = "sigmoid",
                                      .name = "gate"})(y);
  y = Concatenate({.name = "join"})({y, gate});
  y = AveragePooling2D({.pool_size = 3, .strides = 2, .name = "pool"})(y);
  y = ZeroPadding2D({.name = "pad"})(y);
  y = UpSampling2D({.name = "up"})(y);
  y = Flatten({.name = "flat"})(y);
  y = Dense({.units = 6, .name = "hidden"})(y);
  y = LeakyReLU({.negative_slope = 0.25f, .name = "leaky"})(y);
  y = Dense({.units = 3, .activation = "softmax", .name = "head"})(y);
  return Model(x, y, {.seed = 4});
}

TEST(TfliteImport, FloatModelsKeepTheirOutputs) {
  const Model model = tflite_source();
  const Model read = from_tflite(to_tflite(model).bytes);
  EXPECT_FALSE(quant::is_quantized(read));
  EXPECT_EQ(read.inputs()[0].node->layer->name(), "image");
  const Tensor x = tflite_samples(model, 3, 2);
  const auto expected = values(model.predict(x));
  const auto got = values(read.predict(x));
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1e-5f);
  }
}

TEST(TfliteImport, QuantizedModelsAreExportedAgain) {
  const std::string bytes = to_tflite(int8_for_tflite(tflite_source())).bytes;
  const Model read = from_tflite(bytes);
  EXPECT_TRUE(quant::is_quantized(read));
  const TfliteModel first = tflite_from_bytes(bytes);
  const TfliteModel second = tflite_from_bytes(to_tflite(read).bytes);
  EXPECT_EQ(second.inputs(), first.inputs());
  ASSERT_EQ(second.outputs().size(), 1u);
  EXPECT_EQ(second.outputs()[0].scale, first.outputs()[0].scale);
  Tensor x = Tensor::zeros({4, 9, 7, 3}, DType::i8);
  for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
    x.data<int8_t>()[i] = static_cast<int8_t>(i * 37 % 256 - 128);
  }
  EXPECT_EQ(elements<int8_t>(second.predict(x)),
            elements<int8_t>(first.predict(x)));
}

TEST(TfliteImport, EvaluatesLikeTheQuantizedModel) {
  const Model int8 = int8_for_tflite(tflite_source());
  const Model read = from_tflite(to_tflite(int8).bytes);
  const Tensor x = tflite_samples(int8, 8, 3);
  const auto expected = values(int8.predict(x));
  const auto got = values(read.predict(x));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1.01f / 256);
  }
}

// The concatenation requantizes the gate; the product has the gate's scale.
TEST(TfliteImport, RequantizedValuesKeepTheScaleOfOtherConsumers) {
  const SymbolicTensor x = input({5, 4, 3});
  const SymbolicTensor gate =
      Conv2D({.filters = 3, .kernel_size = 1, .activation = "sigmoid"})(x);
  const Model int8 = int8_for_tflite(
      Model(x, Concatenate()({Multiply()({x, gate}), gate}), {.seed = 4}));
  const Tensor input = tflite_samples(int8, 4, 2);
  const Model read = from_tflite(to_tflite(int8).bytes);
  EXPECT_EQ(values(read.predict(input)), values(int8.predict(input)));
}

TEST(TfliteImport, ReadsConvertedInputsAndOutputs) {
  const Model int8 = int8_for_tflite(tflite_source());
  const TfliteModel first = tflite_from_bytes(to_tflite(int8).bytes);
  for (const TfliteIo io : {TfliteIo::float32, TfliteIo::uint8}) {
    const Model read = from_tflite(to_tflite(int8, {.io = io}).bytes);
    const TfliteModel second = tflite_from_bytes(to_tflite(read).bytes);
    EXPECT_EQ(second.inputs()[0].scale, first.inputs()[0].scale);
    EXPECT_EQ(second.inputs()[0].zero_point, first.inputs()[0].zero_point);
    EXPECT_EQ(second.outputs()[0].scale, first.outputs()[0].scale);
  }
}

TEST(TfliteImport, DropsQuantizers) {
  const Model int8 = int8_for_tflite(tflite_source());
  const Model read =
      from_tflite(to_tflite(int8).bytes, {.drop_quantizers = true});
  EXPECT_FALSE(quant::is_quantized(read));
  // Quantized again.
  EXPECT_TRUE(quant::is_quantized(int8_for_tflite(read)));
}

TEST(TfliteImport, SequencesBecomeImages) {
  const SymbolicTensor x = input({12, 5}, "steps");
  SymbolicTensor y = Conv1D({.filters = 4, .kernel_size = 3})(x);
  y = MaxPooling1D({.pool_size = 2})(y);
  const Model model(x, GlobalAveragePooling1D()(y), {.seed = 2});
  const Model read = from_tflite(to_tflite(model).bytes);
  const Tensor samples = tflite_samples(model, 2, 3);
  const auto expected = values(model.predict(samples));
  const auto got = values(read.predict(samples));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1e-5f);
  }
}

TEST(TfliteImport, ListsOperatorsWithoutLayers) {
  const SymbolicTensor x = input({6, 6, 2}, "x");
  const Model model(
      x, MaxPooling2D({.pool_size = 3, .strides = 2, .padding = 1})(x));
  const std::string bytes = to_tflite(model).bytes;  // with PADV2
  const Failure failure =
      failure_of<UnsupportedError>([&] { (void)from_tflite(bytes); });
  EXPECT_EQ(failure, (Failure{"unsupported_operator", "tflite import"}));
  EXPECT_THAT(failure.message, HasSubstr("PADV2"));
}

TEST(TfliteImport, NamesDamagedFiles) {
  const TempFolder folder;
  write_file(folder / "m.tflite", "TFL3TFL3TFL3");
  EXPECT_EQ(failure_of<FormatError>([&] {
              (void)load_tflite(folder / "m.tflite");
            }).code,
            "invalid_file");
  EXPECT_TRUE(is_tflite_file(folder / "m.tflite"));
  EXPECT_FALSE(is_tflite_file(folder / "missing.tflite"));
  EXPECT_THROW((void)load_tflite(folder / "missing.tflite"), IoError);
}

}  // namespace
}  // namespace octet::io
