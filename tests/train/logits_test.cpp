// Models that end in probabilities train like models that end in logits: the
// softmax or sigmoid is found in any position and never applied twice.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/train/train.h>

#include "../layers/user_layers.h"
#include "../support.h"
#include "blobs.h"
#include "weights.h"

namespace octet::train {
namespace {

/// Returns a network with the given final activation; all networks have the
/// same layer names and weights.
Model ends_in(const std::string& activation, int64_t units = 2) {
  const SymbolicTensor x = input({2});
  const SymbolicTensor y =
      Dense({.units = 8, .activation = "relu", .name = "hidden"})(x);
  return Model(
      x, Dense({.units = units, .activation = activation, .name = "last"})(y));
}

Model ends_in_layer(const LayerHandle& layer) {
  const SymbolicTensor x = input({2});
  SymbolicTensor y =
      Dense({.units = 8, .activation = "relu", .name = "hidden"})(x);
  y = Dense({.units = 2, .name = "last"})(y);
  return Model(x, layer(y));
}

Model nested() {
  Model inner = ends_in("softmax");
  const SymbolicTensor x = input({2});
  return Model(x, inner(x));
}

Model reshaped() {
  const SymbolicTensor x = input({2});
  SymbolicTensor y =
      Dense({.units = 8, .activation = "relu", .name = "hidden"})(x);
  y = Dense({.units = 2, .activation = "softmax", .name = "last"})(y);
  y = Reshape({{1, 1, 2}})(y);
  return Model(x, Dropout({.rate = 0.5})(Flatten()(y)));
}

Model quantized(const Model& model) {
  Model result = quant::quantize_model(model);
  quant::calibrate(result, blobs(64));
  return result;
}

std::vector<std::vector<float>> trained(
    Model model, const Loss& loss = losses::sparse_categorical_cross_entropy(),
    const Dataset& data = blobs(64)) {
  fit(model, data, {.epochs = 2, .batch_size = 16, .loss = loss});
  std::vector<std::vector<float>> weights;
  for (const Parameter& p : model.parameters()) {
    weights.push_back(values(p.variable));
  }
  return weights;
}

TEST(OutputActivation, IsFoundAnywhere) {
  EXPECT_EQ(output_activation(ends_in("linear")), "linear");
  EXPECT_EQ(output_activation(ends_in("softmax")), "softmax");
  EXPECT_EQ(output_activation(ends_in("sigmoid")), "sigmoid");
  EXPECT_EQ(output_activation(ends_in_layer(Softmax())), "softmax");
  EXPECT_EQ(output_activation(ends_in_layer(Softmax({.axis = 1}))), "softmax");
  EXPECT_EQ(
      output_activation(ends_in_layer(Activation({.activation = "softmax"}))),
      "softmax");
  EXPECT_EQ(output_activation(ends_in_layer(ReLU())), "relu");
  EXPECT_EQ(output_activation(ends_in_layer(PReLU())), "");
  EXPECT_EQ(output_activation(nested()), "softmax");
  EXPECT_EQ(output_activation(reshaped()), "softmax");
  EXPECT_EQ(output_activation(quant::quantize_model(ends_in("softmax"))),
            "softmax");
}

// Identified by its role only, as custom layers may be.
class DropBlockLayer final : public Plain {
 public:
  std::string class_name() const override { return "TestDropBlock"; }
};
const LayerDef kDropBlock{
    .class_name = "TestDropBlock",
    .create = [](const Config&) -> std::shared_ptr<Layer> {
      return std::make_shared<DropBlockLayer>();
    },
    .role = LayerRole::identity,
};

TEST(OutputActivation, IsFoundBeforeAnIdentityLayer) {
  register_layer(kDropBlock);
  const SymbolicTensor x = input({4});
  const Model model(x, LayerHandle(std::make_shared<DropBlockLayer>())(
                           Dense({.units = 1, .activation = "sigmoid"})(x)));
  EXPECT_EQ(output_activation(model), "sigmoid");
}

TEST(OutputActivation, IsNotSoftmaxForASoftmaxPerPixel) {
  const SymbolicTensor x = input({3, 5, 1});
  const SymbolicTensor y =
      Conv2D({.filters = 2, .kernel_size = 1, .activation = "softmax"})(x);
  EXPECT_EQ(output_activation(Model(x, Flatten()(y))), "");
}

// Bit for bit: the gradient goes through the logits.
TEST(SoftmaxAtTheEnd, MatchesTrainingOfLogits) {
  const auto expected = trained(ends_in("linear"));
  EXPECT_EQ(trained(ends_in("softmax")), expected);
  EXPECT_EQ(trained(ends_in_layer(Softmax())), expected);
  EXPECT_EQ(trained(ends_in_layer(Activation({.activation = "softmax"}))),
            expected);
  EXPECT_EQ(trained(nested()), expected);
}

TEST(SoftmaxAtTheEnd, MatchesTrainingOfLogitsInAWrapper) {
  const auto expected = trained(quantized(ends_in("linear")));
  EXPECT_EQ(trained(quantized(ends_in("softmax"))), expected);
  EXPECT_EQ(trained(quantized(ends_in_layer(Softmax()))), expected);
}

// The gradient passes through the probabilities, as a layer follows them.
TEST(SoftmaxAtTheEnd, LearnsBeforeAReshape) {
  const SymbolicTensor x = input({2});
  SymbolicTensor y = Dense({.units = 2, .activation = "softmax"})(x);
  Model model(x, Flatten()(Reshape({{1, 2}})(y)));
  const History history =
      fit(model, blobs(64),
          {.epochs = 10, .optimizer = Adam({.learning_rate = 0.05f})});
  EXPECT_GT(history.back().accuracy, 0.95);
}

TEST(SoftmaxAtTheEnd, MatchesEvaluationOfLogits) {
  const Dataset data = blobs(40);
  const Evaluation expected = evaluate(ends_in("linear"), data);
  const Evaluation got = evaluate(ends_in("softmax"), data);
  EXPECT_EQ(got.accuracy, expected.accuracy);
  EXPECT_NEAR(got.loss, expected.loss, 1e-6);  // rounding of the softmax
}

TEST(SoftmaxAtTheEnd, SupportsOneHotLabels) {
  const Dataset rows = one_hot(blobs(64), 2);
  EXPECT_EQ(
      trained(ends_in("softmax"), losses::categorical_cross_entropy(), rows),
      trained(ends_in("linear"), losses::categorical_cross_entropy(), rows));
}

TEST(SoftmaxAtTheEnd, SupportsDistillation) {
  const Model teacher = ends_in("linear");
  const Model same = ends_in("softmax");
  const auto expected =
      trained(ends_in("linear"), losses::distillation(teacher));
  EXPECT_EQ(trained(ends_in("softmax"), losses::distillation(teacher)),
            expected);
  // The teacher's logits are recovered from its probabilities.
  const auto near = trained(ends_in("linear"), losses::distillation(same));
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t k = 0; k < expected[i].size(); ++k) {
      EXPECT_NEAR(near[i][k], expected[i][k], 1e-4);
    }
  }
}

