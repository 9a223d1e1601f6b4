// Loading of weights into an existing model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>

#include "../support.h"
#include "keras/targets.h"
#include "keras_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

constexpr float kWeightTolerance = 1e-5f;

Model two_dense(const std::string& first = "a",
                const std::string& second = "b") {
  return Sequential({2}, {Dense({.units = 2, .name = first}), ReLU(),
                          Dense({.units = 2, .name = second})});
}

Tensor kernel(float start) {
  return Tensor::of<float>({2, 2}, {start, start + 1, start + 2, start + 3});
}
Tensor bias(float start) { return Tensor::of<float>({2}, {start, start + 1}); }

/// A file with these two layers and without architecture.
void write_two(const std::filesystem::path& path,
               const std::string& first = "a", const std::string& second = "b",
               const Tensor& last = bias(40)) {
  KerasFile("")
      .layer(first, {{"kernel:0", kernel(10)}, {"bias:0", bias(20)}})
      .layer(second, {{"kernel:0", kernel(30)}, {"bias:0", last}})
      .write(path);
}

std::vector<float> all_values(const Model& model) {
  std::vector<float> result;
  for (const Parameter& p : model.parameters()) {
    for (const float v : values(p.variable)) result.push_back(v);
  }
  return result;
}

const std::vector<float> kLoaded{10, 11, 12, 13, 20, 21,
                                 30, 31, 32, 33, 40, 41};

TEST(KerasWeights, FindTheirLayersByName) {
  const TempFolder folder;
  Model model = two_dense();
  write_two(folder / "w.h5");
  load_keras_weights(model, folder / "w.h5");
  EXPECT_EQ(all_values(model), kLoaded);
  // At any position in the file.
  Model other = two_dense("b", "a");
  load_keras_weights(other, folder / "w.h5");
  EXPECT_EQ(values(other.layer("a").parameter("kernel").variable),
            values(kernel(10)));
}

TEST(KerasWeights, FindTheirLayersByOrderOnRequest) {
  const TempFolder folder;
  Model model = two_dense("x", "y");
  write_two(folder / "w.h5");
  EXPECT_EQ(failure_of<FormatError>(
                [&] { load_keras_weights(model, folder / "w.h5"); }),
            (Failure{"unknown_name", "layers with weights"}));
  load_keras_weights(model, folder / "w.h5", {.match = KerasMatch::by_order});
  EXPECT_EQ(all_values(model), kLoaded);
  Model three = Sequential(
      {2}, {Dense({.units = 2}), Dense({.units = 2}), Dense({.units = 2})});
  EXPECT_EQ(failure_of<FormatError>([&] {
              load_keras_weights(three, folder / "w.h5",
                                 {.match = KerasMatch::by_order});
            }),
            (Failure{"count_mismatch", "layers with weights"}));
}

TEST(KerasWeights, AreAssignedAllOrNone) {
  const TempFolder folder;
  Model model = two_dense();
  const std::vector<float> before = all_values(model);
  const auto refusal = [&](const Tensor& last) {
    write_two(folder / "w.h5", "a", "b", last);
    return failure_of<FormatError>(
        [&] { load_keras_weights(model, folder / "w.h5"); });
  };
  EXPECT_EQ(refusal(Tensor::zeros({3})),
            (Failure{"shape_mismatch", "'/model_weights/b/b/bias:0'"}));
  EXPECT_EQ(refusal(Tensor::of<float>({2}, {1, INFINITY})),
            (Failure{"not_finite", "values"}));
  KerasFile("")
      .layer("a", {{"kernel:0", kernel(10)}, {"bias:0", bias(20)}})
      .layer("b", {{"kernel:0", kernel(30)}})
      .write(folder / "w.h5");
  EXPECT_EQ(failure_of<FormatError>(
                [&] { load_keras_weights(model, folder / "w.h5"); }),
            (Failure{"count_mismatch", "weights of layer 'b' (Dense)"}));
  EXPECT_EQ(all_values(model), before);
}

