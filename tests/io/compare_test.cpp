// ModelComparison of models value by value: with closed forms, and with an
// error inserted into one layer.
#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/compare.h>
#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>

#include "../disturb.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

Tensor noise_samples(const Shape& shape, uint64_t seed = 7) {
  Tensor x(shape);
  Rng(seed).fill_uniform(x, -1, 1);
  return x;
}

/// conv -> batch norm -> relu -> conv -> pool -> dense; H, W and C differ.
Model small_model() {
  const SymbolicTensor x = input({6, 5, 3}, "x");
  SymbolicTensor y =
      Conv2D({.filters = 17, .padding = Padding::same, .name = "first"})(x);
  y = BatchNormalization({.name = "norm"})(y);
  y = ReLU({.name = "relu"})(y);
  y = Conv2D({.filters = 4, .name = "second"})(y);
  y = Flatten({.name = "flat"})(y);
  Model model(x, Dense({.units = 7, .name = "scores"})(y));
  disturb(model);
  return model;
}

const ValueDifference& value_of(const ModelComparison& comparison,
                                const std::string& name) {
  for (const ValueDifference& value : comparison.values) {
    if (value.name == name) return value;
  }
  throw std::runtime_error("no value " + name);
}

TEST(Compare, AModelEqualsItself) {
  const TracedModel a(small_model()), b(small_model());
  const ModelComparison result =
      compare_models(a, b, noise_samples({5, 6, 5, 3}));
  EXPECT_EQ(result.values.size(), a.values().size());
  for (const ValueDifference& value : result.values) {
    EXPECT_EQ(value.max_error, 0) << value.name;
    EXPECT_EQ(value.sqnr(), INFINITY) << value.name;
  }
  EXPECT_EQ(result.output_sqnr(), INFINITY);
  EXPECT_EQ(result.agreement, 1.0);
  EXPECT_EQ(result.samples, 5);
}

TEST(Compare, AnExportedFileHasTheModelsValues) {
  const TracedModel model(small_model());
  const auto file = TracedModel::from_onnx_bytes(to_onnx(small_model()).bytes);
  for (const int64_t batch : {1, 2, 5}) {
    const ModelComparison result = compare_models(
        model, file, noise_samples({5, 6, 5, 3}), {.batch = batch});
    // Flattened values have another order; all others match.
    EXPECT_EQ(result.values.size(), model.values().size() - 1);
    for (const ValueDifference& value : result.values) {
      EXPECT_GT(value.sqnr(), 110) << value.name;
    }
  }
  // Samples in the file's layout fit, too, in either order of arguments.
  const ModelComparison turned =
      compare_models(file, model, noise_samples({2, 3, 6, 5}));
  EXPECT_GT(turned.output_sqnr(), 110);
  EXPECT_LT(batch_difference(file, noise_samples({4, 3, 6, 5})), 1e-6);
}

/// Keras' default names: the activation of 'conv2d' must not match the file's
/// 'conv2d_1', which is the next layer.
TEST(Compare, ALayerWithAnActivationIsComparedAfterIt) {
  const SymbolicTensor x = input({6, 5, 3}, "x");
  SymbolicTensor y =
      Conv2D({.filters = 17, .activation = "relu", .name = "conv2d"})(x);
  y = Conv2D({.filters = 4, .activation = "relu", .name = "conv2d_1"})(y);
  Model network(x, y);
  const auto file = TracedModel::from_onnx_bytes(to_onnx(network).bytes);
  const ModelComparison result = compare_models(
      TracedModel(std::move(network)), file, noise_samples({3, 6, 5, 3}));
  EXPECT_GT(value_of(result, "conv2d").sqnr(), 110);
  EXPECT_GT(value_of(result, "conv2d_1").sqnr(), 110);
}

