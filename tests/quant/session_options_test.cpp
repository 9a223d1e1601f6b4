// Limits of a session: threads, samples and memory.
#include <algorithm>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/inference_session.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/system.h>

#include "../support.h"
#include "runtime/tensor/arena.h"

namespace octet {
namespace {

TEST(SessionOptions, LimitsThreads) {
  const ThreadCountGuard restored;
  set_num_threads(4);
  const Tensor x = noise({19, 32, 32, 3});
  const Model net = zoo::resnet8();
  const auto expected = bits(InferenceSession(net).run(x));
  for (const int threads : {0, 1, 2, 9}) {
    const InferenceSession session(net, {.threads = threads});
    EXPECT_EQ(bits(session.run(x)), expected);
    EXPECT_EQ(bits(session.run(x.slice(18, 1))),
              std::vector<uint32_t>(expected.end() - 10, expected.end()));
  }
  EXPECT_EQ(available_threads(), 4);
  EXPECT_THROW((void)InferenceSession(net, {.threads = -1}), ValueError);
}

// A session of a moved model, with shared layers and layers that others own.
TEST(SessionOptions, HaveTheBitsOfAMovedModel) {
  const Tensor x = noise({3, 16, 16, 6});
  const auto make = [] {
    const SymbolicTensor in = input({16, 16, 6});
    auto conv = Conv2D({.filters = 6, .padding = Padding::same});
    SymbolicTensor y = ReLU()(BatchNormalization()(conv(in)));
    y = Add()({conv(y), in});
    y = Reshape({.target_shape = {-1, 6}})(y);
    y = multi_head_attention(y, y, {.num_heads = 2, .key_dim = 3});
    return Model(in, Dense({.units = 5})(GlobalAveragePooling1D()(y)));
  };
  Model net = make();
  const auto expected = bits(InferenceSession(net).run(x));
  const Layer& first = net.layer("conv2d");
  const std::shared_ptr<const Layer> kept = net.nodes()[1]->layer;
  ASSERT_EQ(kept.get(), &first);
  const Variable kernel = net.layer("dense").parameters()[0].variable;
  const auto before = values(kernel);
  const InferenceSession session(std::move(net));
  EXPECT_EQ(bits(session.run(x)), expected);
  EXPECT_EQ(kept->parameters()[0].variable.shape(), (Shape{3, 3, 6, 6}));
  EXPECT_EQ(values(kernel), before);
  Model int8 = quant::quantize_model(make());
  (void)quant::calibrate(int8, [&](const Model& m) { (void)m.predict(x); });
  const auto quantized = bits(InferenceSession(int8).run(x));
  EXPECT_EQ(bits(InferenceSession(std::move(int8)).run(x)), quantized);
}

TEST(SessionOptions, FreeTheWeightsOfAMovedModel) {
  constexpr int64_t kUnits = 1024;
  SymbolicTensor x = input({kUnits});
  const SymbolicTensor in = x;
  for (int i = 0; i < 4; ++i) x = Dense({.units = kUnits})(x);
  std::optional<Model> net(std::in_place, in, x);
  const std::weak_ptr<const Layer> last = net->nodes().back()->layer;
  const InferenceSession other(*net);
  EXPECT_FALSE(last.expired());
  // `in` and `x` are no more.
  x = {};
  const InferenceSession session(*std::move(net));
  EXPECT_TRUE(last.expired());
}

TEST(SessionOptions, RefuseMoreSamplesThanMaxBatch) {
  const Model net = zoo::resnet8();
  const InferenceSession session(net, {.max_batch = 3});
  const Tensor x = noise({4, 32, 32, 3});
  for (const int64_t n : {1, 2, 3}) {
    EXPECT_EQ(bits(session.run(x.slice(0, n))),
              bits(InferenceSession(net).run(x.slice(0, n))));
  }
  EXPECT_THROW((void)session.run(x), ValueError);
  EXPECT_THROW((void)session.profile(std::vector{x}), ValueError);
  EXPECT_THROW((void)InferenceSession(net, {.max_batch = -1}), ValueError);
}

#ifndef OCTET_SANITIZED
// Convolutions only, without function calls: outputs are the only new memory.
TEST(SessionOptions, PreallocateTheMemoryOfActivations) {
  const ThreadCountGuard restored;
  set_num_threads(3);
  const auto image = input({32, 32, 3});
  auto y = Conv2D({.filters = 17, .padding = Padding::same})(image);
  y = Conv2D({.filters = 5, .strides = 4})(ReLU()(y));
  const Model net(image, y);
  const Tensor x = noise({40, 32, 32, 3});
  const auto expected = bits(InferenceSession(net).run(x));
  const InferenceSession session(net, {.max_batch = 40});
  const auto run = [&](int64_t n) { return session.run(x.slice(0, n)); };
  for (const int64_t n : {1, 2, 3, 4, 23, 24, 40, 1}) {
    release_memory();  // no idle memory
    const int64_t before = arena::system_allocations();
    const auto got = bits(run(n));
    EXPECT_EQ(arena::system_allocations() - before, 1);  // the output
    EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin()));
  }
  // Concurrent runs allocate memory as needed and retain it.
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(bits(run(40)), expected); });
  }
  for (std::thread& thread : threads) thread.join();
}

// A block for runs of few samples, and a block per thread.
TEST(SessionOptions, NeedNoMoreMemoryThanRuns) {
  const ThreadCountGuard restored;
  set_num_threads(8);
  const auto image = input({160, 150, 3});
  auto y = Conv2D({.filters = 24, .padding = Padding::same})(image);
  y = Conv2D({.filters = 5, .strides = 4})(ReLU()(y));
  const Model net(image, y);
  const InferenceSession plain(net);
  const InferenceSession session(net, {.max_batch = 16});
  release_memory();
  const int64_t before = resident_bytes();
  const InferenceSession reserved(net, {.max_batch = 16});
  EXPECT_LT(resident_bytes() - before, 18 * plain.activation_bytes());
  EXPECT_GT(resident_bytes() - before, 10 * plain.activation_bytes());
}

#endif

}  // namespace
}  // namespace octet
