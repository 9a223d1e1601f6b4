// octet evaluate, compared with numbers computed here.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/dense.h>
#include <octet/layers/reshaping.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/rng.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A model that returns its seven inputs as logits.
class OctetEvaluate : public ::testing::Test {
 protected:
  OctetEvaluate() {
    const auto x = input({7}, "x");
    const Model model(x, Flatten()(x));
    io::save_model(model, folder_ / "same.h5");
    io::export_onnx(model, folder_ / "same.onnx");
    Tensor logits({3, 7});
    for (size_t i = 0; i < 21; ++i) {
      logits.f32()[i] = static_cast<float>(i % 7) / 2;  // 0, 0.5, ..., 3
    }
    io::write_npy(folder_ / "x.npy", logits);
    // Labels of the largest, the second and the sixth largest logit.
    io::write_npy(folder_ / "y.npy", Tensor::of<int64_t>({3}, {6, 5, 1}));
  }
  CommandResult run(const std::string& what, const std::string& options) const {
    return run_command(fmt::format("cd {} && {}/octet evaluate {} {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN, what,
                                   options));
  }
  /// Expects exit code 1 and a message with the fact.
  Failure refusal(const std::string& what, const std::string& options,
                  const std::string& fact = "") const {
    const CommandResult r = run(what, options);
    EXPECT_EQ(r.exit_code, 1) << r.output;
    EXPECT_THAT(r.failure.message, HasSubstr(fact));
    return r.failure;
  }

  TempFolder folder_;
};

TEST_F(OctetEvaluate, ReportsLossAccuracyAndTopFive) {
  double sum = 0;
  for (int i = 0; i < 7; ++i) sum += std::exp(i / 2.0);
  const double loss = std::log(sum) - (3.0 + 2.5 + 0.5) / 3;
  for (const char* file : {"same.h5", "same.onnx"}) {
    const CommandResult r = run(file, "--data x.npy --labels y.npy --json");
    ASSERT_EQ(r.exit_code, 0) << r.output;
    const Config result = io::from_json(r.output);
    EXPECT_NEAR(result.at("loss").as_number(), loss, 1e-6);
    EXPECT_NEAR(result.at("accuracy").as_number(), 1.0 / 3, 1e-9);
    EXPECT_NEAR(result.at("top_5_accuracy").as_number(), 2.0 / 3, 1e-9);
    EXPECT_EQ(result.at("samples").as_int(), 3);
  }
  EXPECT_THAT(run("same.h5", "--data x.npy --labels y.npy").output,
              AllOf(HasSubstr("33.33 %"), HasSubstr("66.67 %")));
}

TEST_F(OctetEvaluate, AcceptsTargetsWithALoss) {
  Tensor targets = Tensor::zeros({3, 7});
  io::write_npy(folder_ / "t.npy", targets);
  EXPECT_EQ(refusal("same.h5", "--data x.npy --labels t.npy"),
            (Failure{"missing_value", "--loss"}));
  const CommandResult r = run("same.h5",
                              "--data x.npy --labels t.npy --json --loss "
                              "mean_squared_error");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  // (0 + 1 + 4 + ... + 36) / 4 / 7.
  EXPECT_NEAR(io::from_json(r.output).at("loss").as_number(), 3.25, 1e-6);
}

TEST_F(OctetEvaluate, AcceptsLossNamesOfOtherFrameworks) {
  io::write_npy(folder_ / "t.npy", Tensor::zeros({3, 7}));
  for (const char* loss : {"mse", "MSELoss", "MeanSquaredError"}) {
    const CommandResult r =
        run("same.h5",
            fmt::format("--data x.npy --labels t.npy --json --loss {}", loss));
    ASSERT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(io::from_json(r.output).at("loss_name").as_string(),
              "mean_squared_error");
  }
  EXPECT_EQ(run("same.h5", "--data x.npy --labels y.npy --json").output,
            run("same.h5",
                "--data x.npy --labels y.npy --json --loss CrossEntropyLoss")
                .output);
  EXPECT_EQ(
      run("same.h5", "--data x.npy --labels t.npy --loss huber").exit_code, 0);
  EXPECT_EQ(refusal("same.h5", "--data x.npy --labels t.npy --loss hinge"),
            (Failure{"invalid_value", "--loss"}));
}

