// Equivalent forms in files of different Keras versions.
#include "keras_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "../facts.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

// --- inputs ------------------------------------------------------------------

TEST(KerasInput, ComesInManyForms) {
  const Shape expected{-1, 4, 3, 2};
  const std::string relu = R"({"class_name":"ReLU","config":{"name":"r",)";
  for (const std::string& architecture :
       {keras_sequential(
            {keras_input("i", "[null,4,3,2]"), keras_layer("ReLU", "r")}),
        keras_sequential(
            {keras_layer("InputLayer", "i", R"("batch_shape":[8,4,3,2])"),
             keras_layer("ReLU", "r")}),
        // A bare list, as before Keras 2.2.3.
        R"({"class_name":"Sequential","config":[)" + relu +
            R"("batch_input_shape":[null,4,3,2]}}]})",
        R"({"class_name":"Sequential","config":{"name":"s","layers":[)" + relu +
            R"("input_shape":[4,3,2]}}]}})",
        R"({"class_name":"Sequential","config":{"name":"s",)"
        R"("build_input_shape":[null,4,3,2],"layers":[)" +
            relu + R"("trainable":true}}]}})",
        R"({"class_name":"Sequential","config":{"name":"s",)"
        R"("build_input_shape":{"class_name":"__tuple__",)"
        R"("items":[null,4,3,2]},"layers":[)" +
            relu + R"("trainable":true}}]}})"}) {
    EXPECT_EQ(keras_model(architecture).inputs()[0].shape(), expected)
        << architecture;
  }
  EXPECT_EQ(keras_model(keras_sequential(
                            {keras_layer("Flatten", "f", R"("input_dim":5)")}))
                .inputs()[0]
                .shape(),
            (Shape{-1, 5}));
}

TEST(KerasInput, DynamicSizesCanBeSet) {
  const std::string architecture = keras_sequential(
      {keras_input("i", "[null,null,null,3]"), keras_layer("ReLU", "r")});
  const Model model = keras_model(architecture, {.input_shapes = {{5, 4, 3}}});
  EXPECT_EQ(model.outputs()[0].shape(), (Shape{-1, 5, 4, 3}));
  EXPECT_EQ(failure_of<FormatError>([&] {
              (void)keras_model(architecture, {.input_shapes = {{5, 4, 1}}});
            }),
            (Failure{"shape_mismatch", "KerasOptions.input_shapes"}));
  EXPECT_EQ(keras_model(keras_sequential({keras_layer("ReLU", "r")}),
                        {.input_shapes = {{7}}})
                .outputs()[0]
                .shape(),
            (Shape{-1, 7}));
}

TEST(KerasInput, ASequentialMayBeginWithAModel) {
  std::string inner = keras_sequential(
      {keras_input("x", "[null,4]"), keras_layer("ReLU", "r")});
  inner = inner.substr(0, inner.size() - 2) + R"(},"name":"base"})";
  const Model model =
      keras_model(keras_sequential({inner, keras_layer("Softmax", "s2")}));
  EXPECT_THAT(layer_classes(model),
              ElementsAre("InputLayer", "ReLU", "Softmax"));
  EXPECT_NO_THROW((void)model.layer("base/r"));
}

// --- calls -------------------------------------------------------------------

/// A functional model i -> r -> a(r, i) with calls in a given form.
std::string in_form(const std::string& of_r, const std::string& of_a,
                    const std::string& inputs, const std::string& outputs) {
  return keras_functional(
      {keras_input("i", "[null,3]"), keras_layer("ReLU", "r", "", of_r),
       keras_layer("Add", "a", "", of_a)},
      inputs, outputs);
}

