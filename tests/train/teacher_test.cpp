// Samples labeled by a teacher, and QAT on them.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/quantize_model.h>
#include <octet/runtime/error.h>
#include <octet/train/evaluate.h>
#include <octet/train/fit.h>
#include <octet/train/loss.h>

#include "../layers/support.h"

namespace octet::train {
namespace {

/// Returns a network of the `end`, "softmax" or "linear".
Model network_with_end(const std::string& end) {
  const SymbolicTensor x = input({4}, "x");
  SymbolicTensor y =
      Dense({.units = 8, .activation = "relu", .name = "hidden"})(x);
  return Model(x, Dense({.units = 3, .activation = end, .name = "head"})(y),
               {.seed = 7});
}

Dataset no_labels(int64_t n) {
  return Dataset::unlabeled({{"x", noise({n, 4}, 3)}});
}

TEST(LabeledBy, HasTheTeachersOutputs) {
  const Model teacher = network_with_end("softmax");
  const Dataset data = no_labels(300);
  const Dataset taught = labeled_by(teacher, data);
  ASSERT_EQ(taught.label_specs().size(), 1u);
  EXPECT_EQ(taught.label_specs()[0],
            (TensorSpec{.shape = {3}, .dtype = DType::f32}));
  EXPECT_TRUE(taught.labels_known());
  const std::vector<int64_t> chosen = {299, 0, 257};
  const Batch batch = taught.batch(chosen);
  EXPECT_EQ(bits(batch.input()), bits(data.batch(chosen).input()));
  EXPECT_EQ(bits(batch.label()), bits(teacher.predict(batch.input())));
}

TEST(LabeledBy, RejectsNaN) {
  Model teacher = network_with_end("linear");
  teacher.layer("head").parameter("bias").variable.assign(
      tensor({3}, {0, NAN, 0}));
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)labeled_by(teacher, no_labels(5)); }),
      (Failure{"not_finite", "labeled_by"}));
}

TEST(TeacherLosses, FollowTheEndOfTheStudent) {
  const auto name = [](const char* end) {
    const Losses losses = teacher_losses(network_with_end(end));
    return losses.outputs().at(0).loss.name();
  };
  EXPECT_EQ(name("softmax"), "categorical_cross_entropy");
  EXPECT_EQ(name("sigmoid"), "binary_cross_entropy");
  EXPECT_EQ(name("linear"), "mean_squared_error");
}

TEST(TeacherLosses, BringAStudentToItsTeacher) {
  for (const char* end : {"softmax", "linear"}) {
    const Model teacher = network_with_end(end);
    const Dataset taught = labeled_by(teacher, no_labels(512));
    const Model other = network_with_end(end);
    shake(other);  // weights unlike the teacher's
    Model student = quant::quantize_model(
        other,
        {.weight = {.bits = 8, .narrow_range = true, .per_channel = true}});
    quant::calibrate(student, taught);
    quant::prepare_qat(student);
    const auto loss = [&] {
      return evaluate(student, taught,
                      {.loss = teacher_losses(student), .verbose = false})
          .loss;
    };
    const double best =
        evaluate(teacher, taught,
                 {.loss = teacher_losses(teacher), .verbose = false})
            .loss;
    const double before = loss() - best;
    fit(student, taught,
        {.epochs = 40,
         .optimizer = Adam({.learning_rate = 1e-2f}),
         .verbose = false,
         .loss = teacher_losses(student)});
    EXPECT_LT(loss() - best, 0.1 * before) << end;
  }
}

}  // namespace
}  // namespace octet::train
