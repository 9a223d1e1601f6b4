// Exported .tflite files, executed by the reference. LiteRT and TensorFlow Lite
// Micro verify their outputs (tests/oracle/compare_tflite.py).
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/compare.h>
#include <octet/io/tflite.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/file.h>

#include "../facts.h"
#include "support.h"
#include "tflite/file/file.h"
#include "tflite_file.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model tflite_network() {
  const SymbolicTensor x = input({7, 5, 3}, "image");
  SymbolicTensor y = Conv2D({.filters = 4, .name = "conv"})(x);
  y = BatchNormalization({.name = "norm"})(y);
  y = ReLU({.name = "relu"})(y);
  y = MaxPooling2D({.name = "pool"})(y);
  y = Flatten({.name = "flat"})(y);
  y = Dense({.units = 3, .activation = "softmax", .name = "head"})(y);
  return Model(x, y, {.seed = 1});
}

Tensor random_images(int64_t count) {
  Tensor x({count, 7, 5, 3});
  Rng(5).fill_normal(x, 0, 1);
  return x;
}

Model quantized_network() {
  Model model = quant::quantize_model(tflite_network(),
                                      {.policy = quant::Policy::tflite});
  quant::calibrate(model,
                   [](const Model& m) { (void)m(Variable(random_images(8))); },
                   {.method = quant::Calibration::max});
  return model;
}

TEST(TfliteExport, WritesAnOperatorPerLayer) {
  const TfliteFile file = to_tflite(quantized_network());
  EXPECT_EQ(file.bytes.substr(4, 4), "TFL3");
  EXPECT_TRUE(file.report.int8);
  EXPECT_EQ(file.report.bytes, std::ssize(file.bytes));
  // Conv, MaxPool, Reshape, FullyConnected, Softmax.
  EXPECT_EQ(file.report.operators, 5);
  const TfliteModel model = tflite_from_bytes(file.bytes);
  ASSERT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.inputs()[0].name, "image");
  EXPECT_EQ(model.inputs()[0].dtype, DType::i8);
  EXPECT_EQ(model.inputs()[0].shape, (Shape{1, 7, 5, 3}));
  ASSERT_EQ(model.outputs().size(), 1u);
  EXPECT_EQ(model.outputs()[0].scale, 1.0f / 256);
  EXPECT_EQ(model.outputs()[0].zero_point, -128);
}

TEST(TfliteExport, EqualModelsGiveEqualBytes) {
  EXPECT_EQ(to_tflite(quantized_network()).bytes,
            to_tflite(quantized_network()).bytes);
}

TEST(TfliteExport, FloatFilesComputeTheModel) {
  const Model model = tflite_network();
  const TfliteFile file = to_tflite(model);
  EXPECT_FALSE(file.report.int8);
  const Tensor x = random_images(3);
  const auto expected = values(model.predict(x));
  const auto got = values(tflite_from_bytes(file.bytes).predict(x));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1e-5f);
  }
}

TEST(TfliteExport, ConvertsInputsAndOutputs) {
  const Model model = quantized_network();
  const Tensor x = random_images(3);
  const TfliteModel floats =
      tflite_from_bytes(to_tflite(model, {.io = TfliteIo::float32}).bytes);
  EXPECT_EQ(floats.inputs()[0].dtype, DType::f32);
  const Tensor y = floats.predict(x);
  ASSERT_EQ(y.dtype(), DType::f32);
  const TfliteModel bytes = tflite_from_bytes(to_tflite(model).bytes);
  const TfliteModel shifted =
      tflite_from_bytes(to_tflite(model, {.io = TfliteIo::uint8}).bytes);
  EXPECT_EQ(shifted.inputs()[0].zero_point, bytes.inputs()[0].zero_point + 128);
  Tensor q = Tensor::zeros(x.shape(), DType::i8);
  Tensor u = Tensor::zeros(x.shape(), DType::u8);
  for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
    const float value =
        std::clamp(std::round(x.f32()[i] / bytes.inputs()[0].scale) +
                       static_cast<float>(bytes.inputs()[0].zero_point),
                   -128.0f, 127.0f);
    q.data<int8_t>()[i] = static_cast<int8_t>(value);
    u.data<uint8_t>()[i] = static_cast<uint8_t>(value + 128);
  }
  const Tensor of_bytes = bytes.predict(q);
  const Tensor of_shifted = shifted.predict(u);
  for (size_t i = 0; i < static_cast<size_t>(y.size()); ++i) {
    const int value = of_bytes.data<int8_t>()[i];
    EXPECT_EQ(y.f32()[i], static_cast<float>(value + 128) / 256);
    EXPECT_EQ(of_shifted.data<uint8_t>()[i], value + 128);
  }
}

