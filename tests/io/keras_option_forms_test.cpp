// Equivalent forms of layer options in files of different Keras versions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "keras_forms.h"
#include "support.h"

namespace octet::io {
namespace {

TEST(KerasOptionForms, ActivationsComeInManyForms) {
  using V = std::vector<float>;
  const auto activation = [](const std::string& value,
                             const std::string& version = "2.15.0") {
    return values_of_layer(
        keras_layer("Activation", "act", R"("activation":)" + value),
        "[null,6]", {}, version);
  };
  const V same{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(activation("null"), same);
  EXPECT_EQ(activation(R"("linear")"), same);
  EXPECT_EQ(activation(R"("Custom>relu")"), same);
  EXPECT_EQ(activation(R"({"class_name":"function","config":"relu",)"
                       R"("module":"builtins","registered_name":"relu"})"),
            same);
  EXPECT_EQ(activation(R"({"class_name":"ReLU","config":{"name":"r",)"
                       R"("max_value":2.0}})"),
            (V{0, 1, 2, 2, 2, 2}));
  EXPECT_EQ(activation(R"({"class_name":"Activation","config":{"name":"x",)"
                       R"("activation":"relu"}})"),
            same);
  // Slopes of 0.2 and of 1/6.
  EXPECT_FLOAT_EQ(activation(R"("hard_sigmoid")")[1], 0.7f);
  EXPECT_FLOAT_EQ(activation(R"("hard_sigmoid")", "3.3.3")[1], 4.0f / 6);
  EXPECT_EQ(activation(R"("hard_sigmoid")", "1.2.2")[3], 1.0f);
}

TEST(KerasOptionForms, ClassesHaveOtherNames) {
  const auto class_of = [](const std::string& name,
                           const std::string& options) {
    const Model model = keras_model(
        keras_sequential({keras_input("i"), keras_layer(name, "x", options)}));
    return model.layer("x").class_name();
  };
  EXPECT_EQ(class_of("MaxPool2D", R"("pool_size":2)"), "MaxPooling2D");
  EXPECT_EQ(class_of("AvgPool2D", R"("pool_size":[2,2],"strides":null)"),
            "AveragePooling2D");
  EXPECT_EQ(class_of("GlobalAvgPool2D", R"("keepdims":0)"),
            "GlobalAveragePooling2D");
  EXPECT_EQ(class_of("Custom>GlobalMaxPool2D", ""), "GlobalMaxPooling2D");
  EXPECT_EQ(class_of("ThresholdedReLU", R"("theta":0.5)"), "ReLU");
}

TEST(KerasOptionForms, OptionsOfOldAndNewVersionsAreRead) {
  using V = std::vector<float>;
  EXPECT_EQ(values_of_layer(keras_layer("LeakyReLU", "x", R"("alpha":0.5)")),
            values_of_layer(
                keras_layer("LeakyReLU", "x", R"("negative_slope":0.5)")));
  EXPECT_EQ(values_of_layer(keras_layer("Rescaling", "x",
                                        R"("scale":[[1,2]],"offset":0.5)"),
                            "[null,2]"),
            (V{0.5, 2.5}));
  EXPECT_EQ(values_of_layer(
                keras_layer(
                    "Normalization", "x",
                    R"("axis":[-1],"mean":{"class_name":"__numpy__","config":{)"
                    R"("value":[[1.0,2.0]],"dtype":"float32"}},)"
                    R"("variance":[[4.0,4.0]])"),
                "[null,2]"),
            (V{-0.5, -0.5}));
  EXPECT_EQ(values_of_layer(keras_layer("Softmax", "x", R"("axis":[-1])"),
                            "[null,1]"),
            (V{1}));
}

// For the last axis in any axis order: here the length. Expected: Keras 3.15.
TEST(KerasOptionForms, ListsOfRescalingAreForTheLastAxisOfASequence) {
  const std::string conv =
      R"("data_format":"channels_first","kernel_size":[1],"use_bias":false,)"
      R"("filters":)";
  const std::string architecture = keras_sequential(
      {keras_input("i", "[null,3,3]"), keras_layer("Conv1D", "a", conv + "3"),
       keras_layer("Rescaling", "r", R"("scale":[1,10,100],"offset":[0,0,0])"),
       keras_layer("Conv1D", "b", conv + "1")});
  const TempFolder folder;
  KerasFile(architecture)
      .layer("a", {{"kernel:0", Tensor::full({1, 3, 3}, 1)}})
      .layer("b", {{"kernel:0", Tensor::full({1, 3, 1}, 1)}})
      .write(folder / "m.h5");
  const Model model = load_keras(folder / "m.h5");
  // 0..8 in Keras' order [channels, length], here [length, channels].
  const Tensor x = Tensor::of<float>({1, 3, 3}, {0, 3, 6, 1, 4, 7, 2, 5, 8});
  EXPECT_EQ(values(model.predict(x)), (std::vector<float>{27, 360, 4500}));
}

// Keras 1 names; ignoring them would result in another network.
TEST(KerasOptionForms, OptionsOverSequencesHaveOtherNames) {
  const auto chain = [](const std::string& name, const std::string& options) {
    return keras_sequential(
        {keras_input("i", "[null,26,3]"), keras_layer(name, "x", options)});
  };
  const auto shape_of = [&](const std::string& name,
                            const std::string& options) {
    return keras_model(chain(name, options)).outputs()[0].shape().slice(1, 3);
  };
  EXPECT_EQ(shape_of("MaxPooling1D", R"("pool_length":5,"stride":4)"),
            Shape({6, 3}));
  EXPECT_EQ(shape_of("AveragePooling1D", R"("pool_length":5,"stride":null)"),
            Shape({5, 3}));
  EXPECT_EQ(shape_of("UpSampling1D", R"("length":3)"), Shape({78, 3}));
  EXPECT_EQ(shape_of("ZeroPadding1D", R"("padding":2)"), Shape({30, 3}));
  EXPECT_EQ(shape_of("SpatialDropout1D", R"("p":0.25)"), Shape({26, 3}));

  const std::string conv =
      chain("Convolution1D",
            R"("nb_filter":4,"filter_length":7,"subsample_length":2,)"
            R"("border_mode":"valid","bias":false)");
  const TempFolder folder;
  KerasFile(conv)
      .layer("x", {{"kernel:0", Tensor::zeros({7, 3, 4})}})
      .write(folder / "m.h5");
  EXPECT_EQ(load_keras(folder / "m.h5").outputs()[0].shape().slice(1, 3),
            Shape({10, 4}));
  // Its kernels had one more axis.
  KerasFile(conv, "1.2.2")
      .layer("x", {{"x_W:0", Tensor::zeros({7, 1, 3, 4})}})
      .write(folder / "old.h5");
  EXPECT_EQ(failure_of<Error>([&] { (void)load_keras(folder / "old.h5"); }),
            (Failure{"shape_mismatch", "'/model_weights/x/x/x_W:0'"}));
}

TEST(KerasOptionForms, CustomInitializersAndRegularizersAreSkipped) {
  const TempFolder folder;
  KerasFile(
      keras_sequential(
          {keras_input("i", "[null,3]"),
           keras_layer("PReLU", "x",
                       R"("alpha_constraint":{"a":1},"alpha_regularizer":"l2",)"
                       R"("alpha_initializer":{"class_name":"Mine",)"
                       R"("config":{}})")}))
      .layer("x", {{"alpha:0", Tensor::of<float>({3}, {1, 2, 3})}})
      .write(folder / "m.h5");
  const Model model = load_keras(folder / "m.h5");
  EXPECT_EQ(values(model.predict(Tensor::full({1, 3}, -1))),
            (std::vector<float>{-1, -2, -3}));
}

TEST(KerasOptionForms, TrainingOptionsArePreserved) {
  const std::string dense = keras_layer(
      "Dense", "d",
      R"("units":2,"trainable":false,)"
      R"("kernel_regularizer":{"class_name":"L2","config":{"l2":0.5}},)"
      R"("kernel_initializer":{"class_name":"HeNormal","config":{}})");
  const TempFolder folder;
  KerasFile(keras_sequential({keras_input("i", "[null,1]"), dense}))
      .layer("d", {{"kernel:0", Tensor::of<float>({1, 2}, {1, 2})},
                   {"bias:0", Tensor::of<float>({2}, {3, 4})}})
      .write(folder / "m.h5");
  const Model model = load_keras(folder / "m.h5");
  const Layer& layer = model.layer("d");
  EXPECT_FALSE(layer.trainable());
  EXPECT_EQ(layer.parameter("kernel").regularizer.l2, 0.5f);
  EXPECT_EQ(layer.config().at("kernel_initializer").at("class_name"),
            Config("HeNormal"));
}

}  // namespace
}  // namespace octet::io
