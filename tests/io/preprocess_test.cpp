#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/image.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/quantize_model.h>
#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>

#include "support.h"

namespace octet::io {
namespace {

/// Two pixels.
Tensor bytes_of_image() {
  return Tensor::of<uint8_t>({1, 1, 2, 3}, {0, 128, 255, 17, 99, 203});
}

struct Mode {
  const char* name;
  std::vector<float> expected;  // from preprocess_input of Keras 3.15
};

TEST(PreprocessInput, MatchesKeras) {
  for (const Mode& mode :
       {Mode{"tf",
             {-1.0f, 0.003921627998352051f, 1.0f, -0.8666666746139526f,
              -0.2235293984413147f, 0.5921568870544434f}},
        Mode{"torch",
             {-2.1179039478302f, 0.20518219470977783f, 2.640000104904175f,
              -1.8267831802368164f, -0.3025209605693817f, 1.7336820363998413f}},
        Mode{"caffe",
             {151.06100463867188f, 11.221000671386719f, -123.68000030517578f,
              99.06099700927734f, -17.77899932861328f, -106.68000030517578f}},
        Mode{"unit",
             {0, 128 / 255.0f, 1, 17 / 255.0f, 99 / 255.0f, 203 / 255.0f}},
        Mode{"none", {0, 128, 255, 17, 99, 203}}}) {
    const Tensor y = preprocess_input(bytes_of_image(), mode.name);
    ASSERT_EQ(y.shape(), Shape({1, 1, 2, 3}));
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(y.f32()[i], mode.expected[i], 1e-6f * 255)
          << mode.name << " " << i;
      EXPECT_NEAR(y.f32()[i], mode.expected[i],
                  2e-6f * (1 + std::abs(mode.expected[i])))
          << mode.name << " " << i;
    }
  }
}

TEST(PreprocessInput, AcceptsFloats) {
  const Tensor floats =
      Tensor::of<float>({1, 1, 2, 3}, {0, 128, 255, 17, 99, 203});
  EXPECT_EQ(values(preprocess_input(floats, "caffe")),
            values(preprocess_input(bytes_of_image(), "caffe")));
}

TEST(PreprocessInput, HasNumbersForEachChannelInTheOrderOfTheResult) {
  const Preprocess own{.mean = {1, 2, 3}, .scale = {10, 1, 0.5f}, .bgr = true};
  EXPECT_EQ(values(preprocess_input(bytes_of_image(), own)),
            (std::vector<float>{2540, 126, -1.5f, 2020, 97, 7}));
}

TEST(PreprocessInput, AcceptsMeanAndDeviationLikeTorchvision) {
  const Tensor image = bytes_of_image();
  EXPECT_EQ(
      values(preprocess_input(image, "0.485,0.456,0.406/0.229,0.224,0.225")),
      values(preprocess_input(image, "torch")));
  const std::vector<float> halves = values(preprocess_input(image, "0.5/0.5"));
  const std::vector<float> tf = values(preprocess_input(image, "tf"));
  for (size_t i = 0; i < tf.size(); ++i) EXPECT_FLOAT_EQ(halves[i], tf[i]);
  // (100 / 255 - 0.1307) / 0.3081
  const Tensor gray = Tensor::full({1, 1, 1}, 100);
  EXPECT_NEAR(values(preprocess_input(gray, "0.1307/0.3081"))[0], 0.8486104,
              1e-6);
  EXPECT_NO_THROW(preprocess_input(image, "0.5/0.2,0.3,0.4"));
  EXPECT_NO_THROW(preprocess_input(image, "0.1,0.2,0.3/0.5"));
  for (const char* refused :
       {"/", "0.5/", "/0.5", "0.5/0", "0.5,/0.5", "123.675/58.395", "a/b",
        "0.5/0.5/0.5", "0.5 /0.5", "-0.1/0.5", "nan/0.5", "0.5/inf",
        "0.1,0.2/0.1,0.2,0.3"}) {
    EXPECT_THROW(preprocess_mode(refused), ValueError) << refused;
  }
  EXPECT_EQ(failure_of<ValueError>([] { preprocess_mode("123.675/58.395"); }),
            (Failure{"out_of_range", "preprocess mean"}));
  EXPECT_THROW(preprocess_input(gray, "0.1,0.2,0.3/0.5"), ValueError);
}

TEST(PreprocessInput, RejectsMismatches) {
  EXPECT_EQ(failure_of<ValueError>([] { preprocess_mode("imagenet"); }),
            (Failure{"invalid_value", "preprocess"}));
  EXPECT_EQ(failure_of<ValueError>([] { preprocess_mode("Caffe"); }),
            (Failure{"invalid_value", "preprocess"}));
  const Tensor gray = Tensor::zeros({2, 2, 1});
  EXPECT_THROW(preprocess_input(gray, "caffe"), ValueError);
  EXPECT_THROW(preprocess_input(gray, "torch"), ValueError);
  EXPECT_NO_THROW(preprocess_input(gray, "tf"));
  EXPECT_THROW(preprocess_input(gray, Preprocess{.mean = {}}), ValueError);
  EXPECT_THROW(preprocess_input(gray, Preprocess{.scale = {1, 2}}), ValueError);
  EXPECT_THROW(preprocess_input(gray, Preprocess{.scale = {1.0f / 0.0f}}),
               ValueError);
  EXPECT_THROW(preprocess_input(Tensor::zeros({1, 3}, DType::i64), "tf"),
               ValueError);
  EXPECT_THROW(preprocess_input(Tensor(), "tf"), ShapeError);
}

/// Padding after the preprocessing is zero, not a byte; two layers consume the
/// image.
Model small_model(int64_t channels = 3) {
  const SymbolicTensor image = input({5, 7, channels}, "image");
  const SymbolicTensor y =
      Conv2D({.filters = 4, .kernel_size = 3, .padding = Padding::same})(image);
  const SymbolicTensor z = Conv2D({.filters = 4, .kernel_size = 1})(image);
  return Model(image, GlobalAveragePooling2D()(ReLU()(Add()({y, z}))));
}

Tensor random_bytes(const Shape& shape) {
  Tensor x(shape);
  Rng(3).fill_uniform(x, 0, 256);
  for (float& v : x.f32()) v = std::floor(v);
  return x;
}

void expect_close(const Tensor& a, const Tensor& b, float tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  float largest = 0;
  for (const float v : b.f32()) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < a.f32().size(); ++i) {
    EXPECT_NEAR(a.f32()[i], b.f32()[i], tolerance * largest) << i;
  }
}