TEST(TfliteExport, TakesNames) {
  const TfliteModel model = tflite_from_bytes(
      to_tflite(quantized_network(),
                {.input_names = {"pixels"}, .output_names = {"classes"}})
          .bytes);
  EXPECT_EQ(model.inputs()[0].name, "pixels");
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)to_tflite(quantized_network(), {.input_names = {"a", "b"}});
            }),
            (Failure{"count_mismatch", "input_names"}));
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)to_tflite(quantized_network(), {.classes = {"one"}});
            }),
            (Failure{"count_mismatch", "classes"}));
}

TEST(TfliteExport, ListsAllLayersWithoutOperators) {
  const SymbolicTensor x = input({6, 4}, "x");
  SymbolicTensor y = LayerNormalization({.name = "norm"})(x);
  y = Dense({.units = 3, .name = "dense"})(y);
  y = Activation({.activation = "gelu", .name = "gelu"})(y);
  const Model model(x, y);
  const Failure failure =
      failure_of<UnsupportedError>([&] { (void)to_tflite(model); });
  EXPECT_EQ(failure, (Failure{"unsupported_layer", "tflite export"}));
  EXPECT_THAT(failure.message, HasSubstr("'norm'"));
  EXPECT_THAT(failure.message, HasSubstr("'gelu'"));
}

TEST(TfliteExport, NamesValuesWithoutQuantizers) {
  const SymbolicTensor x = input({5}, "x");
  const Model model(
      x, Dense({.units = 2, .name = "b"})(Dense({.units = 3, .name = "a"})(x)));
  Model placed = quant::quantize_model(model);  // for TensorRT
  Tensor data({4, 5});
  Rng(1).fill_normal(data, 0, 1);
  quant::calibrate(placed, [&](const Model& m) { (void)m(Variable(data)); });
  const Failure failure =
      failure_of<UnsupportedError>([&] { (void)to_tflite(placed); });
  EXPECT_EQ(failure, (Failure{"unsupported_layer", "tflite export"}));
  EXPECT_THAT(failure.message, HasSubstr("'b'"));
}

TEST(TfliteExport, RejectsModelsThatInt8CannotRepresent) {
  const Model uncalibrated = quant::quantize_model(
      tflite_network(), {.policy = quant::Policy::tflite});
  EXPECT_EQ(failure_of<ValueError>([&] { (void)to_tflite(uncalibrated); }).code,
            "not_calibrated");
  const SymbolicTensor x = input({5}, "x");
  const Model model(x, Dense({.units = 2, .name = "a"})(x));
  quant::QuantizeOptions options{.policy = quant::Policy::tflite};
  options.bits = {{.layer = "*", .activation = 4}};
  Model narrow = quant::quantize_model(model, options);
  Tensor data({4, 5});
  Rng(1).fill_normal(data, 0, 1);
  quant::calibrate(narrow, [&](const Model& m) { (void)m(Variable(data)); });
  EXPECT_EQ(failure_of<ValueError>([&] { (void)to_tflite(narrow); }).code,
            "unsupported_value");
  const Model broken(x, Dense({.units = 2, .name = "a"})(x));
  broken.layers()[1]->parameter("kernel").variable.mutable_value()[0] =
      std::nanf("");
  EXPECT_EQ(failure_of<ValueError>([&] { (void)to_tflite(broken); }).code,
            "not_finite");
}

// s_input * s_weight of the first channel is too small for an int32 bias.
TEST(TfliteExport, IncreasesScalesForLargeBiases) {
  const SymbolicTensor x = input({1}, "x");
  const Model model(x, Dense({.units = 2, .name = "a"})(x));
  const auto kernel =
      model.layers()[1]->parameter("kernel").variable.mutable_value();
  kernel[0] = 1e-12f;
  kernel[1] = 1;
  const auto bias =
      model.layers()[1]->parameter("bias").variable.mutable_value();
  bias[0] = 5;
  bias[1] = -5;
  Model int8 = quant::quantize_model(model, {.policy = quant::Policy::tflite});
  const Tensor data = Tensor::of<float>({3, 1}, {-1, 0, 1});
  quant::calibrate(int8, [&](const Model& m) { (void)m(Variable(data)); },
                   {.method = quant::Calibration::max});
  const TfliteModel file =
      tflite_from_bytes(to_tflite(int8, {.io = TfliteIo::float32}).bytes);
  const auto y = values(file.predict(data));
  const std::vector<float> expected{5, -6, 5, -5, 5, -4};
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 0.06f);
}

