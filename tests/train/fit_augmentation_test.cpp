// What fit does with augmentation and prefetch.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/rng.h>
#include <octet/train/fit.h>
#include <octet/train/one_hot.h>

#include "blobs.h"
#include "weights.h"

namespace octet::train {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// Images [4,6,3] of random numbers in [0,1], of classes 0 and 1 by turns.
Dataset square_images(int64_t n) {
  Tensor inputs(Shape{n, 4, 6, 3});
  Tensor labels(Shape{n}, DType::i64);
  Rng rng(5);
  for (float& x : inputs.f32()) x = rng.uniform();
  int64_t next = 0;
  for (int64_t& label : labels.data<int64_t>()) label = next++ % 2;
  return Dataset(inputs, labels);
}

Model augmented_network() {
  const SymbolicTensor x = input({4, 6, 3});
  SymbolicTensor y = Conv2D({.filters = 5, .kernel_size = {3, 3}})(x);
  y = Dense({.units = 2})(Flatten()(y));
  return Model(x, y, {.seed = 2});
}

/// Whether a training began.
class Began final : public Callback {
 public:
  void on_train_begin(const Progress&) override { began = true; }
  bool began = false;
};

/// What fit throws before the training begins.
std::string refusal(const Dataset& data, FitOptions options) {
  Model model =
      data.input_shape().rank() == 1 ? small_network() : augmented_network();
  const auto watch = std::make_shared<Began>();
  options.callbacks = {watch};
  try {
    fit(model, data, options);
  } catch (const Error& error) {
    return watch->began ? "too late" : error.what();
  }
  return "no error";
}

TEST(FitAugmentation, GivesTheSameBitsForAnyThreadsPrefetchAndWorkers) {
  const int before = num_threads();
  std::vector<std::vector<float>> runs;
  for (const int threads : {1, 2}) {
    for (const int64_t prefetch : {0, 3}) {
      for (const int64_t workers : {1, 2}) {
        set_num_threads(threads);
        Model model = augmented_network();
        fit(model, square_images(22),
            {.epochs = 2,
             .batch_size = 4,
             .augmentation = {random_flip(), random_crop({.padding = 2}),
                              random_rotation(), random_brightness(),
                              cutout({.size = 2})},
             .prefetch = prefetch,
             .workers = workers});
        runs.push_back(weights_of(model));
      }
    }
  }
  set_num_threads(before);
  EXPECT_THAT(runs, Each(runs[0]));
}

TEST(FitAugmentation, FollowsTheSeed) {
  const auto train = [](uint64_t seed) {
    Model model = augmented_network();
    // One batch: the order of the samples is no matter of the seed, up to
    // the order of sums.
    return fit(model, square_images(8),
               {.optimizer = SGD({.learning_rate = 0}),
                .seed = seed,
                .augmentation = {random_brightness()}})[0]
        .loss;
  };
  EXPECT_EQ(train(1), train(1));
  EXPECT_GT(std::fabs(train(1) - train(2)), 1e-4);
}

TEST(FitAugmentation, ChangesEachEpochAnewAndLeavesValidationAlone) {
  // At a rate of 0 only the changes make a difference.
  const Dataset data = square_images(8);
  Model model = augmented_network();
  const double plain = evaluate(model, data).loss;
  const History history = fit(model, data,
                              {.epochs = 2,
                               .optimizer = SGD({.learning_rate = 0}),
                               .validation = &data,
                               .augmentation = {random_brightness()}});
  EXPECT_EQ(history[0].validation[0].loss, plain);
  EXPECT_EQ(history[1].validation[0].loss, plain);
  EXPECT_GT(std::fabs(history[0].loss - plain), 1e-4);
  EXPECT_GT(std::fabs(history[1].loss - history[0].loss), 1e-4);
}

TEST(FitAugmentation, LeavesTheValidationSplitAlone) {
  const Dataset data = square_images(8);
  Model model = augmented_network();
  const double plain = evaluate(model, data.drop(6)).loss;
  const History history = fit(model, data,
                              {.optimizer = SGD({.learning_rate = 0}),
                               .validation_split = 0.25,
                               .augmentation = {random_brightness()}});
  EXPECT_EQ(history[0].validation[0].loss, plain);
}

TEST(FitAugmentation, LearnsFromMixedSamples) {
  const Dataset data = one_hot(blobs(100), 2);
  Model model = small_network();
  const History history = fit(model, data,
                              {.epochs = 5,
                               .batch_size = 10,
                               .optimizer = Adam({.learning_rate = 0.02f}),
                               .validation = &data,
                               .loss = losses::categorical_cross_entropy(),
                               .augmentation = {mixup({.classes = 2})},
                               .prefetch = 2});
  EXPECT_EQ(history.back().validation[0].accuracy, 1.0);
  // Mixed labels cannot be matched as pure ones can.
  EXPECT_GT(history.back().loss, history.back().validation[0].loss);
}

TEST(FitAugmentation, RefusesMixedLabelsWhereClassesAreWanted) {
  const Augmentation mixed = {mixup({.classes = 2})};
  const std::string plain = refusal(blobs(4), {.augmentation = mixed});
  EXPECT_THAT(plain, HasSubstr("labels of i64 for "
                               "sparse_categorical_cross_entropy, got f32"));
  EXPECT_THAT(plain, HasSubstr("one_hot() of the data"));
  EXPECT_THAT(
      refusal(blobs(4), {.class_weights = {1, 2}, .augmentation = mixed}),
      HasSubstr("keeps labels of i64 for class_weights, got f32 after it"));
  EXPECT_THAT(
      refusal(one_hot(blobs(4), 2),
              {.loss = losses::categorical_cross_entropy(),
               .class_weights = {1, 2},
               .augmentation = mixed}),
      HasSubstr("labels of i64, one a sample, for class_weights, got f32"));
  EXPECT_THAT(refusal(blobs(4), {.loss = losses::categorical_cross_entropy(),
                                 .augmentation = mixed}),
              HasSubstr("one_hot() of the data"));
}

TEST(FitAugmentation, RefusesTransformsThatDoNotFitBeforeTheTraining) {
  EXPECT_THAT(refusal(blobs(4), {.augmentation = {random_flip()}}),
              HasSubstr("random_flip: expected images [n,h,w,c]"));
  EXPECT_THAT(refusal(square_images(4),
                      {.augmentation = {random_crop(
                           {.padding = 4, .border = Border::reflect})}}),
              HasSubstr("in the augmentation of fit"));
  EXPECT_THAT(refusal(one_hot(blobs(4), 2),
                      {.loss = losses::categorical_cross_entropy(),
                       .augmentation = {mixup({.classes = 3})}}),
              HasSubstr("mixup: expected labels"));
  EXPECT_THAT(refusal(square_images(4), {.augmentation = {nullptr}}),
              HasSubstr("null pointer"));
}

TEST(FitAugmentation, RefusesPrefetchOutOfRangeBeforeTheTraining) {
  EXPECT_THAT(refusal(square_images(4), {.prefetch = -1}), HasSubstr("got -1"));
  EXPECT_THAT(refusal(square_images(4), {.prefetch = 1025}),
              HasSubstr("got 1025"));
  EXPECT_THAT(refusal(square_images(4), {.workers = 0}), HasSubstr("got 0"));
}

/// Samples [i, i], one of which cannot be read.
class BrokenSource final : public SampleSource {
 public:
  int64_t size() const override { return 20; }
  std::vector<TensorSpec> input_specs() const override { return {{{2}}}; }
  Batch read(std::span<const int64_t> indices) const override {
    const auto count = static_cast<int64_t>(indices.size());
    for (const int64_t index : indices) {
      if (index == 11) throw FormatError("sample 11: it is broken");
    }
    return {Tensor::zeros(Shape{count, 2}),
            Tensor::zeros(Shape{count}, DType::i64)};
  }
};

TEST(FitAugmentation, EndsWithTheErrorOfASourceThatIsReadAhead) {
  const auto source = std::make_shared<BrokenSource>();
  Model model = small_network();
  EXPECT_THROW(fit(model, Dataset(source),
                   {.batch_size = 2, .prefetch = 3, .workers = 2}),
               FormatError);
  // No thread is left that holds it.
  EXPECT_EQ(source.use_count(), 1);
}

}  // namespace
}  // namespace octet::train
