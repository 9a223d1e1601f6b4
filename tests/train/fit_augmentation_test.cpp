// fit with augmentation and prefetch.
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
#include <octet/train/data_loader.h>
#include <octet/train/fit.h>

#include "../support.h"
#include "blobs.h"
#include "weights.h"

namespace octet::train {
namespace {

using ::testing::Contains;
using ::testing::Each;

/// Images [4,6,3] with random values in [0,1] and alternating classes 0 and 1.
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

/// Records whether training began.
class Began final : public Callback {
 public:
  void on_train_begin(const Progress&) override { began = true; }
  bool began = false;
};

/// Returns the error that fit throws before training begins.
Failure refusal(const Dataset& data, FitOptions options) {
  Model model =
      data.input_shape().rank() == 1 ? small_network() : augmented_network();
  const auto watch = std::make_shared<Began>();
  options.callbacks = {watch};
  const Failure failure = failure_of<Error>([&] { fit(model, data, options); });
  EXPECT_FALSE(watch->began);
  return failure;
}

TEST(FitAugmentation, IsBitIdenticalForAnyThreadsPrefetchAndWorkers) {
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

TEST(FitAugmentation, DependsOnTheSeed) {
  const auto train = [](uint64_t seed) {
    Model model = augmented_network();
    // A single batch: without augmentation the seed only affects the order of
    // sums.
    return fit(model, square_images(8),
               {.optimizer = SGD({.learning_rate = 0}),
                .seed = seed,
                .augmentation = {random_brightness()}})[0]
        .loss;
  };
  EXPECT_EQ(train(1), train(1));
  EXPECT_GT(std::fabs(train(1) - train(2)), 1e-4);
}

TEST(FitAugmentation, DiffersPerEpochAndSkipsValidation) {
  // With a learning rate of 0, only augmentation affects the loss.
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

TEST(FitAugmentation, SkipsTheValidationSplit) {
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
  // The entropy of mixed labels bounds the loss from below.
  EXPECT_GT(history.back().loss, history.back().validation[0].loss);
}

TEST(FitAugmentation, RejectsMixupWithClassLabels) {
  const Augmentation mixed = {mixup({.classes = 2})};
  EXPECT_EQ(refusal(blobs(4), {.augmentation = mixed}),
            (Failure{"conflicting_options", "fit"}));
  EXPECT_EQ(refusal(blobs(4), {.class_weights = {1, 2}, .augmentation = mixed}),
            (Failure{"conflicting_options", "fit"}));
  EXPECT_EQ(refusal(one_hot(blobs(4), 2),
                    {.loss = losses::categorical_cross_entropy(),
                     .class_weights = {1, 2},
                     .augmentation = mixed}),
            (Failure{"dtype_mismatch", "fit"}));
  EXPECT_EQ(refusal(blobs(4), {.loss = losses::categorical_cross_entropy(),
                               .augmentation = mixed}),
            (Failure{"dtype_mismatch", "fit"}));
}

TEST(FitAugmentation, RejectsMismatchedTransformsBeforeTraining) {
  EXPECT_EQ(refusal(blobs(4), {.augmentation = {random_flip()}}),
            (Failure{"invalid_shape", "random_flip"}));
  const Failure crop = refusal(
      square_images(4), {.augmentation = {random_crop(
                             {.padding = 4, .border = Border::reflect})}});
  EXPECT_EQ(crop, (Failure{"invalid_shape", "random_crop"}));
  EXPECT_THAT(crop.context, Contains("in the augmentation of fit"));
  EXPECT_EQ(refusal(one_hot(blobs(4), 2),
                    {.loss = losses::categorical_cross_entropy(),
                     .augmentation = {mixup({.classes = 3})}}),
            (Failure{"shape_mismatch", "mixup"}));
  EXPECT_EQ(refusal(square_images(4), {.augmentation = {nullptr}}),
            (Failure{"missing_value", "EpochLoader"}));
}

TEST(FitAugmentation, RejectsPrefetchOutOfRangeBeforeTraining) {
  const Failure expected{"out_of_range", "EpochLoader"};
  EXPECT_EQ(refusal(square_images(4), {.prefetch = -1}), expected);
  EXPECT_EQ(refusal(square_images(4), {.prefetch = 1025}), expected);
  EXPECT_EQ(refusal(square_images(4), {.workers = 0}), expected);
}

/// Samples [i, i]; reading one of them fails.
class BrokenSource final : public SampleSource {
 public:
  int64_t size() const override { return 20; }
  std::vector<TensorSpec> input_specs() const override { return {{{2}}}; }
  Batch read(std::span<const int64_t> indices) const override {
    const auto count = static_cast<int64_t>(indices.size());
    for (const int64_t index : indices) {
      if (index == 11)
        throw FormatError("malformed_file", "sample 11", "broken");
    }
    return {Tensor::zeros(Shape{count, 2}),
            Tensor::zeros(Shape{count}, DType::i64)};
  }
};

TEST(FitAugmentation, PropagatesErrorsOfPrefetchedSources) {
  const auto source = std::make_shared<BrokenSource>();
  Model model = small_network();
  EXPECT_THROW(fit(model, Dataset(source),
                   {.batch_size = 2, .prefetch = 3, .workers = 2}),
               FormatError);
  // No thread references the source any more.
  EXPECT_EQ(source.use_count(), 1);
}

}  // namespace
}  // namespace octet::train