TEST(TfliteExport, ChannelsOfZerosRemainZero) {
  const SymbolicTensor x = input({4, 4, 2}, "x");
  const Model model(x, DepthwiseConv2D({.kernel_size = 2, .name = "a"})(x));
  model.layers()[1]
      ->parameter("depthwise_kernel")
      .variable.assign(Tensor::zeros({2, 2, 2, 1}));
  Model int8 = quant::quantize_model(model, {.policy = quant::Policy::tflite});
  Tensor data({2, 4, 4, 2});
  Rng(1).fill_normal(data, 0, 1);
  quant::calibrate(int8, [&](const Model& m) { (void)m(Variable(data)); });
  const TfliteModel file =
      tflite_from_bytes(to_tflite(int8, {.io = TfliteIo::float32}).bytes);
  for (const float v : values(file.predict(data))) EXPECT_EQ(v, 0);
}

// All values of the output are 0 during calibration.
TEST(TfliteExport, RangesOfZeroRemainZero) {
  const SymbolicTensor x = input({5}, "x");
  const Model model(x, Dense({.units = 4, .name = "a"})(x));
  model.layers()[1]->parameter("kernel").variable.assign(Tensor::zeros({5, 4}));
  for (const int bits : {8, 16}) {
    Model int8 = quant::quantize_model(
        model, {.policy = quant::Policy::tflite, .activation = {.bits = bits}});
    const Tensor data = Tensor::zeros({4, 5});
    quant::calibrate(int8, [&](const Model& m) { (void)m(Variable(data)); });
    const TfliteFile file = to_tflite(int8, {.io = TfliteIo::float32});
    for (const float v : values(tflite_from_bytes(file.bytes).predict(data))) {
      EXPECT_EQ(v, 0);
    }
  }
}

// The output of a linear Activation has a quantizer of its own.
TEST(TfliteExport, ConvertsScalesOfLayersWithoutOperators) {
  const SymbolicTensor x = input({5}, "x");
  const Model model(x, Activation({.activation = "linear", .name = "same"})(
                           Dense({.units = 4, .name = "a"})(x)));
  quant::QdqPlan plan =
      quant::place(model, {.policy = quant::Policy::tflite}).plan;
  plan.points.push_back(
      {.layer = "same",
       .site = quant::QdqSite::output(),
       .config = {.is_signed = false, .constant_scale = 1.0f / 256},
       .rule = "T01"});
  Model int8 = quant::apply(plan, model);
  Tensor data({4, 5});
  Rng(1).fill_normal(data, 0, 0.3f);
  quant::calibrate(int8, [&](const Model& m) { (void)m(Variable(data)); },
                   {.method = quant::Calibration::max});
  const TfliteModel file =
      tflite_from_bytes(to_tflite(int8, {.io = TfliteIo::float32}).bytes);
  const auto expected = values(int8.predict(data));
  const auto got = values(file.predict(data));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1.5f / 256 + 0.01f);
  }
}

TEST(TfliteExport, WritesOnlyTfliteFiles) {
  const TempFolder folder;
  EXPECT_THROW(export_tflite(tflite_network(), folder.path() / "m.onnx"),
               Error);
  const TfliteReport report =
      export_tflite(tflite_network(), folder.path() / "m.tflite");
  EXPECT_EQ(report.bytes, std::ssize(read_file(folder.path() / "m.tflite")));
  EXPECT_EQ(load_tflite_reference(folder.path() / "m.tflite").inputs().size(),
            1u);
}

TEST(TfliteModel, TracesItsValues) {
  const Model model = quantized_network();
  const TfliteModel file = tflite_from_bytes(to_tflite(model).bytes);
  ASSERT_EQ(file.values().size(), 6u);
  EXPECT_EQ(file.values()[0].tensor.name, "image");
  EXPECT_EQ(file.values()[1].op, "CONV_2D");
  EXPECT_EQ(file.values()[1].inputs, std::vector<size_t>{0});
  EXPECT_EQ(file.output_values(), std::vector<size_t>{5});
  const Tensor x = file.inputs()[0].to_stored(random_images(2));
  EXPECT_EQ(elements<int8_t>(file.trace(std::span(&x, 1))[5]),
            elements<int8_t>(file.predict(x)));
  Tensor invalid = random_images(1);
  invalid.f32()[3] = std::nanf("");
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)file.inputs()[0].to_stored(invalid);
            }).code,
            "not_finite");
}

// Values have the names of layers, except of fused ones.
TEST(TfliteModel, IsComparedWithModels) {
  const Model model = quantized_network();
  const TracedModel file(tflite_from_bytes(to_tflite(model).bytes));
  const TracedModel layers(from_tflite(to_tflite(model).bytes));
  const ModelComparison same = compare_models(layers, file, random_images(40));
  EXPECT_GT(same.output_sqnr(), 30);
  EXPECT_EQ(same.values.size(), 6u);
  EXPECT_LT(same.flip_share(), 0.02);
  const ModelComparison of_float =
      compare_models(TracedModel(tflite_network()), file, random_images(40));
  EXPECT_GT(of_float.output_sqnr(), 15);
  EXPECT_EQ(batch_difference(file, random_images(3)), 0);
}