TEST(WithPreprocessing, AcceptsBytes) {
  const Model model = small_model();
  const Tensor bytes = random_bytes({2, 5, 7, 3});
  for (const char* mode : {"tf", "torch", "caffe", "unit", "none"}) {
    const Model taking = with_preprocessing(model, preprocess_mode(mode));
    expect_close(taking.predict(bytes),
                 model.predict(preprocess_input(bytes, mode)), 1e-5f);
    EXPECT_EQ(taking.inputs()[0].node->layer->name(), "image") << mode;
    EXPECT_EQ(taking.parameter_count(), model.parameter_count()) << mode;
  }
  EXPECT_EQ(model.layers().size(), small_model().layers().size());
}

TEST(WithPreprocessing, KeepsQuantization) {
  const Tensor bytes = random_bytes({8, 5, 7, 3});
  const Tensor floats = preprocess_input(bytes, "torch");
  Model int8 = quant::quantize_model(small_model());
  quant::calibrate(int8, Dataset(floats, Tensor::zeros({8}, DType::i64)));
  const Model taking = with_preprocessing(int8, preprocess_mode("torch"));
  // A value at a tie may round to the neighboring step.
  expect_close(taking.predict(bytes), int8.predict(floats), 0.02f);
}

TEST(WithPreprocessing, IsPartOfTheFileInEitherLayout) {
  const Model model =
      with_preprocessing(small_model(), preprocess_mode("caffe"));
  const Tensor bytes = random_bytes({2, 5, 7, 3});
  const Tensor expected = model.predict(bytes);
  const TempFolder folder;
  for (const bool last : {false, true}) {
    const auto path = folder / "model.onnx";
    export_onnx(model, path,
                {.layout = last ? OnnxLayout::channels_last
                                : OnnxLayout::channels_first});
    const Tensor x = last ? bytes : bytes.transposed({0, 3, 1, 2});
    expect_close(load_onnx_reference(path).predict(x), expected, 1e-5f);
    const Model again = load_onnx(path);
    EXPECT_EQ(again.inputs()[0].shape(), Shape({Shape::kAnySize, 5, 7, 3}));
    expect_close(again.predict(bytes), expected, 1e-5f);
  }
}

TEST(WithPreprocessing, OfAFileOfBytesHasUint8Input) {
  const Model model =
      with_preprocessing(small_model(), preprocess_mode("caffe"));
  const Tensor images = random_bytes({2, 5, 7, 3});
  Tensor bytes(images.shape(), DType::u8);
  std::ranges::copy(images.f32(), bytes.data<uint8_t>().begin());
  const TempFolder folder;
  const auto path = folder / "model.onnx";
  export_onnx(model, path,
              {.interface = {.inputs = {{.type = "uint8"}}},
               .layout = OnnxLayout::channels_last});
  const OnnxSummary file = inspect_onnx(path);
  EXPECT_EQ(file.inputs[0].type, "uint8");
  EXPECT_EQ(file.nodes[0].op, "Cast");  // as required by TensorRT
  expect_close(load_onnx_reference(path).predict(bytes), model.predict(images),
               1e-5f);
  const OnnxImport again = import_onnx(path);
  EXPECT_EQ(again.interface.inputs[0].type, "uint8");
  expect_close(again.model.predict(images), model.predict(images), 1e-5f);
}

TEST(OnnxChannelsLast, AppliesToSequencesToo) {
  const SymbolicTensor x = input({9, 3}, "x");
  const Model model(x, Conv1D({.filters = 5, .kernel_size = 3})(x));
  const Tensor values = random_bytes({2, 9, 3});
  const TempFolder folder;
  const auto path = folder / "model.onnx";
  export_onnx(model, path, {.layout = OnnxLayout::channels_last});
  expect_close(load_onnx_reference(path).predict(values), model.predict(values),
               1e-5f);
}

TEST(WithPreprocessing, RejectsMismatches) {
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)with_preprocessing(small_model(1), {.bgr = true});
            }),
            (Failure{"invalid_value", "preprocess bgr"}));
  EXPECT_THROW(
      (void)with_preprocessing(small_model(1), preprocess_mode("torch")),
      ValueError);
  const SymbolicTensor a = input({4, 4, 3}, "a"), b = input({4, 4, 3}, "b");
  const Model two({a, b}, {Add()({a, b})});
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)with_preprocessing(two, preprocess_mode("tf")); }),
            (Failure{"unsupported_model", "model 'model'"}));
}

}  // namespace
}  // namespace octet::io