// Labels with permuted axes are never compared without transposition.
TEST_F(OctetEvaluate, TransposesLabelsAndRejectsOtherShapes) {
  const auto x = input({4, 3}, "x");
  const Model model(x, Dense({.units = 2, .name = "boxes"})(x));
  io::save_model(model, folder_ / "boxes.h5");
  Tensor data(Shape{8, 4, 3}), right(Shape{8, 4, 2});
  Rng(1).fill_normal(data, 0, 1);
  Rng(2).fill_normal(right, 0, 1);
  io::write_npy(folder_ / "b.npy", data);
  io::write_npy(folder_ / "right.npy", right);
  io::write_npy(folder_ / "other.npy", right.transposed({0, 2, 1}));
  io::write_npy(folder_ / "flat.npy", right.reshaped({8, 8}));
  const std::string options = "--data b.npy --loss mse --json --labels ";
  const CommandResult expected = run("boxes.h5", options + "right.npy");
  EXPECT_EQ(expected.exit_code, 0);
  EXPECT_EQ(run("boxes.h5", options + "other.npy").output, expected.output);
  EXPECT_EQ(refusal("boxes.h5", options + "flat.npy", "[N,4,2]"),
            (Failure{"shape_mismatch", "evaluate"}));
}

TEST_F(OctetEvaluate, WarnsOfAccuracyAtChance) {
  Tensor logits = Tensor::zeros({60, 7});
  for (size_t i = 0; i < 60; ++i) logits.f32()[7 * i + i % 7] = 2;
  io::write_npy(folder_ / "x.npy", logits);
  io::write_npy(folder_ / "y.npy", Tensor::zeros({60}, DType::i64));
  const std::string options = "--data x.npy --labels y.npy --json";
  const CommandResult chance = run("same.h5", options);
  EXPECT_NEAR(chance.json().at("accuracy").as_number(), 0.15, 1e-9);
  EXPECT_THAT(chance.warned(), ElementsAre("evaluate"));
  Tensor right({60}, DType::i64);
  for (size_t i = 0; i < 60; ++i) {
    right.data<int64_t>()[i] = static_cast<int64_t>(i % 7);
  }
  io::write_npy(folder_ / "y.npy", right);
  EXPECT_THAT(run("same.h5", options).warned(), IsEmpty());
}

TEST_F(OctetEvaluate, ReportsSwappedLabels) {
  Tensor logits = Tensor::zeros({70, 7});
  Tensor labels({70}, DType::i64);
  for (size_t i = 0; i < 70; ++i) {
    const size_t answer = i % 7;
    logits.f32()[7 * i + answer] = 2;
    // Outputs 2 and 5 are swapped.
    labels.data<int64_t>()[i] = answer == 2   ? 5
                                : answer == 5 ? 2
                                              : static_cast<int64_t>(answer);
  }
  io::write_npy(folder_ / "x.npy", logits);
  io::write_npy(folder_ / "y.npy", labels);
  const CommandResult r = run("same.h5", "--data x.npy --labels y.npy --json");
  EXPECT_NEAR(r.json().at("accuracy").as_number(), 5.0 / 7, 1e-9);
  EXPECT_THAT(r.warned(), ElementsAre("evaluate"));
  EXPECT_THAT(r.output, AllOf(HasSubstr("100.0 %"), HasSubstr("2 as output 5"),
                              HasSubstr("5 as output 2")));
}

TEST_F(OctetEvaluate, IgnoresClassOrderOfConstantPredictions) {
  Tensor logits = Tensor::zeros({70, 7});
  Tensor labels = Tensor::zeros({70}, DType::i64);
  for (size_t i = 0; i < 70; ++i) {
    logits.f32()[7 * i + 3] = 2;
    labels.data<int64_t>()[i] = i % 3 == 0 ? 3 : 1;
  }
  io::write_npy(folder_ / "x.npy", logits);
  io::write_npy(folder_ / "y.npy", labels);
  EXPECT_THAT(run("same.h5", "--data x.npy --labels y.npy").warned(),
              IsEmpty());
}

TEST_F(OctetEvaluate, SuggestsTheSameFixForFloatLabels) {
  io::write_npy(folder_ / "ids.npy", Tensor::of<float>({3}, {6, 5, 1}));
  Tensor one_hot = Tensor::zeros({3, 7});
  for (const size_t at : {6, 12, 15}) one_hot.f32()[at] = 1;
  io::write_npy(folder_ / "hot.npy", one_hot);
  for (const char* command : {"evaluate same.h5 --data",
                              "quantize same.h5 -o "
                              "q.onnx --data",
                              "predict same.h5 --input"}) {
    const auto refused = [&](const char* labels) {
      return run_command(fmt::format("cd {} && {}/octet {} x.npy --labels {} "
                                     "2>&1",
                                     quoted(folder_.path()), OCTET_BIN, command,
                                     labels))
          .failure;
    };
    EXPECT_THAT(refused("ids.npy").message, HasSubstr("astype(\"int64\")"))
        << command;
    EXPECT_THAT(refused("hot.npy").message, HasSubstr("argmax(1)")) << command;
  }
}