TEST(KerasWeights, OfABackboneFitUnderANewHead) {
  const TempFolder folder;
  write_two(folder / "w.h5", "a", "old_head");
  Model model = two_dense("a", "new_head");
  const std::vector<float> head =
      values(model.layer("new_head").parameter("kernel").variable);
  EXPECT_EQ(failure_of<FormatError>(
                [&] { load_keras_weights(model, folder / "w.h5"); }),
            (Failure{"unknown_name", "layers with weights"}));
  load_keras_weights(model, folder / "w.h5", {.partial = true});
  EXPECT_EQ(values(model.layer("a").parameter("kernel").variable),
            values(kernel(10)));
  EXPECT_EQ(values(model.layer("new_head").parameter("kernel").variable), head);
}

TEST(KerasWeights, AreMatchedByNameInAnyOrder) {
  const TempFolder folder;
  Model model = two_dense();
  KerasFile("")
      .layer("a", {{"bias:0", bias(20)}, {"kernel:0", kernel(10)}})
      .layer("b", {{"b", bias(40)}, {"W", kernel(30)}})
      .write(folder / "w.h5");
  load_keras_weights(model, folder / "w.h5");
  EXPECT_EQ(all_values(model), kLoaded);
}

/// functional() of make_keras_golden.py with Octet's layers.
Model functional() {
  const auto image = input({6, 5, 3}, "image");
  SymbolicTensor y = Conv2D({.filters = 4, .name = "conv1"})(image);
  y = BatchNormalization({.name = "bn1"})(y);
  y = Conv2D({.filters = 4,
              .strides = {2, 2},
              .padding = Padding::same,
              .name = "conv2"})(y);
  Model encoder(image, y, {.name = "encoder"});
  const auto picture = input({6, 5, 3}, "picture");
  Model middle(
      picture,
      Activation({.activation = "relu", .name = "act"})(encoder(picture)),
      {.name = "middle"});
  const auto a = input({6, 5, 3}, "a");
  const auto b = input({6, 5, 3}, "b");
  const auto x = middle(a);
  y = middle(b);
  const Conv2D shared({.filters = 4, .kernel_size = {1, 1}, .name = "shared"});
  const LeakyReLU leaky({.negative_slope = 0.125f});
  auto z = Add()({leaky(shared(x)), leaky(shared(y))});
  auto w = Add()({Rescaling({.scale = {2}})(x), y});
  w = Rescaling({.scale = {-0.25f}, .offset = {1.5f}})(w);
  z = Concatenate()({z, w});
  const auto features = input({2, 2, 8}, "features");
  Model head(features,
             Dense({.units = 6, .activation = "tanh", .name = "dense_in_head"})(
                 Flatten()(features)),
             {.name = "head"});
  z = head(z);
  auto t = Reshape({.target_shape = {3, 2}})(z);
  t = Dense({.units = 8, .activation = "hard_sigmoid", .name = "wide"})(t);
  t = multi_head_attention(
      t, t,
      {.num_heads = 2, .key_dim = 3, .value_dim = 5, .name = "attention"});
  t = LayerNormalization({.name = "norm"})(t);
  z = Dense({.units = 3, .activation = "softmax", .name = "scores"})(z);
  return Model({a, b}, {t, z}, {.name = "outer"});
}

class KerasWeightFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(KerasWeightFiles, FitAModelBuiltWithOctet) {
  Model model = functional();
  load_keras_weights(model, keras_golden(GetParam()));
  const std::string name = GetParam();
  expect_computes(model, keras_case(name.substr(0, name.find('.'))),
                  kWeightTolerance);
}

// Keras 2 has another hard_sigmoid; its weights are compared below.
INSTANTIATE_TEST_SUITE_P(Files, KerasWeightFiles,
                         ::testing::Values("k3_functional.h5",
                                           "k3_functional.keras",
                                           "k3_functional.legacy_weights.h5",
                                           "k3_functional.weights.h5"),
                         [](const auto& file) {
                           std::string name = file.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

TEST(KerasWeights, OfKeras2FitAModelBuiltWithOctet) {
  Model model = functional();
  load_keras_weights(model, keras_golden("k2_functional.legacy_weights.h5"));
  const Model read = load_keras(keras_golden("k2_functional.h5"));
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) {
      EXPECT_EQ(values(p.variable),
                values(read.layer(layer->name()).parameter(p.name).variable))
          << layer->name() << "/" << p.name;
    }
  }
}

