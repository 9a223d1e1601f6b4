// Labels outside of the model's classes are detected as early as possible.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/train/evaluate.h>
#include <octet/train/fit.h>

#include "../facts.h"
#include "../support.h"
#include "blobs.h"

namespace octet::train {
namespace {

using ::testing::ElementsAre;

/// A class for each pixel of [4,5].
Model of_pixels(int64_t classes) {
  const SymbolicTensor x = input({4, 5, 1});
  return Model(x, Conv2D({.filters = classes, .kernel_size = 1})(x),
               {.name = "net"});
}

Dataset masked(const Shape& labels, int64_t label) {
  Tensor all(labels, DType::i64);
  std::ranges::fill(all.data<int64_t>(), label);
  return Dataset(noise({labels[0], 4, 5, 1}), all);
}

TEST(LabelCheck, ChecksLabelsOfPixels) {
  const Model model = of_pixels(3);
  EXPECT_EQ(evaluate(model, masked({6, 4, 5}, 2)).samples, 6);
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)evaluate(model, masked({6, 4, 5}, 255));
            }),
            (Failure{"out_of_range", "evaluate"}));
  const Loss ignoring =
      losses::sparse_categorical_cross_entropy({.ignore_label = 255});
  EXPECT_EQ(evaluate(model, masked({6, 4, 5}, 255), {.loss = ignoring}).loss,
            0);
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)evaluate(model, masked({6}, 2)); }),
      (Failure{"shape_mismatch", "evaluate"}));
  const Failure failure = failure_of<ValueError>([&] {
    (void)evaluate(model, masked({6, 4, 5, 1}, 2));
  });
  EXPECT_EQ(failure, (Failure{"shape_mismatch", "evaluate"}));
  EXPECT_THAT(calls_in(failure.text()),
              ElementsAre("labels.reshaped({n,4,5})"));
}

TEST(LabelCheck, RejectsAColumnOfLabels) {
  const SymbolicTensor x = input({4, 5, 1});
  const Model model(x, Dense({.units = 3})(Flatten()(x)), {.name = "net"});
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)masked({6, 1}, 2);
            }),
            (Failure{"invalid_shape", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)evaluate(model, masked({6, 1, 1}, 2));
            }),
            (Failure{"shape_mismatch", "evaluate"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)evaluate(model, masked({6, 4, 5}, 2));
            }),
            (Failure{"shape_mismatch", "evaluate"}));
}

Model with_outputs(int64_t units) {
  const SymbolicTensor x = input({2});
  return Model(x, Dense({.units = units})(x), {.name = "net"});
}

/// Returns a sample for each label.
Dataset labelled(const std::vector<int64_t>& labels) {
  const auto n = static_cast<int64_t>(labels.size());
  return Dataset(noise({n, 2}), Tensor::of<int64_t>({n}, labels));
}

/// As labelled(), from a source that must read samples to know their labels.
class Unknowing final : public SampleSource {
 public:
  explicit Unknowing(const std::vector<int64_t>& labels)
      : data_(labelled(labels)) {}
  int64_t size() const override { return data_.size(); }
  std::vector<TensorSpec> input_specs() const override {
    return {{data_.input_shape()}};
  }
  Batch read(std::span<const int64_t> indices) const override {
    return data_.batch(indices);
  }

 private:
  Dataset data_;
};

Dataset unknowing(const std::vector<int64_t>& labels) {
  return Dataset(std::make_shared<Unknowing>(labels));
}

/// Counts its events.
class Witness final : public Callback {
 public:
  void on_train_begin(const Progress&) override { ++events; }
  void on_step(const Progress&) override { ++events; }
  int events = 0;
};

TEST(LabelCheck, RejectsMoreClassesThanOutputsBeforeTheFirstStep) {
  // Only the last of 100 samples is wrong, which batches would reach late.
  std::vector<int64_t> labels(100, 2);
  labels[97] = 9;
  const auto witness = std::make_shared<Witness>();
  EXPECT_EQ(failure_of<ValueError>([&] {
              Model model = with_outputs(3);
              fit(model, labelled(labels),
                  {.batch_size = 4, .callbacks = {witness}});
            }),
            (Failure{"out_of_range", "fit"}));
  EXPECT_EQ(witness->events, 0);
}

TEST(LabelCheck, ChecksValidationLabelsBeforeTheFirstStep) {
  const Dataset validation = labelled({0, 1, 5});
  EXPECT_EQ(failure_of<ValueError>([&] {
              Model model = with_outputs(3);
              fit(model, labelled({0, 1, 2}), {.validation = &validation});
            }),
            (Failure{"out_of_range", "validation data"}));
}

TEST(LabelCheck, ChecksLabelsOfOtherSourcesPerBatch) {
  EXPECT_EQ(failure_of<ValueError>([] {
              Model model = with_outputs(3);
              fit(model, unknowing({0, 1, 7, 2}));
            }),
            (Failure{"out_of_range", "fit"}));
}

TEST(LabelCheck, IsCheckedByEvaluate) {
  for (const Dataset& data :
       {labelled({0, 1, 2, 3}), unknowing({0, 1, 2, 3})}) {
    EXPECT_EQ(failure_of<ValueError>([&] {
                (void)evaluate(with_outputs(3), data, {.batch_size = 2});
              }),
              (Failure{"out_of_range", "evaluate"}));
  }
}

TEST(LabelCheck, RejectsLabelsThatCountFromOneOrLess) {
  const auto refusal = [](const std::vector<int64_t>& labels) {
    return failure_of<ValueError>([&] {
      Model model = with_outputs(3);
      fit(model, labelled(labels));
    });
  };
  EXPECT_EQ(refusal({1, 2, 3}), (Failure{"out_of_range", "fit"}));
  EXPECT_EQ(refusal({0, -1, 2}), (Failure{"out_of_range", "fit"}));
}

TEST(LabelCheck, AcceptsValidLabels) {
  Model model = with_outputs(3);
  fit(model, labelled({0, 1, 2}));
  fit(model, labelled({0, 0, 0}));
  // A single output of a binary model stands for two classes.
  Model binary = with_outputs(1);
  fit(binary, labelled({0, 1, 1}), {.loss = losses::binary_cross_entropy()});
}

}  // namespace
}  // namespace octet::train