TEST(Compare, AnActivationOfSeveralNodesIsComparedAfterTheLast) {
  for (const char* activation : {"silu", "gelu", "mish", "hard_shrink"}) {
    SCOPED_TRACE(activation);
    const SymbolicTensor x = input({6, 5, 3}, "x");
    SymbolicTensor y = Conv2D({.filters = 17, .name = "conv"})(x);
    y = Activation({.activation = activation, .name = "gate"})(y);
    y = Conv2D({.filters = 4, .name = "last"})(y);
    Model network(x, y);
    const auto file = TracedModel::from_onnx_bytes(to_onnx(network).bytes);
    const ModelComparison result = compare_models(
        TracedModel(std::move(network)), file, noise_samples({3, 6, 5, 3}));
    EXPECT_GT(value_of(result, "gate").sqnr(), 110);
  }
}

TEST(Compare, AFoldedNormalizationIsComparedAfterIt) {
  const TracedModel model(small_model());
  const auto folded = TracedModel::from_onnx_bytes(
      to_onnx(small_model(), {.fold_batch_norm = true}).bytes);
  const ModelComparison result =
      compare_models(model, folded, noise_samples({3, 6, 5, 3}));
  EXPECT_GT(value_of(result, "norm").sqnr(), 100);
  EXPECT_GT(value_of(result, "second").sqnr(), 100);
}

TEST(Compare, TheLayerWithTheFaultComesFirst) {
  for (const std::string fault : {"first", "second", "scores"}) {
    Model broken = small_model();
    const auto kernel = broken.layer(fault).parameter("kernel");
    kernel.variable.mutable_value()[0] += 0.5f;
    const ModelComparison result = compare_models(
        TracedModel(small_model()), TracedModel(std::move(broken)),
        noise_samples({4, 6, 5, 3}));
    EXPECT_EQ(result.by_noise().front().name, fault);
    EXPECT_LT(result.output_sqnr(), 60);
  }
}

TEST(Compare, NoiseIsTheRelativePowerOfTheDifference) {
  // y = x against y = 1.01 x: relative noise power 1e-4, 40 dB.
  const auto scaled = [](float factor) {
    onnx::ModelProto model =
        graph_model("(float[N,3] x) => (float[N,3] y)", "y = Mul (x, k)");
    *model.mutable_graph()->add_initializer() = float_tensor("k", {}, {factor});
    return TracedModel::from_onnx_bytes(model.SerializeAsString());
  };
  const ModelComparison result =
      compare_models(scaled(1), scaled(1.01f), noise_samples({8, 3}));
  EXPECT_NEAR(result.output_sqnr(), 40, 1e-3);
  EXPECT_NEAR(result.by_noise().front().added_noise(), 1e-4, 1e-8);
}

TEST(Compare, FlippedQuantizedValuesAreCounted) {
  const auto shifted = [](float shift) {
    onnx::ModelProto model =
        graph_model("(float[N,4] x) => (float[N,4] y)",
                    "a = Add (x, k)\n q = QuantizeLinear (a, s, z)\n"
                    "d = DequantizeLinear (q, s, z)\n y = Relu (d)");
    auto& graph = *model.mutable_graph();
    *graph.add_initializer() = float_tensor("k", {}, {shift});
    *graph.add_initializer() = float_tensor("s", {}, {0.5f});
    *graph.add_initializer() = int8_tensor("z", {}, {0});
    return TracedModel::from_onnx_bytes(model.SerializeAsString());
  };
  // 0.25 is a tie and rounds to 0; 0.26 rounds to 1, and 0.75 to 2 like 0.76.
  const Tensor x = Tensor::of<float>(Shape{1, 4}, {0.25f, 0.75f, 0, 100});
  const ModelComparison result = compare_models(shifted(0), shifted(0.01f), x);
  const ValueDifference& sum = value_of(result, "a");
  EXPECT_EQ(sum.codes, 4);
  EXPECT_EQ(sum.flips, 1);
  EXPECT_DOUBLE_EQ(result.flip_share(), 0.25);
}

