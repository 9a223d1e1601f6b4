// Files of NVIDIA's tensorflow-quantization: weights and ranges, written and
// evaluated by TensorFlow in tests/oracle/make_toolkit_golden.py.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/layers/model.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>

#include "../facts.h"
#include "../support.h"
#include "keras_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Float32 sums of products of quantized values, in another order.
constexpr float kToolkitTolerance = 1e-5f;

/// Returns the plan as "layer site" lines.
std::vector<std::string> sites(const Model& model) {
  std::vector<std::string> lines;
  for (const quant::QdqPoint& point : quant::plan_of(model).points) {
    lines.push_back(point.layer + " " + to_string(point.site));
  }
  return lines;
}

/// Returns the float counterpart of a quantized model, with other weights.
Model float_counterpart(const Model& model) {
  return model_from_config(octet::to_config(model, quant::float_layer));
}

const quant::Quantizer& weight_quantizer_of(const Model& model,
                                            const std::string& layer) {
  const auto* wrapper = quant::as_wrapper(model.layer("quant_" + layer));
  if (wrapper == nullptr)
    throw NotFoundError("unknown_name", layer, "no wrapper");
  return *wrapper->weights().front().quantizer;
}

TEST(ToolkitFile, MatchesTensorFlow) {
  for (const char* name : {"toolkit_residual", "toolkit_sequence"}) {
    SCOPED_TRACE(name);
    const Model model = load_keras(keras_golden(std::string(name) + ".h5"));
    expect_computes(model, keras_case(name), kToolkitTolerance);
  }
}

TEST(ToolkitFile, QuantizesWhereItHasRanges) {
  const Model model = load_keras(keras_golden("toolkit_residual.h5"));
  EXPECT_THAT(sites(model),
              ElementsAre("conv input 0", "conv kernel", "depthwise input 0",
                          "depthwise depthwise_kernel", "project input 0",
                          "project kernel", "add input 1", "preact input 0",
                          "max_pool input 0", "average_pool input 0",
                          "concatenate input 0", "concatenate input 1",
                          "gate_pool input 0", "gate input 0", "gate kernel",
                          "multiply input 0", "multiply input 1",
                          "logits input 0", "logits kernel"));
  EXPECT_EQ(quant::plan_of(model).points.front().rule, "file");
}

TEST(ToolkitFile, HasSeparateScalesForWeights) {
  // The weights moved by 3 % after their ranges were taken.
  const Model model = load_keras(keras_golden("toolkit_sequence.h5"));
  const quant::Quantizer& quantizer = weight_quantizer_of(model, "conv");
  const Tensor& kernel =
      model.layer("quant_conv").parameter("kernel").variable.value();
  ASSERT_EQ(quantizer.scales().size(), 3u);
  for (size_t channel = 0; channel < 3; ++channel) {
    float largest = 0;
    for (size_t i = channel; i < kernel.f32().size(); i += 3) {
      largest = std::max(largest, std::fabs(kernel.f32()[i]));
    }
    const float ratio = largest / (127 * quantizer.scales()[channel]);
    EXPECT_NEAR(std::fabs(std::log(ratio)), std::log(1.03f), 1e-4f);
  }
}

TEST(ToolkitFile, IsExportedWithOnePairPerTensor) {
  const Model model = load_keras(keras_golden("toolkit_residual.h5"));
  const quant::PairCount count =
      quant::count_pairs(quant::plan_of(model), float_counterpart(model));
  // `relu` and `preact` each feed two of the 13 quantized inputs, and
  // `concatenate` feeds two.
  EXPECT_EQ(count.to_string(),
            "pairs: 14 activations + 5 weights = 19 per edge, 17 shared");
  EXPECT_EQ(to_onnx(model).report.qdq_pairs, count.shared);
}