TEST(KerasCalls, ComeInTheFormsOfAllVersions) {
  const auto tensor = [](const char* layer) {
    return fmt::format(
        R"({{"class_name":"__keras_tensor__","config":{{"shape":[null,3],)"
        R"("dtype":"float32","keras_history":["{}",0,0]}}}})",
        layer);
  };
  const std::string both = R"([["i",0,0]])";
  const std::string a = R"([["a",0,0]])";
  for (const std::string& architecture :
       {in_form(R"([[["i",0,0]]])", R"([[["r",0,0],["i",0,0]]])", both, a),
        in_form(R"([[["i",0,0,{}]]])", R"([[["r",0,0,{}],["i",0,0,{}]]])", both,
                a),
        in_form(R"([["i",0,0,{}]])", R"([[["r",0,0,{}],["i",0,0,{}]]])",
                R"(["i",0,0])", R"(["a",0,0])"),
        in_form(R"(["i",0,0])", R"([[["r",0,0],["i",0,0]]])", both,
                R"({"out":["a",0,0]})"),
        in_form(fmt::format(R"([{{"args":[{}],"kwargs":{{"mask":null}}}}])",
                            tensor("i")),
                fmt::format(R"([{{"args":[[{},{}]],"kwargs":{{}}}}])",
                            tensor("r"), tensor("i")),
                R"(["i",0,0])", R"([["a",0,0]])"),
        in_form(
            fmt::format(R"([{{"args":[],"kwargs":{{"inputs":{}}}}}])",
                        tensor("i")),
            fmt::format(R"([{{"args":[[{},{}]]}}])", tensor("r"), tensor("i")),
            R"({"x":["i",0,0]})", R"(["a",0,0])")}) {
    const Model model = keras_model(architecture);
    EXPECT_EQ(values(model.predict(Tensor::of<float>({1, 3}, {-1, 0, 2}))),
              (std::vector<float>{-1, 0, 4}))
        << architecture;
  }
}

TEST(KerasCalls, ADictionaryOfOutputsIsInTheOrderOfItsKeys) {
  const Model model = keras_model(
      in_form(R"([[["i",0,0]]])", R"([[["r",0,0],["i",0,0]]])",
              R"([["i",0,0]])", R"({"z":["r",0,0],"b":["a",0,0]})"));
  ASSERT_EQ(model.outputs().size(), 2u);
  EXPECT_EQ(model.outputs()[0].node->layer->name(), "a");
  EXPECT_EQ(model.outputs()[1].node->layer->name(), "r");
}

/// A nested model called on i and on its own output; the second call is the
/// output.
std::string called_twice(const std::string& first, const std::string& output,
                         bool sequential, bool new_form) {
  std::string inner =
      sequential
          ? R"({"class_name":"Sequential","name":"n","config":{)"
            R"("name":"n","layers":[)" +
                keras_input("x", "[null,3]") + "," +
                keras_layer("Rescaling", "scale", R"("scale":2.0)") + "]}}"
          : keras_functional(
                {keras_input("x", "[null,3]"),
                 keras_layer("Rescaling", "scale", R"("scale":2.0)",
                             R"([[["x",0,0]]])")},
                R"([["x",0,0]])", R"([["scale",0,0]])", "n");
  inner.pop_back();
  const auto tensor = [](const std::string& ref) {
    return R"({"class_name":"__keras_tensor__","config":{"keras_history":)" +
           ref + "}}";
  };
  inner += R"(,"inbound_nodes":[)";
  inner += new_form ? R"({"args":[)" + tensor(R"(["i",0,0])") +
                          R"(],"kwargs":{}},{"args":[)" + tensor(first) +
                          R"(],"kwargs":{}}])"
                    : R"([["i",0,0,{}]],[)" +
                          (first.substr(0, first.size() - 1) + ",{}]") + "]]";
  inner += "}";
  return keras_functional({keras_input("i", "[null,3]"), inner},
                          R"([["i",0,0]])", output);
}

