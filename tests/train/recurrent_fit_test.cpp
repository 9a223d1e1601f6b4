// Recurrent networks learn tasks that need states over many steps.
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/runtime/dataset.h>
#include <octet/train/evaluate.h>
#include <octet/train/fit.h>
#include <octet/train/optimizer.h>

namespace octet::train {
namespace {

constexpr int64_t kSteps = 14;

// Two pulses, in channels 0 and 1, in noise: the label tells which is first.
// Sums over the steps do not.
Dataset pulses(int64_t n, uint64_t seed) {
  Tensor inputs({n, kSteps, 2});
  Tensor labels(Shape{n}, DType::i64);
  Rng rng(seed);
  for (int64_t i = 0; i < n; ++i) {
    const auto row =
        inputs.f32().subspan(static_cast<size_t>(i * kSteps * 2), kSteps * 2);
    for (float& v : row) v = 0.1f * rng.normal();
    const int64_t label = i % 2;
    const auto first = static_cast<size_t>(i / 2 % 6);
    const auto second = static_cast<size_t>(7 + i / 12 % 6);
    row[2 * first + static_cast<size_t>(label)] += 1;
    row[2 * second + static_cast<size_t>(1 - label)] += 1;
    labels.data<int64_t>()[static_cast<size_t>(i)] = label;
  }
  return Dataset(inputs, labels);
}

// Chance is 0.5; a state that forgets the first pulse cannot do better.
template <class Layers>
double accuracy_of(const Layers& layers) {
  const SymbolicTensor x = input({kSteps, 2});
  Model model(x, Dense({.units = 2})(layers(x)), {.seed = 1});
  fit(model, pulses(480, 1),
      {.epochs = 30,
       .batch_size = 32,
       .optimizer = Adam({.learning_rate = 0.02f})});
  return evaluate(model, pulses(480, 2)).accuracy;
}

TEST(RecurrentFit, GruLearnsTheOrderOfPulses) {
  EXPECT_GE(
      accuracy_of([](const SymbolicTensor& x) { return GRU({.units = 8})(x); }),
      0.99);
}

TEST(RecurrentFit, LstmLearnsTheOrderOfPulses) {
  EXPECT_GE(accuracy_of(
                [](const SymbolicTensor& x) { return LSTM({.units = 8})(x); }),
            0.99);
}

TEST(RecurrentFit, StackedLayersLearnTheOrderOfPulses) {
  EXPECT_GE(
      accuracy_of([](const SymbolicTensor& x) {
        return SimpleRNN({.units = 8})(bidirectional(
            x,
            GRU({.units = 6, .return_sequences = true, .reset_after = false})));
      }),
      0.99);
}

}  // namespace
}  // namespace octet::train