TEST(TfliteModel, ChecksItsInputs) {
  const TfliteModel model =
      tflite_from_bytes(to_tflite(quantized_network()).bytes);
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)model.predict(random_images(1)); }),
      (Failure{"dtype_mismatch", "input 'image'"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)model.predict(Tensor::zeros({1, 7, 5, 1}, DType::i8));
            }),
            (Failure{"shape_mismatch", "input 'image'"}));
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)model.predict(std::span<const Tensor>()); }),
            (Failure{"count_mismatch", "tflite model"}));
}

// Element types of inputs and outputs that no operator has.
TEST(TfliteModel, RejectsTypesOfInputsAndOutputs) {
  const SymbolicTensor x = input({4}, "x");
  const std::string bytes = to_tflite(Model(x, ReLU()(x))).bytes;
  for (const auto type :
       {tflite::schema::TensorType::FLOAT16, tflite::schema::TensorType::BOOL,
        static_cast<tflite::schema::TensorType>(99)}) {
    const std::string other = edited(bytes, [&](auto& m) {
      auto& graph = *m.subgraphs[0];
      graph.operators.clear();
      graph.outputs = graph.inputs;
      graph.tensors[static_cast<size_t>(graph.inputs[0])]->type = type;
    });
    EXPECT_THAT(failure_of<UnsupportedError>([&] {
                  (void)tflite_from_bytes(other);
                }).message,
                HasSubstr(tflite::name_of(type) + " of an input"));
  }
}

// Sizes, axes and indices of exporters with 64 bits.
TEST(TfliteModel, RunsConstantsOfInt64) {
  const SymbolicTensor x = input({5, 3}, "x");
  const Model model(x, Gather({.indices = {3, 0}, .axis = 1})(x));
  const auto with_indices = [&](const std::vector<int64_t>& indices) {
    return edited(to_tflite(model).bytes, [&](auto& m) {
      auto& op = operator_of(m, tflite::schema::Op::GATHER);
      auto& tensor = input_of(m, op, 1);
      tensor.type = tflite::schema::TensorType::INT64;
      auto& data = m.buffers[tensor.buffer]->data;
      data.resize(indices.size() * sizeof(int64_t));
      std::memcpy(data.data(), indices.data(), data.size());
    });
  };
  Tensor samples({2, 5, 3});
  Rng(3).fill_normal(samples, 0, 1);
  EXPECT_EQ(values(tflite_from_bytes(with_indices({3, 0})).predict(samples)),
            values(model.predict(samples)));
  EXPECT_THAT(failure_of<UnsupportedError>([&] {
                (void)tflite_from_bytes(with_indices({3, int64_t{1} << 32}));
              }).message,
              HasSubstr("must fit in int32"));
}

TEST(TfliteModel, RejectsDamagedFiles) {
  const std::string bytes = to_tflite(quantized_network()).bytes;
  EXPECT_EQ(failure_of<FormatError>([] { (void)tflite_from_bytes(""); }).code,
            "invalid_file");
  for (size_t size = 1; size < bytes.size(); size += 97) {
    EXPECT_EQ(failure_of<FormatError>([&] {
                (void)tflite_from_bytes(bytes.substr(0, size));
              }).code,
              "invalid_file");
  }
  // Any error but no crash, and no run of a file that is not consistent.
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    std::string broken = bytes;
    std::vector<float> place(2);
    rng.fill_uniform(std::span<float>(place), 0, 1);
    const auto at =
        static_cast<size_t>(place[0] * static_cast<float>(bytes.size() - 1));
    broken[at] = static_cast<char>(place[1] * 255);
    try {
      const TfliteModel model = tflite_from_bytes(broken);
      if (model.inputs().size() != 1) continue;
      const TfliteTensorInfo& input = model.inputs()[0];
      if (input.shape.rank() == 0 || input.shape.size() > 1 << 16) continue;
      (void)model.predict(Tensor::zeros(input.shape, input.dtype));
    } catch (const Error&) {
    }
  }
}

TEST(TfliteIo, HasNames) {
  for (const TfliteIo io :
       {TfliteIo::int8, TfliteIo::uint8, TfliteIo::float32}) {
    EXPECT_EQ(tflite_io_named(to_string(io)), io);
  }
  EXPECT_EQ(failure_of<ValueError>([] { (void)tflite_io_named("int4"); }),
            (Failure{"invalid_value", "TfliteIo"}));
}

}  // namespace
}  // namespace octet::io