TEST(SigmoidAtTheEnd, MatchesTrainingAndMetricsOfTheLogit) {
  const Loss loss = losses::binary_cross_entropy();
  EXPECT_EQ(trained(ends_in("sigmoid", 1), loss),
            trained(ends_in("linear", 1), loss));
  const Dataset data = blobs(40);
  const Evaluation logits =
      evaluate(ends_in("linear", 1), data, {.loss = loss});
  const Evaluation shares =
      evaluate(ends_in("sigmoid", 1), data, {.loss = loss});
  EXPECT_EQ(shares.value("binary_accuracy"), logits.value("binary_accuracy"));
  EXPECT_NEAR(shares.loss, logits.loss, 1e-6);
  // Also for an explicit metric.
  EXPECT_EQ(evaluate(ends_in("sigmoid", 1), data,
                     {.loss = loss, .metrics = {metrics::binary_accuracy()}})
                .value("binary_accuracy"),
            logits.value("binary_accuracy"));
}

TEST(FromLogits, RejectsAContradictionToTheModel) {
  const Dataset data = blobs(16);
  const auto refusal = [&](Model model, const Loss& loss) {
    return failure_of<ValueError>([&] { fit(model, data, {.loss = loss}); });
  };
  EXPECT_EQ(
      refusal(ends_in("softmax"),
              losses::sparse_categorical_cross_entropy({.from_logits = true})),
      (Failure{"conflicting_options", "sparse_categorical_cross_entropy"}));
  EXPECT_EQ(
      refusal(ends_in("linear"),
              losses::sparse_categorical_cross_entropy({.from_logits = false})),
      (Failure{"conflicting_options", "sparse_categorical_cross_entropy"}));
  EXPECT_EQ(
      refusal(ends_in("sigmoid"), losses::sparse_categorical_cross_entropy()),
      (Failure{"unsupported_model", "sparse_categorical_cross_entropy"}));
  EXPECT_EQ(refusal(ends_in("softmax", 1), losses::binary_cross_entropy()),
            (Failure{"unsupported_model", "binary_cross_entropy"}));
  const Model teacher = ends_in("linear");
  EXPECT_EQ(refusal(ends_in("softmax"),
                    losses::distillation(teacher, {.from_logits = true})),
            (Failure{"conflicting_options", "distillation"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)losses::distillation(teacher,
                                         {.teacher_from_logits = false});
            }),
            (Failure{"conflicting_options", "distillation teacher"}));
  EXPECT_EQ(
      trained(ends_in("softmax"),
              losses::sparse_categorical_cross_entropy({.from_logits = false})),
      trained(ends_in("linear")));
}

