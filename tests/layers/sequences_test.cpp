// Layers over sequences [n,l,c]: explicit padding, which Keras lacks,
// independence of the number of channels, and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/ops.h>

#include "../facts.h"
#include "support.h"

namespace octet {
namespace {

TEST(Padding1D, CausalPrecedesTheSequence) {
  EXPECT_EQ(Padding1D::causal.pads(10, 4, 1, 1), Ends(3, 0));
  EXPECT_EQ(Padding1D::causal.pads(10, 3, 2, 4), Ends(8, 0));
  EXPECT_EQ(Padding1D::valid.pads(10, 3, 1, 1), Ends());
  EXPECT_EQ(Padding1D::same.pads(7, 2, 2, 1), Ends(0, 1));
  EXPECT_EQ(Padding1D(1, 2).pads(7, 2, 2, 1), Ends(1, 2));
  EXPECT_EQ(Padding1D(3).pads(7, 2, 2, 1), Ends(3, 3));
}

TEST(Conv1D, SuggestsTheNearestPadding) {
  const Failure failure = failure_of<ValueError>(
      [] { Conv1D({.filters = 2, .padding = "casual", .name = "wave"}); });
  EXPECT_EQ(failure, (Failure{"invalid_value", "padding"}));
  EXPECT_EQ(quoted_names(failure.text()).back(), "causal");
}

// Outputs do not depend on later inputs.
TEST(Conv1D, WithCausalPaddingIgnoresFutureSteps) {
  const Conv1D layer({.filters = 3,
                      .kernel_size = 3,
                      .padding = "causal",
                      .dilation_rate = 2});
  const Model model = single(layer, {11, 2});
  const Tensor x = integers({1, 11, 2});
  Tensor changed = x.clone();
  for (int64_t i = 7 * 2; i < x.size(); ++i) {
    changed.f32()[static_cast<size_t>(i)] += 5;
  }
  const Tensor y = model.predict(x);
  const Tensor z = model.predict(changed);
  for (size_t i = 0; i < y.f32().size(); ++i) {
    EXPECT_EQ(y.f32()[i] == z.f32()[i], i < 7 * 3) << i;
  }
}

// Bit-identical to Conv2D with the same weights on an image with a single row,
// including strides with dilation, which Keras rejects.
TEST(Conv1D, EqualsConv2DOnASingleRow) {
  for (const int64_t groups : {1, 3}) {
    const Conv1D layer({.filters = 6,
                        .kernel_size = 3,
                        .strides = 2,
                        .padding = {4, 1},
                        .dilation_rate = 3,
                        .groups = groups});
    const Conv2D image({.filters = 6,
                        .kernel_size = {1, 3},
                        .strides = {1, 2},
                        .padding = Pads({0, 0}, {4, 1}),
                        .dilation_rate = {1, 3},
                        .groups = groups});
    const Model model = single(layer, {17, 3});
    Model row = single(image, {1, 17, 3});
    shake(model);
    const Parameter& kernel = model.layers()[1]->parameter("kernel");
    EXPECT_EQ(kernel.variable.shape(), Shape({3, 3 / groups, 6}));
    const Tensor weights[] = {
        kernel.variable.value().reshaped({1, 3, 3 / groups, 6}),
        model.layers()[1]->parameter("bias").variable.value()};
    row.layers()[1]->set_parameters(weights);
    const Tensor x = noise({2, 17, 3});
    EXPECT_EQ(bits(model.predict(x)),
              bits(row.predict(x.reshaped({2, 1, 17, 3}))));
  }
}

template <class Call>
Failure failure(Call make) {
  return failure_of<Error>(make);
}

TEST(SequenceLayers, RejectImagesAndFeatures) {
  const std::vector<LayerHandle> layers{Conv1D({.filters = 2}),
                                        DepthwiseConv1D(),
                                        SeparableConv1D({.filters = 2}),
                                        MaxPooling1D(),
                                        AveragePooling1D(),
                                        GlobalMaxPooling1D(),
                                        GlobalAveragePooling1D(),
                                        ZeroPadding1D(),
                                        Cropping1D(),
                                        UpSampling1D(),
                                        SpatialDropout1D()};
  for (const LayerHandle& layer : layers) {
    for (const Shape& sample : {Shape{7, 5, 3}, Shape{7}}) {
      EXPECT_EQ(failure_of<ShapeError>([&] { (void)layer(input(sample)); }),
                (Failure{"invalid_shape", "input"}));
    }
  }
}

TEST(SequenceLayers, RejectInvalidOptionsAndInputs) {
  const SymbolicTensor x = input({4, 3});
  const auto conv = [&](const Conv1DOptions& o) {
    return failure([&] { (void)Conv1D{o}(x); });
  };
  const Failure too_small{"invalid_shape", "input"};
  EXPECT_EQ(conv({.filters = 2, .kernel_size = 5}), too_small);
  EXPECT_EQ(conv({.filters = 2, .kernel_size = 2, .dilation_rate = 4}),
            too_small);
  EXPECT_EQ(conv({.filters = 4, .groups = 2}),
            (Failure{"out_of_range", "groups"}));
  EXPECT_EQ(conv({.filters = 4, .groups = 3}),
            (Failure{"out_of_range", "groups"}));
  EXPECT_EQ(conv({.filters = 0}), (Failure{"out_of_range", "filters"}));
  EXPECT_EQ(conv({.filters = 1, .kernel_size = 0}),
            (Failure{"out_of_range", "kernel_size"}));
  EXPECT_EQ(conv({.filters = 1, .padding = {1, -1}}),
            (Failure{"out_of_range", "padding"}));
  EXPECT_EQ(failure([&] { (void)MaxPooling1D({.pool_size = 5})(x); }),
            (Failure{"invalid_shape", "input"}));
  EXPECT_EQ(failure([&] { MaxPooling1D({.padding = "causal"}); }),
            (Failure{"invalid_value", "padding"}));
  EXPECT_EQ(failure([&] {
              AveragePooling1D({.padding = {0, 2}});
            }),
            (Failure{"out_of_range", "padding"}));
  EXPECT_EQ(failure([&] { MaxPooling1D({.pool_size = 300}); }),
            (Failure{"unsupported_value", "pool_size"}));
  EXPECT_EQ(failure([&] {
              (void)Cropping1D({.cropping = {2, 2}})(x);
            }),
            (Failure{"out_of_range", "cropping"}));
  EXPECT_EQ(failure([&] { UpSampling1D({.size = 0}); }),
            (Failure{"out_of_range", "size"}));
}

TEST(SequenceLayers, AcceptASingleSampleStepAndChannel) {
  const Tensor x = Tensor::full({1, 1, 1}, 2);
  const LayerHandle layers[] = {Conv1D({.filters = 1, .padding = "causal"}),
                                DepthwiseConv1D({.padding = "same"}),
                                MaxPooling1D({.pool_size = 1}),
                                AveragePooling1D({.padding = "same"}),
                                ZeroPadding1D({.padding = 0}),
                                UpSampling1D({.size = 1})};
  for (const LayerHandle& layer : layers) {
    EXPECT_EQ(infer(layer, x).shape(), Shape({1, 1, 1}));
  }
}

// In training, whole channels of a sequence are dropped.
TEST(SpatialDropout1D, DropsWholeChannels) {
  Model model = single(SpatialDropout1D({.rate = 0.5f}), {9, 40});
  const Tensor y =
      model(Variable(Tensor::full({2, 9, 40}, 1)), Mode::training).value();
  int dropped = 0;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t c = 0; c < 40; ++c) {
      const auto at = [&](int64_t l) {
        return y.f32()[static_cast<size_t>((n * 9 + l) * 40 + c)];
      };
      for (int64_t l = 0; l < 9; ++l) EXPECT_EQ(at(l), at(0));
      dropped += at(0) == 0;
    }
  }
  EXPECT_GT(dropped, 20);
  EXPECT_LT(dropped, 60);
}

}  // namespace
}  // namespace octet
