// Every model family of the zoo trains bit-identically with 1 and 2 threads.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include <octet/layers/zoo.h>
#include <octet/runtime/ops.h>
#include <octet/train/train.h>

#include "../layers/support.h"

namespace octet {
namespace {

struct Family {
  std::string name;
  zoo::Options options;
  int64_t batch = 2;
};

// The smallest inputs of each topology; batches that two threads share.
std::vector<Family> small_families() {
  return {
      {"lenet", {.input = {28, 28, 1}, .classes = 10}, 5},
      {"resnet8", {.input = {32, 32, 3}, .classes = 10}, 3},
      {"resnet20", {.input = {20, 16, 3}, .classes = 10}, 3},
      {"mobilenet_v1_025", {.input = {40, 32, 3}, .classes = 2}, 3},
      {"mobilenet_v2", {.input = {32, 40, 3}, .classes = 10, .alpha = 0.35}},
      {"ds_cnn", {}, 3},
      {"unet", {.input = {16, 24, 3}, .classes = 4}},
      {"pippin", {.classes = 10}, 3},
  };
}
std::vector<Family> large_families() {
  return {
      {"resnet18", {.input = {40, 32, 3}, .classes = 10}},
      {"resnet50", {.input = {33, 32, 3}, .classes = 10}},
      {"resnet50_v2", {.input = {32, 35, 3}, .classes = 10}},
      {"inception_v3", {.input = {75, 76, 3}, .classes = 10}},
      {"efficientnet_b0", {.input = {32, 40, 3}, .classes = 10}},
      {"densenet121", {.input = {32, 33, 3}, .classes = 10}},
      {"vit_tiny", {.input = {32, 48, 3}, .classes = 10}, 3},
  };
}

std::vector<uint32_t> train_20_steps(const Family& family) {
  Model model = zoo::make(family.name, family.options);
  std::vector<Variable> parameters;
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) {
      if (p.trainable) parameters.push_back(p.variable);
    }
  }
  train::SGD optimizer({.learning_rate = 1e-3f, .momentum = 0.9f});
  optimizer.attach(parameters);
  const Shape shape = model.inputs()[0].shape().with(0, family.batch);
  float loss = 0;
  for (uint64_t step = 0; step < 20; ++step) {
    const Variable y = model(Variable(noise(shape, step + 1)), Mode::training);
    const int64_t classes = y.shape()[-1];
    const Variable rows = reshape(y, {Shape::kAnySize, classes});
    Tensor labels({rows.shape()[0]}, DType::i64);
    Rng rng = Rng(7).child(step);
    for (int64_t& label : labels.data<int64_t>()) label = rng.below(classes);
    const Variable l = softmax_cross_entropy(rows, labels);
    loss = l.value().item();
    l.backward();
    optimizer.step();
  }
  EXPECT_TRUE(std::isfinite(loss)) << loss;
  return weight_bits(model);
}

class ZooThreads : public testing::TestWithParam<Family> {};

TEST_P(ZooThreads, AreBitIdenticalAfter20Steps) {
  const ThreadCountGuard restored;
  const auto untrained =
      weight_bits(zoo::make(GetParam().name, GetParam().options));
  set_num_threads(1);
  const auto one = train_20_steps(GetParam());
  set_num_threads(2);
  const auto two = train_20_steps(GetParam());
  EXPECT_TRUE(one == two);
  EXPECT_FALSE(one == untrained);
}

std::string name_of(const testing::TestParamInfo<Family>& each) {
  return each.param.name;
}
INSTANTIATE_TEST_SUITE_P(Zoo, ZooThreads, testing::ValuesIn(small_families()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(SlowZoo, ZooThreads,
                         testing::ValuesIn(large_families()), name_of);

}  // namespace
}  // namespace octet
