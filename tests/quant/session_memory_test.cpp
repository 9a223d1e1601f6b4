// Memory of sessions: all of it is planned at construction.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/inference_session.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/ops.h>

#include "../session_allocations.h"
#include "small_networks.h"

namespace octet {
namespace {

#ifndef OCTET_SANITIZED

class SessionMemory : public testing::TestWithParam<std::string> {};

TEST_P(SessionMemory, IsAllocatedAtConstruction) {
  const zoo::Entry& entry = zoo::entry(GetParam());
  Shape sample = entry.input;
  if (sample[0] > 128) sample = {96, 80, 3};
  if (entry.name == "inception_v3") sample = {96, 91, 3};
  if (entry.name == "vit_tiny") sample = entry.input;
  const Model model = zoo::make(entry.name, {.input = sample});
  expect_no_allocations(model);
  Model int8 = quant::quantize_model(model);
  (void)quant::calibrate(int8, [&](const Model& m) {
    (void)m.predict(noise(model.inputs()[0].shape().with(0, 2)));
  });
  expect_no_allocations(int8);
}

INSTANTIATE_TEST_SUITE_P(Zoo, SessionMemory,
                         testing::ValuesIn(small_networks()),
                         [](const auto& name_of) { return name_of.param; });

// Layers that are no part of the zoo's networks.
TEST(SessionMemory, IsPlannedForEveryKindOfLayer) {
  const SymbolicTensor x = input({8, 6, 4}, "x");
  const SymbolicTensor conv =
      Conv2D({.filters = 6, .padding = Padding::same})(x);
  SymbolicTensor y = GroupNormalization({.groups = 3})(conv);
  y = Multiply()({y, Constant({.value = noise({8, 6, 6})})(x)});
  y = Concatenate()({y, UpSampling2D({.size = 2})(AveragePooling2D()(conv))});
  y = Softmax({.axis = 1})(Permute({.dims = {2, 1, 3}})(y));
  y = Conv2DTranspose({.filters = 5, .strides = 2})(y);
  y = DepthwiseConv2D({.depth_multiplier = 2})(Cropping2D({.cropping = 2})(y));
  y = LayerNormalization()(Reshape({.target_shape = {-1, 10}})(y));
  y = multi_head_attention(y, y,
                           {.num_heads = 2, .key_dim = 4, .causal = true});
  y = Add()({y, RMSNormalization()(y)});
  y = UnitNormalization()(PReLU()(y));
  const SymbolicTensor pooled = GlobalAveragePooling1D()(y);
  const Model model({x}, {y, pooled, Flatten()(conv)});
  expect_no_allocations(model);
  Model int8 = quant::quantize_model(model);
  (void)quant::calibrate(int8, [&](const Model& m) {
    (void)m.predict(std::vector<Tensor>{noise({2, 8, 6, 4})});
  });
  expect_no_allocations(int8);
}

#endif

TEST(SessionMemory, OfOutputsMustFit) {
  const Model net = zoo::resnet8();
  const InferenceSession session(net);
  const std::vector<Tensor> x{noise({2, 32, 32, 3})};
  std::vector<Tensor> y{Tensor({2, 10})};
  session.run_into(x, y);
  EXPECT_EQ(bits(y[0]), bits(session.run(x[0])));
  std::vector<Tensor> other{Tensor({1, 10})};
  EXPECT_EQ(failure_of<ShapeError>([&] { session.run_into(x, other); }),
            (Failure{"shape_mismatch", "output 0"}));
  std::vector<Tensor> none;
  EXPECT_THROW(session.run_into(x, none), ValueError);
}

}  // namespace
}  // namespace octet
