// Networks with a new classifier.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>

#include "tests/support.h"

namespace octet {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

SymbolicTensor transfer_body(const SymbolicTensor& x) {
  return ReLU({.name = "relu"})(BatchNormalization({.name = "bn"})(
      Conv2D({.filters = 6, .kernel_size = {3, 3}, .name = "conv"})(x)));
}

Tensor transfer_images() {
  Tensor x({3, 7, 5, 2});
  Rng(4).fill_uniform(x, -1, 1);
  return x;
}

TEST(WithClassifier, ReplacesTheLastDenseAndItsSoftmax) {
  const auto x = input({7, 5, 2}, "x");
  const auto h = GlobalAveragePooling2D({.name = "pool"})(transfer_body(x));
  const Model model(
      x,
      Softmax()(Dropout({.rate = 0.5f})(Dense({.units = 9, .name = "fc"})(h))));
  EXPECT_EQ(classifier_of(model), "fc");
  const Model changed = with_classifier(model, 4, {.seed = 3});
  EXPECT_EQ(changed.outputs()[0].shape(), Shape({Shape::kAnySize, 4}));
  EXPECT_EQ(changed.outputs()[0].node->layer->class_name(), "Dense");
  EXPECT_EQ(classifier_of(changed), "fc");
  EXPECT_EQ(changed.name(), model.name());
  // The features have the same bits.
  const Tensor images = transfer_images();
  const auto features = [&](const Model& of) {
    const Model part(of.inputs()[0], of.output("pool"));
    return values(part.predict(images));
  };
  EXPECT_THAT(features(changed), ElementsAreArray(features(model)));
  // Seeds and the units determine the new weights, which are not zero.
  const auto kernel = [](const Model& of) {
    return values(of.state_dict().at("fc.kernel"));
  };
  EXPECT_EQ(kernel(changed), kernel(with_classifier(model, 4, {.seed = 3})));
  EXPECT_NE(kernel(changed), kernel(with_classifier(model, 4, {.seed = 4})));
  EXPECT_EQ(kernel(changed).size(), 24u);
}

TEST(WithClassifier, IsIndependentOfTheModel) {
  const auto x = input({7, 5, 2}, "x");
  Model model(x,
              Dense({.units = 9, .name = "fc"})(Flatten()(transfer_body(x))));
  model.set_trainable("conv", false);
  Model changed = with_classifier(model, 2, {.name = "head"});
  EXPECT_EQ(classifier_of(changed), "head");
  EXPECT_FALSE(changed.layer("conv").trainable());
  changed.state_dict().at("conv.kernel").f32()[0] += 1;
  EXPECT_NE(values(changed.state_dict().at("conv.kernel")),
            values(model.state_dict().at("conv.kernel")));
  EXPECT_EQ(model.outputs()[0].shape()[1], 9);
}

TEST(WithClassifier, ReplacesAConvolutionOfOnePixel) {
  const auto x = input({7, 5, 2}, "x");
  const auto conv = [](int64_t filters) {
    return Conv2D(
        {.filters = filters, .kernel_size = {1, 1}, .name = "classes"});
  };
  // MobileNet: pooled features [1,1,c].
  const auto pooled = Reshape({.target_shape = {1, 1, 6}})(
      GlobalAveragePooling2D()(transfer_body(x)));
  const Model mobile(x, Softmax()(Flatten()(conv(9)(pooled))));
  EXPECT_EQ(with_classifier(mobile, 3).outputs()[0].shape()[1], 3);
  // SqueezeNet: the classes are pooled. Both orders give the same logits.
  const Model squeeze(x, GlobalAveragePooling2D()(conv(3)(transfer_body(x))));
  Model changed = with_classifier(squeeze, 3);
  StateDict state = squeeze.state_dict();
  state["classes.kernel"] = state.at("classes.kernel").reshaped({6, 3});
  changed.load_state_dict(state);
  const Tensor images = transfer_images();
  const Tensor a = squeeze.predict(images), b = changed.predict(images);
  for (size_t i = 0; i < a.f32().size(); ++i) {
    EXPECT_NEAR(a.f32()[i], b.f32()[i], 1e-5f);
  }
}

TEST(WithClassifier, RejectsOtherModels) {
  const auto x = input({7, 5, 2}, "x");
  const auto h = transfer_body(x);
  const auto refusal = [](const Model& model) {
    try {
      (void)with_classifier(model, 2);
    } catch (const ValueError& error) {
      EXPECT_EQ(error.code(), "unsupported_model");
      return std::string(error.text());
    }
    return std::string("accepted");
  };
  const auto dense = [&](const SymbolicTensor& features) {
    return Dense({.units = 3})(features);
  };
  EXPECT_THAT(refusal(Model(x, h)), HasSubstr("[N,5,3,6]"));
  EXPECT_THAT(refusal(Model(x, GlobalAveragePooling2D()(h))),
              HasSubstr("BatchNormalization 'bn'"));
  const auto flat = Flatten()(h);
  EXPECT_THAT(refusal(Model({x}, {dense(flat), dense(flat)})),
              HasSubstr("2 outputs"));
  EXPECT_THAT(
      refusal(Model(x, Add({.name = "sum"})({dense(flat), dense(flat)}))),
      HasSubstr("Add 'sum'"));
  const Model model(x, dense(flat));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)with_classifier(model, 0); }),
            (Failure{"out_of_range", "with_classifier"}));
}

}  // namespace
}  // namespace octet