TEST(ToolkitFile, IsTheSameFromSeparateWeightsAndArchitecture) {
  const TempFolder folder;
  const std::string architecture = keras_sequential(
      {keras_input("image", "[null,6,5]"),
       keras_layer("Reshape", "reshape", R"("target_shape":[6,5,1])"),
       keras_layer("Conv2D", "conv",
                   R"("filters":3,"kernel_size":[3,3],"activation":"relu")"),
       keras_layer("Flatten", "flatten"),
       keras_layer("Dense", "dense", R"("units":4)")});
  write_file(folder / "float.json", architecture);
  const Model model =
      load_keras(keras_golden("toolkit_sequence.legacy_weights.h5"),
                 {.architecture = folder / "float.json"});
  expect_computes(model, keras_case("toolkit_sequence"), kToolkitTolerance);
}

TEST(ToolkitWeights, LoadIntoAModelQuantizedAlike) {
  const Model original = load_keras(keras_golden("toolkit_residual.h5"));
  Model model =
      quant::apply(quant::plan_of(original), float_counterpart(original));
  load_keras_weights(model, keras_golden("toolkit_residual.legacy_weights.h5"));
  expect_computes(model, keras_case("toolkit_residual"), kToolkitTolerance);
}

TEST(ToolkitWeights, DoNotChangeScalesThatFollowTheWeights) {
  const Model original = load_keras(keras_golden("toolkit_sequence.h5"));
  Model model = quant::quantize_model(float_counterpart(original),
                                      {.policy = quant::Policy::toolkit});
  load_keras_weights(model, keras_golden("toolkit_sequence.h5"));
  EXPECT_TRUE(weight_quantizer_of(model, "conv").scales().empty());
  for (const quant::PlacedQuantizer& placed :
       quant::activation_quantizers(model)) {
    EXPECT_TRUE(placed.quantizer->calibrated()) << placed.quantizer->name();
  }
  // 3 % of 127 steps are less than 4.
  const KerasCase expected = keras_case("toolkit_sequence");
  const Tensor y = model.predict(expected.inputs[0]);
  EXPECT_LT(largest_difference(y, expected.outputs[0]), 0.1f);
}

TEST(ToolkitWeights, LoadIntoAFloatModelWithoutTheirRanges) {
  const Model original = load_keras(keras_golden("toolkit_sequence.h5"));
  Model model = float_counterpart(original);
  load_keras_weights(model, keras_golden("toolkit_sequence.h5"));
  EXPECT_THAT(quant::quantizers(model), IsEmpty());
  for (const char* layer : {"conv", "dense"}) {
    for (const char* weight : {"kernel", "bias"}) {
      EXPECT_EQ(bits(model.layer(layer).parameter(weight).variable),
                bits(original.layer(std::string("quant_") + layer)
                         .parameter(weight)
                         .variable));
    }
  }
}

TEST(ToolkitWeights, AreRejectedIfOtherTensorsAreQuantized) {
  const Model original = load_keras(keras_golden("toolkit_residual.h5"));
  Model model = quant::quantize_model(float_counterpart(original));
  const auto load = [&](bool partial) {
    load_keras_weights(model, keras_golden("toolkit_residual.h5"),
                       {.partial = partial});
  };
  EXPECT_EQ(failure_of<FormatError>([&] { load(false); }),
            (Failure{"unknown_name", "quantizers"}));
  EXPECT_FALSE(
      quant::activation_quantizers(model).front().quantizer->calibrated());
  load(true);
  EXPECT_TRUE(
      quant::activation_quantizers(model).front().quantizer->calibrated());
}

// One wrapped Dense layer, with any weights.
struct Weights {
  std::vector<std::pair<std::string, Tensor>> list = {
      {"bias:0", Tensor::of<float>({1}, {0.5f})},
      {"kernel:0", Tensor::of<float>({2, 1}, {1, -2})},
      {"kernel_min:0", Tensor::of<float>({1}, {-2})},
      {"kernel_max:0", Tensor::of<float>({1}, {2})},
      {"d_ip_min:0", Tensor::scalar(-4)},
      {"d_ip_max:0", Tensor::scalar(4)},
      {"optimizer_step:0", Tensor::of<int64_t>({}, {-1})},
  };
  Weights& set(const std::string& name, Tensor value) {
    at(name)->second = std::move(value);
    return *this;
  }
  Weights& rename(const std::string& name, const std::string& to) {
    at(name)->first = to;
    return *this;
  }
  Weights& remove(const std::string& name) {
    list.erase(at(name));
    return *this;
  }