// As in Keras' mixed precision.
TEST(SoftmaxAtTheEnd, IsFoundBeforeALinearActivation) {
  const auto ended = [] {
    const SymbolicTensor x = input({2});
    SymbolicTensor y =
        Dense({.units = 8, .activation = "relu", .name = "hidden"})(x);
    y = Dense({.units = 2, .activation = "softmax", .name = "last"})(y);
    return Model(x, Activation({.activation = "linear"})(y));
  };
  EXPECT_EQ(output_activation(ended()), "softmax");
  EXPECT_EQ(trained(ended()), trained(ends_in("linear")));
}

/// The mean of two classifiers.
Model ensemble() {
  const SymbolicTensor x = input({2});
  const LayerHandle one = Dense({.units = 2, .activation = "softmax"});
  const LayerHandle other = Dense({.units = 2, .activation = "softmax"});
  return Model(x, Average()({one(x), other(x)}));
}

// The end of the model is not conclusive, but its outputs are.
TEST(FromLogits, IsRequiredIfOutputsSumToOne) {
  Model model = ensemble();
  const Dataset data = blobs(16);
  for (const Failure& failure :
       {failure_of<ValueError>([&] { fit(model, data); }),
        failure_of<ValueError>([&] { (void)evaluate(model, data); }),
        failure_of<ValueError>([&] {
          const Batch batch = data.batch(0, 16);
          (void)losses::sparse_categorical_cross_entropy()(
              Variable(model.predict(batch.input())), batch);
        })}) {
    EXPECT_EQ(failure,
              (Failure{"invalid_value", "sparse_categorical_cross_entropy"}));
  }
  const Loss loss =
      losses::sparse_categorical_cross_entropy({.from_logits = false});
  const Evaluation got = evaluate(model, data, {.loss = loss});
  const Tensor shares = predict(model, data);
  const Tensor labels = data.labels();
  double sum = 0;
  for (size_t i = 0; i < 16; ++i) {
    const auto label = static_cast<size_t>(labels.data<int64_t>()[i]);
    sum -= std::log(double{shares.f32()[2 * i + label]});
  }
  EXPECT_NEAR(got.loss, sum / 16, 1e-6);
}

TEST(FromLogits, RejectsOutputsOtherThanProbabilities) {
  const Batch batch = blobs(8).batch(0, 8);
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)softmax_cross_entropy(Variable(noise({8, 2})),
                                          batch.label(),
                                          {.from_logits = false});
            }),
            (Failure{"out_of_range", "softmax_cross_entropy"}));
}

