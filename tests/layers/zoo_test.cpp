// The zoo's table, options and errors, and the outputs of its networks.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/zoo.h>

#include "../facts.h"
#include "support.h"

namespace octet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

int64_t count(const Model& model, std::string_view class_name) {
  return std::ranges::count_if(model.layers(), [&](const auto& layer) {
    return layer->class_name() == class_name;
  });
}

Tensor one_sample(const Shape& input) {
  std::vector<int64_t> dims{1};
  for (const int64_t dim : input.dims()) dims.push_back(dim);
  return noise(Shape(dims));
}

TEST(Zoo, ListsEveryNetworkOnce) {
  std::vector<std::string> names;
  for (const zoo::Entry& entry : zoo::entries()) {
    names.emplace_back(entry.name);
    EXPECT_FALSE(entry.description.empty()) << entry.name;
    EXPECT_EQ(zoo::entry(entry.name).make, entry.make);
  }
  EXPECT_EQ(names.size(), 28u);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(Zoo, ListsTheirNumbersOfParameters) {
  for (const zoo::Entry& entry : zoo::entries()) {
    EXPECT_EQ(zoo::make(entry.name).parameter_count(), entry.parameters)
        << entry.name;
  }
}

TEST(Zoo, BuildsEveryNetworkForOtherInputsAndClasses) {
  for (const zoo::Entry& entry : zoo::entries()) {
    // Multiples of 16, as U-Net and ViT require; height != width.
    zoo::Options options{.input = {96, 80, 2}};
    if (entry.input.rank() == 2) options.input = {33, 39};
    if (entry.name == "inception_v3") options.input = {97, 107, 2};
    if (entry.classes > 0) options.classes = 7;
    const Model model = entry.make(options);
    EXPECT_EQ(model.name(), entry.name);
    const Shape& output = model.outputs()[0].shape();
    if (entry.classes > 0) {
      EXPECT_EQ(output[-1], 7) << entry.name;
    }
    EXPECT_EQ(output.rank(), entry.name == "unet" ? 4 : 2) << entry.name;
  }
}

TEST(Zoo, RunsSmallNetworksToFiniteLogits) {
  for (const char* name : {"lenet", "resnet8", "ds_cnn", "otho", "lotho",
                           "lobelia", "frodo", "sam", "merry", "pippin"}) {
    const Model model = zoo::make(name);
    const Tensor y = model.predict(one_sample(zoo::entry(name).input));
    EXPECT_TRUE(std::ranges::all_of(y.f32(), [](float v) {
      return std::isfinite(v);
    })) << name;
    EXPECT_TRUE(std::ranges::any_of(y.f32(), [](float v) { return v != 0; }))
        << name;
  }
}

TEST(Zoo, RunsLargeTopologiesOnSmallImages) {
  const std::vector<std::pair<std::string, zoo::Options>> small{
      {"mobilenet", {.input = {33, 32, 3}, .classes = 5, .alpha = 0.25}},
      {"mobilenet_v1_025", {.input = {48, 32, 3}}},
      {"mobilenet_v2", {.input = {33, 48, 3}, .classes = 5, .alpha = 0.35}},
      {"efficientnet_b0", {.input = {33, 32, 3}, .classes = 5}},
      {"densenet121", {.input = {33, 48, 3}, .classes = 5}},
      {"resnet18", {.input = {33, 48, 3}, .classes = 5}},
      {"resnet50_v2", {.input = {33, 48, 3}, .classes = 5}},
      {"inception_v3", {.input = {75, 80, 3}, .classes = 5}},
      {"vit_tiny", {.input = {32, 48, 3}, .classes = 5}},
      {"vit_tiny",
       {.input = {28, 20, 1}, .classes = 5, .alpha = 0.25, .patch_size = 4}},
      {"densenet40", {.input = {28, 20, 1}, .classes = 5}},
      {"inception_small", {.input = {28, 20, 1}, .classes = 5, .alpha = 0.25}},
      {"unet", {.input = {16, 24, 3}, .classes = 5}},
  };
  for (const auto& [name, options] : small) {
    const Model model = zoo::make(name, options);
    const Tensor y = model.predict(one_sample(options.input));
    EXPECT_TRUE(std::ranges::all_of(y.f32(), [](float v) {
      return std::isfinite(v);
    })) << name;
  }
}

TEST(Zoo, TrainsNetworksWithDropout) {
  Model model =
      zoo::make("efficientnet_b0", {.input = {32, 48, 3}, .classes = 3});
  const Variable y = model(Variable(noise({2, 32, 48, 3})), Mode::training);
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
}

TEST(Zoo, NamesResNet8AsMlperfTiny) {
  const Model model = zoo::resnet8();
  EXPECT_THAT(
      names(model),
      ElementsAre("input_layer", "conv2d", "batch_normalization", "activation",
                  "conv2d_1", "batch_normalization_1", "activation_1",
                  "conv2d_2", "batch_normalization_2", "add", "activation_2",
                  "conv2d_3", "batch_normalization_3", "activation_3",
                  "conv2d_4", "batch_normalization_4", "conv2d_5", "add_1",
                  "activation_4", "conv2d_6", "batch_normalization_5",
                  "activation_5", "conv2d_7", "batch_normalization_6",
                  "conv2d_8", "add_2", "activation_6", "average_pooling2d",
                  "flatten", "dense"));
  EXPECT_EQ(model.layer("conv2d_5").parameter("kernel").variable.shape(),
            (Shape{1, 1, 16, 32}));
  EXPECT_EQ(model.layer("conv2d_8").parameter("kernel").variable.shape(),
            (Shape{1, 1, 32, 64}));
}

TEST(Zoo, ShapesDsCnnAsMlperfTiny) {
  const Model model = zoo::ds_cnn();
  EXPECT_EQ(model.layer("conv2d").parameter("kernel").variable.shape(),
            (Shape{10, 4, 1, 64}));
  EXPECT_EQ(model.layer("depthwise_conv2d_3")
                .parameter("depthwise_kernel")
                .variable.shape(),
            (Shape{3, 3, 64, 1}));
  EXPECT_EQ(model.layer("dense").parameter("kernel").variable.shape(),
            (Shape{64, 12}));
  EXPECT_EQ(count(model, "Activation"), 9);
  EXPECT_EQ(count(model, "Dropout"), 2);
  for (const auto& node : model.nodes()) {
    if (node->layer->name() == "conv2d") {
      EXPECT_EQ(node->shape, (Shape{Shape::kAnySize, 25, 5, 64}));
    }
  }
}

TEST(Zoo, NamesTheTestNetworksOfTheToolkit) {
  EXPECT_THAT(names(zoo::otho()),
              ElementsAre("input_layer", "reshape_0", "conv_0", "relu_0",
                          "conv_1", "relu_1", "flatten_0"));
  EXPECT_THAT(names(zoo::lotho()),
              ElementsAre("input_layer", "reshape_0", "dconv_0", "relu_0",
                          "dconv_1", "relu_1", "flatten_0"));
  EXPECT_THAT(names(zoo::lobelia()),
              ElementsAre("input_layer", "reshape_0", "flatten_0", "dense_0",
                          "relu_0", "dense_1"));
  EXPECT_THAT(
      names(zoo::bilbo()),
      ElementsAre("input_layer", "reshape_0", "conv_0", "relu_0", "conv_1",
                  "relu_1", "conv_2", "relu_2", "conv_3", "relu_3", "conv_4",
                  "relu_4", "conv_5", "relu_5", "conv_6", "relu_6",
                  "max_pool_0", "flatten_0", "dense_0", "relu_7", "dense_1"));
  EXPECT_THAT(
      names(zoo::frodo()),
      ElementsAre("input_layer", "conv2d", "re_lu", "conv2d_1", "re_lu_1",
                  "max_pooling2d", "conv2d_2", "re_lu_2", "conv2d_3", "add",
                  "re_lu_3", "conv2d_4", "re_lu_4", "conv2d_5", "conv2d_6",
                  "add_1", "re_lu_5", "max_pooling2d_1", "flatten", "dense",
                  "re_lu_6", "dense_1"));
  EXPECT_THAT(
      names(zoo::merry()),
      ElementsAre("input_layer", "reshape", "conv2d", "batch_normalization",
                  "re_lu", "conv2d_1", "batch_normalization_1", "re_lu_1",
                  "conv2d_2", "batch_normalization_2", "re_lu_2", "conv2d_3",
                  "conv2d_4", "batch_normalization_3", "re_lu_3", "concatenate",
                  "max_pooling2d", "flatten", "dense", "re_lu_4", "dense_1"));
  EXPECT_THAT(
      names(zoo::pippin()),
      ElementsAre("input_layer", "reshape", "conv2d", "batch_normalization",
                  "re_lu", "conv2d_1", "batch_normalization_1", "re_lu_1",
                  "conv2d_2", "batch_normalization_2", "re_lu_2", "conv2d_3",
                  "batch_normalization_3", "add", "re_lu_3", "conv2d_4",
                  "batch_normalization_4", "re_lu_4", "conv2d_5",
                  "batch_normalization_5", "conv2d_6", "batch_normalization_6",
                  "add_1", "re_lu_5", "max_pooling2d", "flatten", "dense",
                  "re_lu_6", "dense_1"));
  const std::vector<std::string> sam = names(zoo::sam());
  EXPECT_EQ(sam.size(), 26u);
  EXPECT_EQ(sam.back(), "dense_1");
  EXPECT_EQ(count(zoo::sam(), "Conv2D"), 9);
}

TEST(Zoo, PlacesShortcutConvolutionsAsTheToolkit) {
  // The toolkit's residual case leaves the first listed branch of Conv and
  // normalization without Q/DQ.
  EXPECT_THAT(predecessors(zoo::pippin(), "add"),
              ElementsAre("batch_normalization_3", "re_lu_1"));
  EXPECT_THAT(predecessors(zoo::pippin(), "add_1"),
              ElementsAre("batch_normalization_5", "batch_normalization_6"));
  const Model resnet = zoo::resnet50({.input = {32, 32, 3}});
  EXPECT_THAT(predecessors(resnet, "conv2_block1_add"),
              ElementsAre("conv2_block1_0_bn", "conv2_block1_3_bn"));
  EXPECT_THAT(predecessors(resnet, "conv2_block2_add"),
              ElementsAre("conv2_block1_out", "conv2_block2_3_bn"));
  EXPECT_THAT(
      predecessors(zoo::efficientnet_b0({.input = {32, 32, 3}}), "block2b_add"),
      ElementsAre("block2b_drop", "block2a_project_bn"));
}

TEST(Zoo, PassesOptionsToTheModel) {
  const Model plain = zoo::lenet({.seed = 3, .name = "digits"});
  EXPECT_EQ(plain.name(), "digits");
  EXPECT_EQ(weight_bits(plain), weight_bits(zoo::lenet({.seed = 3})));
  EXPECT_NE(weight_bits(plain), weight_bits(zoo::lenet({.seed = 4})));
}

TEST(Zoo, PenalizesKernelsOnly) {
  for (const char* name : {"ds_cnn", "efficientnet_b0", "unet", "vit_tiny"}) {
    const Model model = zoo::make(name, {.input = {32, 48, 3}, .l2 = 1e-4f});
    for (const auto& layer : model.layers()) {
      for (const Parameter& p : layer->parameters()) {
        const bool kernel = p.name == "kernel" || p.name == "depthwise_kernel";
        EXPECT_EQ(p.regularizer.l2, kernel ? 1e-4f : 0.0f)
            << layer->name() << "/" << p.name;
      }
    }
  }
}

TEST(Zoo, ScalesTheWidthWithAlpha) {
  // Source: keras.applications.MobileNet(alpha=0.25) and
  // MobileNetV2(alpha=0.35 and 1.4), weights=None.
  EXPECT_EQ(zoo::mobilenet({.alpha = 0.25}).parameter_count(), 475'544);
  EXPECT_EQ(zoo::mobilenet_v2({.alpha = 0.35}).parameter_count(), 1'691'208);
  EXPECT_EQ(zoo::mobilenet_v2({.alpha = 1.4}).parameter_count(), 6'156'712);
  // Source: Touvron et al., arXiv 2012.12877, table 1: DeiT-S and DeiT-B.
  EXPECT_EQ(zoo::vit_tiny({.alpha = 2}).parameter_count(), 22'050'664);
}

TEST(Zoo, RoundsFiltersOfANarrowBilboDown) {
  const Model model = zoo::bilbo({.alpha = 1.0 / 8});
  std::vector<int64_t> filters;
  for (const auto& layer : model.layers()) {
    if (layer->class_name() != "Conv2D") continue;
    filters.push_back(layer->parameter("kernel").variable.shape()[3]);
  }
  EXPECT_THAT(filters, ElementsAre(64, 31, 15, 8, 4, 2, 1));
  EXPECT_EQ(failure_of<ValueError>([] { (void)zoo::bilbo({.alpha = 0.1}); }),
            (Failure{"out_of_range", "filters"}));
}

TEST(Zoo, SuggestsNamesForAnUnknownNetwork) {
  const Failure failure =
      failure_of<NotFoundError>([] { (void)zoo::make("mobilenet_v3"); });
  EXPECT_EQ(failure, (Failure{"unknown_name", "zoo"}));
  EXPECT_EQ(quoted_names(failure.text()).at(1), "mobilenet_v2");
  EXPECT_EQ(failure_of<NotFoundError>([] { (void)zoo::make(""); }),
            (Failure{"unknown_name", "zoo"}));
}

TEST(Zoo, RejectsUnsupportedOptions) {
  EXPECT_EQ(failure_of<ValueError>([] { (void)zoo::lenet({.patch_size = 4}); }),
            (Failure{"unsupported_value", "patch_size"}));
  EXPECT_EQ(
      failure_of<ShapeError>([] { (void)zoo::vit_tiny({.patch_size = 15}); }),
      (Failure{"invalid_shape", "input"}));
  EXPECT_EQ(failure_of<ValueError>([] { (void)zoo::resnet50({.alpha = 0.5}); }),
            (Failure{"unsupported_value", "alpha"}));
  EXPECT_EQ(failure_of<ValueError>([] { (void)zoo::otho({.classes = 3}); }),
            (Failure{"unsupported_value", "classes"}));
  EXPECT_EQ(failure_of<ValueError>([] { (void)zoo::lenet({.classes = -1}); }),
            (Failure{"out_of_range", "classes"}));
  EXPECT_EQ(failure_of<ValueError>([] { (void)zoo::mobilenet({.alpha = -1}); }),
            (Failure{"out_of_range", "alpha"}));
  EXPECT_EQ(
      failure_of<ValueError>([] { (void)zoo::mobilenet({.alpha = 0.001}); }),
      (Failure{"out_of_range", "filters"}));
  const Failure failure =
      failure_of<ValueError>([] { (void)zoo::lenet({.l2 = -1}); });
  EXPECT_EQ(failure, (Failure{"out_of_range", "l2"}));
  EXPECT_THAT(failure.context, Contains("in network 'lenet'"));
}

TEST(Zoo, NamesTheLayerThatAnInputIsTooSmallFor) {
  const Failure failure = failure_of<ShapeError>([] {
    (void)zoo::inception_v3({.input = {64, 64, 3}});
  });
  EXPECT_EQ(failure, (Failure{"invalid_shape", "input"}));
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)zoo::lenet({.input = {28, 28}});
            }),
            (Failure{"invalid_shape", "input"}));
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)zoo::otho({.input = {28, 28, 1}});
            }),
            (Failure{"invalid_shape", "input"}));
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)zoo::unet({.input = {20, 24, 3}});
            }),
            (Failure{"invalid_shape", "input"}));
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)zoo::vit_tiny({.input = {224, 200, 3}});
            }),
            (Failure{"invalid_shape", "input"}));
}

}  // namespace
}  // namespace octet