 private:
  decltype(list)::iterator at(const std::string& name) {
    return std::ranges::find(list, name,
                             &std::pair<std::string, Tensor>::first);
  }
};

Model loaded(const Weights& weights) {
  const TempFolder folder;
  const std::string wrapped =
      keras_layer("Custom>DenseQuantizeWrapper", "quant_d",
                  R"("quantize_config":null,"layer":)" +
                      keras_layer("Dense", "d", R"("units":1)"));
  KerasFile(keras_sequential({keras_input("x", "[null,2]"), wrapped}))
      .layer("quant_d", weights.list)
      .write(folder / "q.h5");
  return load_keras(folder / "q.h5");
}

TEST(ToolkitWeights, OfAFloatModelLoadIntoItsQuantizedCounterpart) {
  const TempFolder folder;
  KerasFile("")
      .layer("d", {{"kernel:0", Tensor::of<float>({2, 1}, {3, -4})},
                   {"bias:0", Tensor::of<float>({1}, {5})}})
      .write(folder / "w.h5");
  Model model = loaded(Weights());
  load_keras_weights(model, folder / "w.h5");
  EXPECT_THAT(model.layer("quant_d").parameter("kernel").variable.value().f32(),
              ElementsAre(3, -4));
  EXPECT_EQ(quant::quantizers(model)[0]->scale(), 4.0f / 127);
}

TEST(ToolkitRange, DeterminesTheScaleByItsLargerEnd) {
  const Model model = loaded(Weights()
                                 .set("d_ip_min:0", Tensor::scalar(-12.7f))
                                 .set("d_ip_max:0", Tensor::scalar(1)));
  const auto quantizers = quant::quantizers(model);
  ASSERT_EQ(quantizers.size(), 2u);
  EXPECT_FLOAT_EQ(quantizers[0]->scale().value(), 0.1f);
  EXPECT_THAT(quantizers[1]->scales(), ElementsAre(2.0f / 127));
  EXPECT_EQ(model.layer("quant_d").class_name(), "DenseQuantizeWrapper");
}

TEST(ToolkitRange, OfZerosHasScaleOne) {
  const WarningCapture warnings;
  const Model model = loaded(Weights()
                                 .set("d_ip_min:0", Tensor::scalar(0))
                                 .set("d_ip_max:0", Tensor::scalar(0)));
  EXPECT_EQ(quant::quantizers(model)[0]->scale(), 1.0f);
  ASSERT_THAT(warnings.messages, ElementsAre(Failure{"zero_range", "ranges"}));
  EXPECT_EQ(numbers_in(warnings.messages[0].text()).at(0), 0);
  EXPECT_THAT(quoted_names(warnings.messages[0].text()),
              ElementsAre("quant_d"));
}

TEST(ToolkitRange, ThatTrainingNeverChangedCausesAWarning) {
  const WarningCapture warnings;
  (void)loaded(Weights()
                   .set("kernel_min:0", Tensor::of<float>({1}, {-6}))
                   .set("kernel_max:0", Tensor::of<float>({1}, {6}))
                   .set("d_ip_min:0", Tensor::scalar(-6))
                   .set("d_ip_max:0", Tensor::scalar(6)));
  ASSERT_THAT(warnings.messages,
              ElementsAre(Failure{"initial_ranges", "ranges"}));
  EXPECT_THAT(numbers_in(warnings.messages[0].text()), ElementsAre(-6, 6));
}