// ONNX Runtime's quantizer removes a ReLU before such a quantizer; the tensor
// with the ReLU's name is then its input.
TEST(Compare, RangesFromZeroAreComparedAfterTheirReLU) {
  const auto file = [](const std::string& function, float scale,
                       const std::string& end = "y = Neg (d)") {
    onnx::ModelProto model =
        graph_model("(float[N,4] x) => (float[N,4] y)",
                    "a = Add (x, k)\n r = " + function +
                        " (a)\n q = QuantizeLinear (r, s, z)\n"
                        "d = DequantizeLinear (q, s, z)\n" +
                        end);
    auto& graph = *model.mutable_graph();
    *graph.add_initializer() = float_tensor("k", {}, {0.5f});
    *graph.add_initializer() = float_tensor("s", {}, {scale});
    auto& zero = *graph.add_initializer();
    zero.set_name("z");
    zero.set_data_type(onnx::TensorProto::UINT8);
    zero.add_int32_data(0);
    return TracedModel::from_onnx_bytes(model.SerializeAsString());
  };
  const Tensor x = Tensor::of<float>(Shape{1, 4}, {-3, 0.25f, -0.1f, 8});
  const auto noise = [&](const TracedModel& a, const TracedModel& b) {
    return value_of(compare_models(a, b, x), "r").noise;
  };
  EXPECT_EQ(noise(file("Relu", 0.1f), file("Identity", 0.1f)), 0);
  EXPECT_GT(noise(file("Relu", 0.1f), file("Abs", 0.1f)), 0);
  // Another consumer needs the negative values.
  const std::string twice = "e = Neg (r)\n y = Add (d, e)";
  EXPECT_GT(noise(file("Relu", 0.1f, twice), file("Identity", 0.1f, twice)), 0);
  // A range that ends at 6 represents a ReLU6.
  EXPECT_EQ(noise(file("Relu", 6.0f / 255), file("Identity", 6.0f / 255)), 0);
  EXPECT_LT(value_of(compare_models(file("Relu", 6.0f / 255),
                                    file("Identity", 6.0f / 255), x),
                     "r")
                .largest,
            6.001);
}

TEST(Compare, AccuracyOfBothWithLabels) {
  const TracedModel model(small_model());
  const Tensor x = noise_samples({6, 6, 5, 3});
  const Tensor y = small_model().predict(x);
  Tensor labels(Shape{6}, DType::i64);
  for (int64_t i = 0; i < 6; ++i) {
    const Tensor row = y.slice(i, 1);
    const auto best = std::ranges::max_element(row.f32());
    labels.data<int64_t>()[static_cast<size_t>(i)] = best - row.f32().begin();
  }
  labels.data<int64_t>()[2] = (labels.data<int64_t>()[2] + 1) % 7;
  const ModelComparison result =
      compare_models(model, model, x, {.batch = 4, .labels = labels});
  EXPECT_DOUBLE_EQ(result.accuracy_a.value(), 5.0 / 6);
  EXPECT_DOUBLE_EQ(result.accuracy_b.value(), 5.0 / 6);
  labels.data<int64_t>()[0] = 7;
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)compare_models(model, model, x, {.labels = labels});
            }),
            (Failure{"out_of_range", "labels"}));
}

TEST(Compare, AQuantizedModelAgainstItsFile) {
  Model quantized = quant::quantize_model(small_model());
  const Tensor seen = noise_samples({16, 6, 5, 3}, 3);
  quant::calibrate(quantized,
                   [&](const Model& model) { (void)model.predict(seen); });
  const std::string bytes = to_onnx(quantized).bytes;
  const auto file = TracedModel::from_onnx_bytes(bytes);
  const Tensor x = noise_samples({8, 6, 5, 3});
  const ModelComparison same =
      compare_models(TracedModel(std::move(quantized)), file, x);
  EXPECT_EQ(value_of(same, "second").op, "Conv2D");  // not its wrapper
  EXPECT_GT(same.output_sqnr(), 35);
  EXPECT_LT(same.flip_share(), 0.01);
  const ModelComparison imported =
      compare_models(TracedModel(from_onnx(bytes)), file, x);
  EXPECT_GT(imported.output_sqnr(), 35);
  EXPECT_GT(imported.values.size(), 5u);
  // The noise against the float model is larger, and every layer is found.
  const ModelComparison against =
      compare_models(TracedModel(small_model()), file, x);
  EXPECT_LT(against.output_sqnr(), same.output_sqnr());
  EXPECT_GT(against.output_sqnr(), 10);
  EXPECT_EQ(value_of(against, "second").op, "Conv2D");
}

