// Labels that are none of the model's classes, told as early as they can be.
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

#include "../support.h"
#include "blobs.h"

namespace octet::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(LabelCheck, KnowsLabelsOfPixels) {
  const Model model = of_pixels(3);
  EXPECT_EQ(evaluate(model, masked({6, 4, 5}, 2)).samples, 6);
  EXPECT_THAT(error_of<ValueError>([&] {
                (void)evaluate(model, masked({6, 4, 5}, 255));
              }),
              AllOf(HasSubstr("expected labels in [0,3)"),
                    HasSubstr("got 255 at sample 0"),
                    HasSubstr("say .ignore_label = 255 in the loss")));
  const Loss ignoring =
      losses::sparse_categorical_cross_entropy({.ignore_label = 255});
  EXPECT_EQ(evaluate(model, masked({6, 4, 5}, 255), {.loss = ignoring}).loss,
            0);
  EXPECT_THAT(
      error_of<ValueError>([&] { (void)evaluate(model, masked({6}, 2)); }),
      AllOf(HasSubstr("expected labels [N,4,5]"), HasSubstr("got [N]"),
            HasSubstr("Flatten and Dense")));
  EXPECT_THAT(
      error_of<ValueError>([&] {
        (void)evaluate(model, masked({6, 4, 5, 1}, 2));
      }),
      AllOf(HasSubstr("expected labels [N,4,5]"), HasSubstr("got [N,4,5,1]"),
            HasSubstr("labels.reshaped({n,4,5})")));
}

TEST(LabelCheck, TellsTheShapeOfAColumnOfLabels) {
  const SymbolicTensor x = input({4, 5, 1});
  const Model model(x, Dense({.units = 3})(Flatten()(x)), {.name = "net"});
  EXPECT_THAT(error_of<ShapeError>([&] {
                (void)masked({6, 1}, 2);
              }),
              HasSubstr("labels.reshaped({n})"));
  EXPECT_THAT(error_of<ValueError>([&] {
                (void)evaluate(model, masked({6, 1, 1}, 2));
              }),
              AllOf(HasSubstr("expected labels [N]"), HasSubstr("got [N,1,1]"),
                    HasSubstr("labels.reshaped({n})")));
  EXPECT_THAT(error_of<ValueError>([&] {
                (void)evaluate(model, masked({6, 4, 5}, 2));
              }),
              HasSubstr("end the model with [N,h,w,classes]"));
}

Model with_outputs(int64_t units) {
  const SymbolicTensor x = input({2});
  return Model(x, Dense({.units = units})(x), {.name = "net"});
}

/// A sample for each label.
Dataset labelled(const std::vector<int64_t>& labels) {
  const auto n = static_cast<int64_t>(labels.size());
  return Dataset(noise({n, 2}), Tensor::of<int64_t>({n}, labels));
}

/// The same, from a source that has to read samples to know their labels.
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

/// Counts what it sees.
class Witness final : public Callback {
 public:
  void on_train_begin(const Progress&) override { ++events; }
  void on_step(const Progress&) override { ++events; }
  int events = 0;
};

TEST(LabelCheck, BeforeTheFirstStepRefusesMoreClassesThanOutputs) {
  // The last of 100 samples has it; batches would come to it late.
  std::vector<int64_t> labels(100, 2);
  labels[97] = 9;
  const auto witness = std::make_shared<Witness>();
  EXPECT_EQ(error_of<ValueError>([&] {
              Model model = with_outputs(3);
              fit(model, labelled(labels),
                  {.batch_size = 4, .callbacks = {witness}});
            }),
            "fit: expected labels in [0,3), as model 'net' has 3 outputs, got "
            "9 at sample 97. Hint: for labels up to 9 end the model with "
            "Dense({.units = 10})");
  EXPECT_EQ(witness->events, 0);
}

TEST(LabelCheck, OfValidationComesBeforeTheFirstStepToo) {
  const Dataset validation = labelled({0, 1, 5});
  EXPECT_THAT(error_of<ValueError>([&] {
                Model model = with_outputs(3);
                fit(model, labelled({0, 1, 2}), {.validation = &validation});
              }),
              AllOf(HasSubstr("fit, validation: expected labels in [0,3)"),
                    HasSubstr("got 5 at sample 2")));
}

TEST(LabelCheck, OfASourceThatReadsToKnowComesWithTheBatch) {
  EXPECT_THAT(error_of<ValueError>([] {
                Model model = with_outputs(3);
                fit(model, unknowing({0, 1, 7, 2}));
              }),
              AllOf(HasSubstr("fit: expected labels in [0,3), as model 'net'"),
                    HasSubstr("Dense({.units = 8})"),
                    HasSubstr(" of the batch. Hint: "),
                    HasSubstr("at step 1 of epoch 1 of fit")));
}

TEST(LabelCheck, OfEvaluateTellsTheSampleInTheData) {
  for (const Dataset& data :
       {labelled({0, 1, 2, 3}), unknowing({0, 1, 2, 3})}) {
    EXPECT_THAT(error_of<ValueError>([&] {
                  (void)evaluate(with_outputs(3), data, {.batch_size = 2});
                }),
                AllOf(HasSubstr("evaluate: expected labels in [0,3)"),
                      HasSubstr("got 3 at sample 3")));
  }
}

TEST(LabelCheck, SaysWhereLabelsCountFromOneOrLess) {
  const auto refusal = [](const std::vector<int64_t>& labels) {
    return error_of<ValueError>([&] {
      Model model = with_outputs(3);
      fit(model, labelled(labels));
    });
  };
  EXPECT_THAT(refusal({1, 2, 3}), HasSubstr("Hint: labels count from 0; "
                                            "subtract 1 from these"));
  EXPECT_THAT(refusal({0, -1, 2}),
              AllOf(HasSubstr("got -1"), HasSubstr("Hint: labels count from 0"),
                    Not(HasSubstr("subtract"))));
}

TEST(LabelCheck, TakesWhatFits) {
  Model model = with_outputs(3);
  fit(model, labelled({0, 1, 2}));
  fit(model, labelled({0, 0, 0}));
  // One output of a binary model tells two classes apart.
  Model binary = with_outputs(1);
  fit(binary, labelled({0, 1, 1}), {.loss = losses::binary_cross_entropy()});
}

}  // namespace
}  // namespace octet::train