TEST(ToolkitRange, ThatIsInvalidIsRejected) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor two = Tensor::of<float>({2}, {-1, -1});
  const Tensor ones = Tensor::of<float>({2}, {1, 1});
  const struct {
    Weights weights;
    Failure failure;
  } cases[] = {
      {Weights().remove("kernel_max:0"), {"missing_value", "weight_names"}},
      {Weights().set("d_ip_min:0", Tensor::scalar(nan)),
       {"out_of_range", "range"}},
      {Weights().set("d_ip_max:0", Tensor::scalar(1e22f)),
       {"out_of_range", "range"}},
      {Weights().remove("d_ip_min:0"), {"missing_value", "weight_names"}},
      {Weights().remove("kernel_min:0"), {"missing_value", "weight_names"}},
      {Weights()
           .rename("kernel_min:0", "bias_min:0")
           .rename("kernel_max:0", "bias_max:0"),
       {"invalid_value", "range"}},
      {Weights().set("d_ip_min:0", Tensor::scalar(1)),
       {"out_of_range", "range"}},
      {Weights().set("d_ip_min:0", two),
       {"shape_mismatch", "'/model_weights/quant_d/quant_d/d_ip_min:0'"}},
      {Weights().set("d_ip_max:0", two),
       {"shape_mismatch", "'/model_weights/quant_d/quant_d/d_ip_max:0'"}},
      {Weights().set("kernel_min:0", two).set("kernel_max:0", ones),
       {"shape_mismatch", "'/model_weights/quant_d/quant_d/kernel_min:0'"}},
      {Weights()
           .rename("d_ip_min:0", "d_ip1_min:0")
           .rename("d_ip_max:0", "d_ip1_max:0"),
       {"invalid_value", "layer 'quant_d'"}},
      {Weights()
           .rename("kernel_min:0", "beta_min:0")
           .rename("kernel_max:0", "beta_max:0"),
       {"invalid_value", "range"}},
      {Weights().remove("bias:0"),
       {"count_mismatch", "weights of layer 'd' (Dense)"}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(failure_of<FormatError>([&] { (void)loaded(c.weights); }),
              c.failure);
  }
}

/// `merge` of three tensors of four features, with a range for each of `sizes`.
Model merged(const std::string& merge, const std::vector<float>& sizes) {
  const TempFolder folder;
  const auto dense = [](const std::string& name) {
    return keras_layer("Dense", name, R"("units":4,"use_bias":false)",
                       R"([[["x",0,0,{}]]])");
  };
  const std::string wrapped =
      keras_layer(merge + "QuantizeWrapper", "quant_m",
                  R"("layer":)" + keras_layer(merge, "m"),
                  R"([[["a",0,0,{}],["b",0,0,{}],["b",0,0,{}]]])");
  KerasFile file(keras_functional(
      {keras_input("x", "[null,2]"), dense("a"), dense("b"), wrapped},
      R"([["x",0,0]])", R"([["quant_m",0,0]])"));
  for (const char* name : {"a", "b"}) {
    file.layer(name, {{"kernel:0", Tensor::zeros({2, 4})}});
  }
  std::vector<std::pair<std::string, Tensor>> ranges;
  for (size_t k = 0; k < sizes.size(); ++k) {
    ranges.emplace_back(fmt::format("m_ip{}_min:0", k),
                        Tensor::scalar(-sizes[k]));
    ranges.emplace_back(fmt::format("m_ip{}_max:0", k),
                        Tensor::scalar(sizes[k]));
  }
  ranges.emplace_back("optimizer_step:0", Tensor::zeros({}));
  file.layer("quant_m", ranges).write(folder / "m.h5");
  return load_keras(folder / "m.h5");
}

TEST(ToolkitRange, OfATensorWithTwoConsumersIsTheLarger) {
  const WarningCapture warnings;
  const Model model = merged("Concatenate", {1, 2, 3});
  const auto quantizers = quant::quantizers(model);
  ASSERT_EQ(quantizers.size(), 2u);
  EXPECT_EQ(quantizers[0]->scale(), 1.0f / 127);
  EXPECT_EQ(quantizers[1]->scale(), 3.0f / 127);
  EXPECT_THAT(warnings.messages,
              ElementsAre(Failure{"conflicting_ranges",
                                  "input range 2 of layer 'quant_m'"}));
}

TEST(ToolkitRange, OfSomeInputsIsRejectedIfAmbiguous) {
  EXPECT_EQ(failure_of<UnsupportedError>([] {
              (void)merged("Concatenate", {1, 2});
            }),
            (Failure{"unsupported_model", "layer 'm'"}));
  EXPECT_EQ(failure_of<FormatError>([] {
              (void)merged("Concatenate", {1, 2, 3, 4});
            }),
            (Failure{"count_mismatch", "layer 'm'"}));
}