/// x + relu(x) repeated: 2^blocks ways lead from the output to the input.
Model residual_chain(int blocks, const std::string& prefix) {
  const SymbolicTensor x = input({3}, "x");
  SymbolicTensor y = x;
  for (int i = 0; i < blocks; ++i) {
    const std::string name = prefix + std::to_string(i);
    y = Add({.name = name + "_add"})({y, ReLU({.name = name})(y)});
  }
  return Model(x, y);
}

TEST(Compare, ManyWaysThroughValuesOfOtherNamesTakeNoTime) {
  const TracedModel a(residual_chain(60, "a")), b(residual_chain(60, "b"));
  const ModelComparison result = compare_models(a, b, noise_samples({2, 3}));
  EXPECT_EQ(result.only_in_a, 119);
  EXPECT_EQ(result.values.back().noise_read, 0);
}

TEST(Compare, InfiniteOutputsOfOneSampleAndOfAllAreEqual) {
  Tensor x = noise_samples({2, 3});
  x.f32()[0] = 3e38f;
  EXPECT_EQ(batch_difference(TracedModel(residual_chain(3, "a")), x), 0);
}

// Agreement is a share of output rows: twice and half the samples.
TEST(Compare, CountsRowsOfTheOutput) {
  for (const auto& [rows, features] : {std::pair{8, 2}, std::pair{2, 8}}) {
    SCOPED_TRACE(rows);
    const auto file = TracedModel::from_onnx_bytes(
        graph_model("(float[4,4] x) => (float[A,B] y)",
                    fmt::format("s = Constant <value = int64[2] {{-1,{}}}> ()\n"
                                "y = Reshape (x, s)",
                                features))
            .SerializeAsString());
    const Tensor x = noise_samples({4, 4});
    EXPECT_EQ(compare_models(file, file, x).agreement, 1);
    const Tensor labels = Tensor::of<int64_t>({4}, {0, 0, 0, 0});
    if (rows < 4) {
      EXPECT_TRUE(compare_models(file, file, x, {.labels = labels}).accuracy_a);
      continue;
    }
    EXPECT_EQ(failure_of<ShapeError>([&] {
                (void)compare_models(file, file, x, {.labels = labels});
              }),
              (Failure{"count_mismatch", "labels"}));
  }
}

TEST(Compare, RejectsIncomparableModels) {
  const TracedModel model(small_model());
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)compare_models(model, model, noise_samples({2, 9, 5, 3}));
            }),
            (Failure{"shape_mismatch", "compare"}));
  EXPECT_TRUE(failed(failure_of<ShapeError>(
      [&] { (void)compare_models(model, model, Tensor()); })));
  EXPECT_TRUE(failed(failure_of<ValueError>([&] {
    (void)compare_models(model, model, noise_samples({2, 6, 5, 3}),
                         {.batch = 0});
  })));
  EXPECT_TRUE(failed(failure_of<ValueError>([&] {
    (void)compare_models(model, model, noise_samples({2, 6, 5, 3}),
                         {.labels = Tensor(Shape{3}, DType::i64)});
  })));
  const SymbolicTensor a = input({3}, "a"), b = input({3}, "b");
  EXPECT_TRUE(failed(failure_of<UnsupportedError>([&] {
    TracedModel several(Model({a, b}, {Add()({a, b})}));
  })));
}

}  // namespace
}  // namespace octet::io