/// Two blocks with a long and a short branch, created branch by branch.
Model branches(bool names_of_keras) {
  const auto name = [&](const char* keras) {
    return names_of_keras ? std::string(keras) : std::string();
  };
  const auto image = input({6, 6, 2}, "x");
  auto stem = image;
  const char* kNames[2][3] = {{"s1_shortcut", "s1_first", "s1_second"},
                              {"s2_shortcut", "s2_first", "s2_second"}};
  for (const auto& names : kNames) {
    const auto x = Conv2D(
        {.filters = 2, .kernel_size = {1, 1}, .name = name(names[0])})(stem);
    auto y = Conv2D(
        {.filters = 2, .padding = Padding::same, .name = name(names[1])})(stem);
    y = Conv2D({.filters = 2, .kernel_size = {1, 1}, .name = name(names[2])})(
        y);
    stem = Add()({x, y});
  }
  return Model(image, stem);
}

TEST(KerasWeights, WithoutNamesAreInTheOrderOfKeras) {
  // The short and the second convolution have equal shapes: a wrong order would
  // be accepted.
  const Model model = branches(true);
  std::vector<std::string> order;
  for (const TargetLayer& layer : targets_of(model)) {
    if (has_weights(layer)) order.push_back(layer.name);
  }
  EXPECT_THAT(order, ElementsAre("s1_first", "s1_shortcut", "s1_second",
                                 "s2_first", "s2_shortcut", "s2_second"));
  for (const bool names_of_keras : {true, false}) {
    Model unnamed = branches(names_of_keras);
    load_keras_weights(unnamed, keras_golden("k30_branches.weights.h5"));
    expect_computes(unnamed, keras_case("k30_branches"), kWeightTolerance);
  }
}

TEST(KerasWeights, OfKeras3AreMatchedByOrderIfNamesDiffer) {
  const Model model = load_keras(keras_golden("k3_bfloat16.keras"));
  Model other = Sequential({5}, {Dense({.units = 4}), Dense({.units = 2})});
  EXPECT_EQ(failure_of<FormatError>([&] {
              load_keras_weights(other, keras_golden("k3_bfloat16.keras"));
            }),
            (Failure{"unknown_name", "weights of layer 'dense' (Dense)"}));
  load_keras_weights(other, keras_golden("k3_bfloat16.keras"),
                     {.match = KerasMatch::by_order});
  EXPECT_EQ(all_values(other), all_values(model));
}

TEST(KerasWeights, OfKeras3MustFitTheModel) {
  const auto refusal = [&](Model model) {
    return failure_of<FormatError>([&] {
      load_keras_weights(model, keras_golden("k30_branches.weights.h5"));
    });
  };
  EXPECT_EQ(refusal(two_dense()),
            (Failure{"malformed_file", "weights of layer 'a' (Dense)"}));
  const auto image = input({6, 6, 2}, "x");
  EXPECT_EQ(
      refusal(Model(image, Conv2D({.filters = 2, .name = "only"})(image))),
      (Failure{"unknown_name", "'layers/conv2d_1'"}));
  EXPECT_EQ(refusal(Model(image, Conv2D({.filters = 3, .name = "c"})(
                                     Conv2D({.filters = 2})(image)))),
            (Failure{"unknown_name", "'layers/conv2d_2'"}));
}

TEST(KerasWeights, NeedAFileWithWeights) {
  const TempFolder folder;
  Hdf5Writer writer;
  writer.attribute("", "title", "nothing of Keras");
  write_file(folder / "w.h5", writer.finish());
  Model model = two_dense();
  EXPECT_EQ(failure_of<FormatError>(
                [&] { load_keras_weights(model, folder / "w.h5"); }),
            (Failure{"malformed_file", "layer_names"}));
}

}  // namespace
}  // namespace octet::io