/// conv_a(x) + conv_b(x), one input quantized with range 2; a Dense with the
/// range `other` consumes relu(conv_a).
Model projected(float other) {
  const TempFolder folder;
  const std::string wrapped_add = keras_layer(
      "AddQuantizeWrapper", "quant_m", R"("layer":)" + keras_layer("Add", "m"),
      R"([[["a",0,0,{}],["b",0,0,{}]]])");
  const auto conv = [](const std::string& name) {
    return keras_layer("Conv2D", name,
                       R"("filters":2,"kernel_size":[1,1],"use_bias":false)",
                       R"([[["x",0,0,{}]]])");
  };
  const std::string pool = keras_layer(
      "MaxPooling2DQuantizeWrapper", "quant_p",
      R"("layer":)" + keras_layer("MaxPooling2D", "p", R"("pool_size":2)"),
      R"([[["a",0,0,{}]]])");
  const auto range = [](const std::string& name, float size) {
    return std::vector<std::pair<std::string, Tensor>>{
        {name + "_min:0", Tensor::scalar(-size)},
        {name + "_max:0", Tensor::scalar(size)},
        {"optimizer_step:0", Tensor::zeros({})}};
  };
  KerasFile(keras_functional(
                {keras_input("x"), conv("a"), conv("b"), wrapped_add, pool},
                R"([["x",0,0]])", R"([["quant_m",0,0],["quant_p",0,0]])"))
      .layer("a", {{"kernel:0", Tensor::zeros({1, 1, 1, 2})}})
      .layer("b", {{"kernel:0", Tensor::zeros({1, 1, 1, 2})}})
      .layer("quant_m", range("m_ip0", 2))
      .layer("quant_p", range("p_ip", other))
      .write(folder / "m.h5");
  return load_keras(folder / "m.h5");
}

TEST(ToolkitRange, OfAnAddIsForTheTensorWithTheSameRangeElsewhere) {
  const WarningCapture warnings;
  // By default the residual case skips a convolution without other consumers,
  // b, and quantizes a.
  EXPECT_THAT(sites(projected(2)), ElementsAre("m input 0", "p input 0"));
  EXPECT_THAT(warnings.messages, IsEmpty());
  // a has another range.
  EXPECT_THAT(sites(projected(3)), ElementsAre("m input 1", "p input 0"));
  EXPECT_THAT(warnings.messages, IsEmpty());
}

TEST(ToolkitRange, IsMatchedByNameOnly) {
  Model model =
      float_counterpart(load_keras(keras_golden("toolkit_sequence.h5")));
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              load_keras_weights(model, keras_golden("toolkit_sequence.h5"),
                                 {.match = KerasMatch::by_order});
            }),
            (Failure{"conflicting_options", "KerasOptions.match"}));
}

TEST(ToolkitWrapper, ContainsALayerOfItsClass) {
  const auto refusal = [](const std::string& wrapper,
                          const std::string& inner) {
    const TempFolder folder;
    KerasFile(keras_sequential(
                  {keras_input("x", "[null,2]"),
                   keras_layer(wrapper, "quant_d", R"("layer":)" + inner)}))
        .write(folder / "q.h5");
    return failure_of<FormatError>([&] { (void)load_keras(folder / "q.h5"); });
  };
  const std::string dense = keras_layer("Dense", "d", R"("units":1)");
  EXPECT_EQ(refusal("Conv2DQuantizeWrapper", dense),
            (Failure{"invalid_graph", "layer"}));
  EXPECT_EQ(
      refusal("DenseQuantizeWrapperQuantizeWrapper",
              keras_layer("DenseQuantizeWrapper", "e", R"("layer":)" + dense)),
      (Failure{"invalid_graph", "layer"}));
  EXPECT_EQ(refusal("DenseQuantizeWrapper", "7"),
            (Failure{"invalid_value", "configuration"}));
}

}  // namespace
}  // namespace octet::io