TEST(KerasCalls, OfNestedModelsAreCountedAsTheirVersionDoes) {
  // Keras 2 counts the construction of the model as call 0, Keras 3 only in
  // output_layers, and not for a Sequential.
  for (const auto& [first, output, sequential, new_form] :
       std::vector<std::tuple<std::string, std::string, bool, bool>>{
           {R"(["n",1,0])", R"([["n",2,0]])", false, false},
           {R"(["n",1,0])", R"([["n",2,0]])", true, false},
           {R"(["n",0,0])", R"([["n",2,0]])", false, true},
           {R"(["n",0,0])", R"([["n",1,0]])", true, true}}) {
    const Model model =
        keras_model(called_twice(first, output, sequential, new_form));
    EXPECT_EQ(values(model.predict(Tensor::of<float>({1, 3}, {1, 2, 3}))),
              (std::vector<float>{4, 8, 12}))
        << first << output;
  }
  // The first call is the output; only the version disambiguates it.
  const Model model =
      keras_model(called_twice(R"(["n",1,0])", R"([["n",1,0]])", false, false));
  EXPECT_EQ(values(model.predict(Tensor::of<float>({1, 3}, {1, 2, 3}))),
            (std::vector<float>{2, 4, 6}));
}

// tf.keras' form of x[:, 1:, 0] and x[..., ::2].
TEST(KerasCalls, SlicesOfTensorsBecomeLayers) {
  const auto part = [](const std::string& index) {
    return keras_model(keras_functional(
        {keras_input("i", "[null,4,3]"),
         keras_layer("SlicingOpLambda", "part",
                     R"("function":"__operators__.getitem")",
                     R"([["i",0,0,{"slice_spec":)" + index + "}]]")},
        R"([["i",0,0]])", R"([["part",0,0]])"));
  };
  const std::string all = R"({"start":null,"stop":null,"step":null})";
  const Tensor x =
      Tensor::of<float>({1, 4, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  using V = std::vector<float>;
  EXPECT_EQ(
      values(part("[" + all + R"(,{"start":1,"stop":null,"step":null},0])")
                 .predict(x)),
      (V{3, 6, 9}));
  EXPECT_EQ(values(part("[" + all + "," + all +
                        R"(,{"start":null,"stop":null,"step":2}])")
                       .predict(x)),
            (V{0, 2, 3, 5, 6, 8, 9, 11}));
  EXPECT_EQ(failure_of<Error>([&] { (void)part("[0]"); }),
            (Failure{"invalid_value", "index"}));
}

TEST(KerasCalls, ArithmeticOnTensorsBecomesLayers) {
  const auto call = [](const std::string& function, const std::string& node) {
    const Model model = keras_model(keras_functional(
        {keras_input("i", "[null,3]"),
         keras_layer("TFOpLambda", "op",
                     fmt::format(R"("function":"{}")", function),
                     "[" + node + "]")},
        R"([["i",0,0]])", R"([["op",0,0]])"));
    return values(model.predict(Tensor::of<float>({1, 3}, {1, 2, 4})));
  };
  using V = std::vector<float>;
  EXPECT_EQ(call("__operators__.add", R"(["i",0,0,{"y":3.0,"name":null}])"),
            (V{4, 5, 7}));
  EXPECT_EQ(call("math.subtract", R"(["i",0,0,{"y":[1,2,3],"name":null}])"),
            (V{0, 0, 1}));
  EXPECT_EQ(call("math.subtract",
                 R"(["_CONSTANT_VALUE",-1,3.0,{"y":["i",0,0],"name":null}])"),
            (V{2, 1, -1}));
  EXPECT_EQ(call("math.multiply", R"(["i",0,0,{"y":["i",0,0]}])"),
            (V{1, 4, 16}));
  EXPECT_EQ(call("math.truediv", R"(["i",0,0,{"y":4}])"), (V{0.25, 0.5, 1}));
  // The reciprocal is rounded once.
  EXPECT_EQ(call("math.truediv", R"(["i",0,0,{"y":1.1}])")[0],
            static_cast<float>(1 / 1.1));
  EXPECT_EQ(call("math.truediv", R"(["i",0,0,{"y":["i",0,0]}])"), (V{1, 1, 1}));
  EXPECT_EQ(
      call("math.truediv", R"(["_CONSTANT_VALUE",-1,4.0,{"y":["i",0,0]}])"),
      (V{4, 2, 1}));
  EXPECT_EQ(call("math.square", R"(["i",0,0,{}])"), (V{1, 4, 16}));
  EXPECT_EQ(call("math.pow", R"(["i",0,0,{"y":3}])"), (V{1, 8, 64}));
  EXPECT_EQ(call("math.maximum", R"(["i",0,0,{"y":2.5}])"), (V{2.5, 2.5, 4}));
  EXPECT_EQ(
      call("math.minimum", R"(["_CONSTANT_VALUE",-1,1.5,{"y":["i",0,0]}])"),
      (V{1, 1.5, 1.5}));
  EXPECT_EQ(call("math.add_n", R"([["i",0,0,{}],["i",0,0]])"), (V{2, 4, 8}));
  EXPECT_EQ(call("math.sqrt", R"(["i",0,0,{}])")[2], 2);
  EXPECT_EQ(call("math.abs", R"(["i",0,0,{}])"), (V{1, 2, 4}));
  EXPECT_EQ(call("math.log", R"(["i",0,0,{}])")[0], 0);
  EXPECT_EQ(call("nn.relu6", R"(["i",0,0,{"name":null}])"), (V{1, 2, 4}));
  EXPECT_EQ(call("math.negative", R"(["i",0,0,{}])"), (V{-1, -2, -4}));
  EXPECT_EQ(call("concat", R"([["i",0,0,{"axis":-1}],["i",0,0]])"),
            (V{1, 2, 4, 1, 2, 4}));
  const auto refused = [&](const std::string& function,
                           const std::string& node) {
    return failure_of<UnsupportedError>([&] { (void)call(function, node); });
  };
  EXPECT_EQ(refused("math.reduce_mean", R"(["i",0,0,{"axis":1}])"),
            (Failure{"unsupported_attribute", "axis"}));
  EXPECT_EQ(refused("reshape", R"(["i",0,0,{"shape":[3,-1]}])"),
            (Failure{"invalid_shape", "reshape"}));
  EXPECT_EQ(refused("reshape", R"(["i",0,0,{"shape":[-1,1]}])"),
            (Failure{"shape_mismatch", "target_shape"}));
  EXPECT_EQ(refused("math.cumsum", R"(["i",0,0,{"axis":1}])"),
            (Failure{"unsupported_layer", "layers"}));
  EXPECT_EQ(refused("math.multiply", R"(["i",0,0,{"y":"x"}])"),
            (Failure{"unsupported_operator", "math.multiply"}));
}

TEST(KerasCalls, TrainingFalseFreezesTheStatistics) {
  const std::string bn = keras_layer("BatchNormalization", "bn",
                                     R"("axis":[1],"scale":0,"center":0)",
                                     R"([[["i",0,0,{"training":false}]]])");
  const TempFolder folder;
  KerasFile(keras_functional({keras_input("i", "[null,2]"), bn},
                             R"([["i",0,0]])", R"([["bn",0,0]])"))
      .layer("bn", {{"moving_mean:0", Tensor::of<float>({2}, {1, 2})},
                    {"moving_variance:0", Tensor::of<float>({2}, {3, 4})}})
      .write(folder / "m.h5");
  Model model = load_keras(folder / "m.h5");
  (void)model(Variable(noise({8, 2})), Mode::training);
  EXPECT_EQ(values(model.layer("bn").parameter("moving_mean").variable),
            (std::vector<float>{1, 2}));
}

// --- layers that are nothing, or another, in inference ----------------------

TEST(KerasAugmentation, IsSkippedWithOneWarning) {
  const WarningCapture kept;
  const Model model = keras_model(keras_sequential(
      {keras_input("i", "[null,6,4,3]"),
       keras_layer("RandomFlip", "flip", R"("mode":"horizontal")"),
       keras_layer("RandomZoom", "zoom", R"("height_factor":0.2)"),
       keras_layer("Identity", "same"), keras_layer("ReLU", "r")}));
  EXPECT_THAT(layer_classes(model), ElementsAre("InputLayer", "ReLU"));
  ASSERT_EQ(kept.messages.size(), 1u);
  EXPECT_EQ(kept.messages[0].code, "layers_ignored");
  EXPECT_THAT(quoted_names(kept.messages[0].text()),
              ElementsAre("flip", "zoom"));
}

TEST(KerasAugmentation, ARandomCropBecomesACenterCrop) {
  const WarningCapture kept;
  const Model model = keras_model(keras_sequential(
      {keras_input("i", "[null,6,4,3]"),
       keras_layer("RandomCrop", "crop", R"("height":4,"width":4)")}));
  EXPECT_THAT(layer_classes(model), ElementsAre("InputLayer", "Resizing"));
  EXPECT_EQ(model.outputs()[0].shape(), (Shape{-1, 4, 4, 3}));
  // Rows 1 to 4 of 6.
  const Tensor x = counting({1, 6, 4, 3});
  EXPECT_EQ(values(model.predict(x))[0], 12);
  ASSERT_EQ(kept.messages.size(), 1u);
  EXPECT_EQ(kept.messages[0].code, "layer_replaced");
  EXPECT_THAT(quoted_names(kept.messages[0].text()), ElementsAre("crop"));
}

TEST(KerasAugmentation, NonIdentitiesAreRejected) {
  EXPECT_EQ(failure_of<UnsupportedError>([] {
              (void)keras_model(
                  keras_sequential({keras_input("i", "[null,6,4,3]"),
                                    keras_layer("AutoContrast", "contrast")}));
            }),
            (Failure{"unsupported_layer", "layers"}));
}

TEST(KerasApplications, StochasticDepthIsADropoutOfSamples) {
  const Model model = keras_model(keras_sequential(
      {keras_input("i", "[null,2,2,3]"),
       keras_layer("StochasticDepth", "path", R"("drop_path_rate":0.25)")}));
  const Config config = model.layer("path").config();
  EXPECT_EQ(config.at("rate"), Config(0.25));
  EXPECT_EQ(config.at("noise_shape"), Config(Config::List{-1, 1, 1, 1}));
}

TEST(KerasModelClass, IsNamedIfItIsNotAGraph) {
  EXPECT_EQ(
      failure_of<UnsupportedError>([] {
        (void)keras_model(R"({"class_name":"MyNet","config":{"units":4}})");
      }),
      (Failure{"unsupported_model", "model"}));
}

TEST(KerasModelClass, InFunctionalFormIsReadWithAWarning) {
  const WarningCapture kept;
  std::string architecture =
      R"({"class_name":"WithItsOwnStep","config":)"
      R"({"name":"m","layers":[{"class_name":"InputLayer","name":"i",)"
      R"("config":{"name":"i","batch_shape":[null,3]},"inbound_nodes":[]},)"
      R"({"class_name":"ReLU","name":"r","config":{"name":"r"},)"
      R"("inbound_nodes":[[["i",0,0,{}]]]}],"input_layers":[["i",0,0]],)"
      R"("output_layers":[["r",0,0]]}})";
  EXPECT_THAT(layer_classes(keras_model(architecture)),
              ElementsAre("InputLayer", "ReLU"));
  ASSERT_THAT(kept.messages, ElementsAre(Failure{"custom_code_lost", "model"}));
  EXPECT_THAT(quoted_names(kept.messages[0].text()),
              ElementsAre("WithItsOwnStep"));
}

}  // namespace
}  // namespace octet::io