TEST_F(OctetEvaluate, RejectsInvalidData) {
  EXPECT_EQ(refusal("same.h5", "--data x.npy"),
            (Failure{"missing_value", "--labels"}));
  io::write_npy(folder_ / "short.npy", Tensor::of<int64_t>({2}, {0, 1}));
  EXPECT_EQ(refusal("same.h5", "--data x.npy --labels short.npy", "3"),
            (Failure{"count_mismatch", "short.npy"}));
  io::write_npy(folder_ / "far.npy", Tensor::of<int64_t>({3}, {0, 1, 7}));
  EXPECT_EQ(refusal("same.h5", "--data x.npy --labels far.npy", "7"),
            (Failure{"out_of_range", "evaluate"}));
  EXPECT_EQ(refusal("same.h5", "--data nope --labels y.npy"),
            (Failure{"file_not_found", "nope"}));
  EXPECT_EQ(refusal("zoo:lenet", "--data x.npy --labels y.npy", "[28,28,1]"),
            (Failure{"shape_mismatch", "evaluate"}));
  io::write_npy(folder_ / "m.npy", Tensor::zeros({3, 28, 28, 1}));
  EXPECT_EQ(refusal("m.npy", "--data x.npy --labels y.npy"),
            (Failure{"unsupported_format", "m.npy"}));
  EXPECT_EQ(refusal("same.h5", "--data x.npy --labels y.npy --part test"),
            (Failure{"missing_value", "--part"}));
}

/// Returns the logits as two outputs, a and b.
class OctetEvaluateTwo : public OctetEvaluate {
 protected:
  OctetEvaluateTwo() {
    const auto x = input({7}, "x");
    const Model two({x},
                    {Flatten({.name = "a"})(x), Flatten({.name = "b"})(x)});
    io::save_model(two, folder_ / "two.h5");
    io::write_npy(folder_ / "t.npy", Tensor::zeros({3, 7}));
  }
};

TEST_F(OctetEvaluateTwo, AddsTheLossesOfOutputsByTheirNames) {
  double sum = 0;
  for (int i = 0; i < 7; ++i) sum += std::exp(i / 2.0);
  const double loss = std::log(sum) - (3.0 + 2.5 + 0.5) / 3;
  // Names in another order.
  const CommandResult r =
      run("two.h5",
          "--data x.npy --labels b=t.npy --labels a=y.npy --json --loss "
          "b=mean_squared_error");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const Config result = io::from_json(r.output);
  EXPECT_NEAR(result.at("a_loss").as_number(), loss, 1e-6);
  EXPECT_NEAR(result.at("b_loss").as_number(), 3.25, 1e-6);
  EXPECT_NEAR(result.at("loss").as_number(), loss + 3.25, 1e-6);
  EXPECT_NEAR(result.at("a_accuracy").as_number(), 1.0 / 3, 1e-9);
  EXPECT_NEAR(result.at("a_top_5_accuracy").as_number(), 2.0 / 3, 1e-9);
  EXPECT_EQ(result.at("loss_name").as_string(),
            "a: sparse_categorical_cross_entropy, b: mean_squared_error");
}

TEST_F(OctetEvaluateTwo, ReportsIgnoredOutputs) {
  const CommandResult r = run("two.h5", "--data x.npy --labels b=y.npy --json");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.warned(), ElementsAre("--labels"));
  EXPECT_NEAR(r.json().at("accuracy").as_number(), 1.0 / 3, 1e-9);
}

TEST_F(OctetEvaluateTwo, RejectsAmbiguousLabels) {
  EXPECT_EQ(refusal("two.h5", "--data x.npy --labels y.npy"),
            (Failure{"unknown_name", "--labels"}));
  EXPECT_EQ(refusal("two.h5", "--data x.npy --labels c=y.npy", "'a', 'b'"),
            (Failure{"unknown_name", "--labels"}));
  EXPECT_EQ(refusal("two.h5", "--data x.npy --labels a=y.npy --labels a=y.npy",
                    "'a'"),
            (Failure{"duplicate_name", "--labels"}));
  EXPECT_EQ(refusal("two.h5", "--data x.npy"),
            (Failure{"missing_value", "--labels"}));
  EXPECT_EQ(refusal("two.h5", "--data x.npy --labels b=t.npy",
                    "b=mean_squared_error"),
            (Failure{"missing_value", "--loss"}));
  EXPECT_EQ(refusal("two.h5",
                    "--data x.npy --labels a=y.npy --loss "
                    "b=mean_squared_error",
                    "--labels b="),
            (Failure{"missing_value", "--loss"}));
  EXPECT_EQ(refusal("two.h5",
                    "--data x.npy --labels a=y.npy --loss "
                    "mean_squared_error"),
            (Failure{"unknown_name", "--loss"}));
  EXPECT_EQ(
      refusal("two.h5", "--data x.npy --labels a=y.npy --loss a=cross_entropie",
              "'cross_entropy'"),
      (Failure{"invalid_value", "--loss"}));
}

}  // namespace
}  // namespace octet