// The loss references the teacher, so a temporary is not accepted.
template <class Teacher>
concept CanTeach = requires(Teacher&& teacher) {
  losses::distillation(std::forward<Teacher>(teacher));
};
static_assert(CanTeach<const Model&>);
static_assert(!CanTeach<Model>);

TEST(FromLogits, RejectsProbabilitiesInACustomLoop) {
  Model model = ends_in("softmax");
  const Batch batch = blobs(8).batch(0, 8);
  const Variable y = model(Variable(batch.input()), Mode::training);
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)softmax_cross_entropy(y, batch.label()); }),
            (Failure{"conflicting_options", "softmax_cross_entropy"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)losses::sparse_categorical_cross_entropy()(y, batch);
            }),
            (Failure{"invalid_value", "sparse_categorical_cross_entropy"}));
  EXPECT_NEAR(
      softmax_cross_entropy(y, batch.label(), {.from_logits = false})
          .value()
          .item(),
      losses::sparse_categorical_cross_entropy({.from_logits = false})(y, batch)
          .value()
          .item(),
      1e-6);
}

TEST(LogitsModel, ReturnsTheInputsOfTheSoftmax) {
  const Tensor x = noise({5, 2});
  const Tensor expected = ends_in("linear").predict(x);
  const auto logits = [&](const Model& model) {
    return bits(logits_model(model).predict(x));
  };
  EXPECT_EQ(logits(ends_in("softmax")), bits(expected));
  EXPECT_EQ(logits(ends_in("sigmoid")), bits(expected));
  EXPECT_EQ(logits(ends_in("linear")), bits(expected));
  EXPECT_EQ(logits(nested()), bits(expected));
  EXPECT_EQ(logits(ends_in_layer(Softmax())), bits(expected));
  EXPECT_EQ(logits(reshaped()), bits(expected));
  const Model qat = quantized(ends_in("softmax"));
  EXPECT_EQ(bits(logits_model(qat).predict(x)),
            bits(quantized(ends_in("linear")).predict(x)));
  EXPECT_THROW((void)logits_model(ends_in_layer(ReLU())), ValueError);
}

TEST(ProbabilityModel, AppendsTheMissingActivation) {
  const Tensor x = noise({5, 2});
  const auto made = [&](const Model& model) {
    return bits(probability_model(model).predict(x));
  };
  const auto expected = bits(ends_in("softmax").predict(x));
  EXPECT_EQ(made(ends_in("linear")), expected);
  EXPECT_EQ(made(ends_in("softmax")), expected);
  EXPECT_EQ(made(ends_in("linear", 1)), bits(ends_in("sigmoid", 1).predict(x)));
  EXPECT_EQ(made(quantized(ends_in("linear"))),
            bits(quantized(ends_in("softmax")).predict(x)));
  EXPECT_EQ(output_activation(probability_model(ends_in("linear"))), "softmax");
  EXPECT_THROW((void)probability_model(ends_in_layer(ReLU())), ValueError);
}

// The scale of probabilities, 1/256, would clip logits to [0,1).
TEST(LogitsModel, DropsTheQuantizerOfProbabilities) {
  const SymbolicTensor x = input({4}, "x");
  const Model model(x, Dense({.units = 3, .activation = "softmax"})(x),
                    {.seed = 1});
  Model int8 = quant::quantize_model(model, {.policy = quant::Policy::tflite});
  Tensor data({8, 4});
  Rng(1).fill_normal(data, 0, 3);
  quant::calibrate(int8, [&](const Model& m) { (void)m(Variable(data)); });
  const Tensor logits = logits_model(int8).predict(data);
  EXPECT_LT(*std::ranges::min_element(logits.f32()), -0.5f);
  const Tensor expected = int8.predict(data);
  const Tensor got = softmax(Variable(logits)).value();
  for (size_t i = 0; i < static_cast<size_t>(got.size()); ++i) {
    EXPECT_NEAR(got.f32()[i], expected.f32()[i], 0.51f / 256);
  }
}

}  // namespace
}  // namespace octet::train
