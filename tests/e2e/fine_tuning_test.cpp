// octet qat and octet train report models that are worse than their input.
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/keras.h>
#include <octet/io/model_file.h>
#include <octet/layers/layers.h>
#include <octet/quant/sensitivity.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>
#include <octet/train/fit.h>

#include "../io/keras_files.h"
#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// Three overlapping classes of points in the plane, and a network trained on
/// other samples of them.
class FineTuning : public ::testing::Test {
 protected:
  FineTuning() {
    const auto x = input({2}, "x");
    const auto h = ReLU()(Dense({.units = 24, .name = "hidden"})(x));
    model_.emplace(x, Dense({.units = 3, .name = "kinds"})(h));
    const auto [points, labels] = samples(300, 1);
    train::fit(*model_, Dataset(points, labels),
               {.epochs = 30,
                .optimizer = train::Adam({.learning_rate = 0.01f}),
                .verbose = false});
    io::save_model(*model_, folder_ / "in.h5");
    const auto [x2, y2] = samples(400, 2);
    io::write_npy(folder_ / "x.npy", x2);
    io::write_npy(folder_ / "y.npy", y2);
  }

  /// Class 1 has every `period`-th sample; its neighbors are of class 0 and 2.
  static std::pair<Tensor, Tensor> samples(int64_t n, uint64_t seed,
                                           int64_t period = 3) {
    Tensor points({n, 2}), labels({n}, DType::i64);
    Rng rng(seed);
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      const int64_t kind = i % period < 2 ? i % period : 2;
      labels.data<int64_t>()[at] = kind;
      points.f32()[2 * at] = rng.normal() + (kind == 0 ? 5.0f : 0.0f);
      points.f32()[2 * at + 1] = rng.normal() + (kind == 1 ? 5.0f : 0.0f);
    }
    return {points, labels};
  }
  CommandResult run(const std::string& command,
                    const std::string& options) const {
    return run_command(fmt::format(
        "cd {} && {}/octet {} in.h5 --data x.npy --labels y.npy {} 2>&1",
        quoted(folder_.path()), OCTET_BIN, command, options));
  }
  double accuracy_of(const char* name) const {
    const CommandResult r = run_command(fmt::format(
        "cd {} && {}/octet evaluate {} --data x.npy --labels y.npy --json",
        quoted(folder_.path()), OCTET_BIN, name));
    EXPECT_EQ(r.exit_code, 0) << r.output;
    return io::from_json(r.output).at("accuracy").as_number();
  }
  static Config result_of(const CommandResult& r, int exit_code = 0) {
    EXPECT_EQ(r.exit_code, exit_code) << r.output;
    const size_t begin = r.output.find('{');
    return io::from_json(
        r.output.substr(begin, r.output.rfind("\n}") + 2 - begin));
  }

  TempFolder folder_;
  std::optional<Model> model_;
};

TEST_F(FineTuning, QatByDefaultIsNoWorseThanCalibration) {
  const Config result =
      result_of(run("qat", "-o out.h5 --json --validation 0.5"));
  EXPECT_GE(result.at("fine-tuned").at("accuracy").as_number(),
            result.at("calibrated").at("accuracy").as_number());
  EXPECT_GE(result.at("fine-tuned").at("accuracy").as_number(),
            result.at("last epoch").at("accuracy").as_number());
  EXPECT_LT(result.at("rate").as_number(), 0.05);
}

TEST_F(FineTuning, QatKeepsTheCalibratedModelIfTrainingRuinsIt) {
  const std::string ruin = "--epochs 2 --rate 30 --optimizer adam ";
  const CommandResult r = run("qat", "-o out.h5 --json " + ruin);
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_EQ(r.json().at("selected_epoch").as_int(), 0);
  EXPECT_THAT(r.warned(), Contains("qat"));
  EXPECT_GT(accuracy_of("out.h5"), 0.95);
  const CommandResult forced = run("qat", "-o forced.h5 --last-epoch " + ruin);
  EXPECT_EQ(forced.exit_code, 1) << forced.output;
  EXPECT_EQ(forced.failure, (Failure{"accuracy_dropped", "qat"}));
  EXPECT_LT(accuracy_of("forced.h5"), 0.9);
  EXPECT_EQ(run("qat", "-o forced.h5 --last-epoch --accept " + ruin).exit_code,
            0);
}

TEST_F(FineTuning, QatReportsAMissedAccuracy) {
  const CommandResult r = run("qat", "-o out.onnx --accuracy 1 --epochs 1");
  EXPECT_EQ(r.exit_code, 1) << r.output;
  EXPECT_EQ(r.failure, (Failure{"accuracy_not_met", "--accuracy"}));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out.onnx"));
  EXPECT_EQ(run("qat", "-o out.onnx --accuracy 0.9 --epochs 1").exit_code, 0);
  io::write_npy(folder_ / "y.npy", Tensor::zeros({400, 3}));
  const CommandResult numbers =
      run("qat", "-o none.onnx --accuracy 0.9 --loss mean_squared_error");
  EXPECT_EQ(numbers.exit_code, 1);
  EXPECT_EQ(numbers.failure, (Failure{"conflicting_options", "--accuracy"}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none.onnx"));
}

/// Regression has no accuracy to check.
TEST_F(FineTuning, QatReportsARuinedRegression) {
  const auto x = input({2}, "x");
  const auto wide = Dense({.units = 2, .name = "wide"});
  Model model(x, Dense({.units = 1, .name = "y"})(ReLU()(wide(x))));
  // Only the second channel matters, and its range is a millionth of the first.
  model.layer("wide").parameter("kernel").variable.assign(
      Tensor::of<float>({2, 2}, {1e6, 1, 1e6, 1}));
  model.layer("y").parameter("kernel").variable.assign(
      Tensor::of<float>({2, 1}, {0, 1}));
  io::save_model(model, folder_ / "in.h5");
  io::write_npy(folder_ / "y.npy",
                model.predict(io::read_npy(folder_ / "x.npy")));
  const std::string options =
      "-o out.onnx --epochs 1 --rate 1e-12 --loss mean_squared_error ";
  const CommandResult r = run("qat", options);
  EXPECT_EQ(r.exit_code, 1) << r.output;
  EXPECT_EQ(r.failure, (Failure{"accuracy_dropped", "out.onnx"}));
  EXPECT_EQ(run("qat", options + "--accept").exit_code, 0);
}

TEST_F(FineTuning, QatUsesTheLearningRateOfTheFile) {
  const auto rate = [&](const std::string& options) {
    return result_of(run("qat", "-o out.h5 --epochs 1 --json " + options))
        .at("rate")
        .as_number();
  };
  const double found = rate("");
  EXPECT_EQ(rate(""), found);
  EXPECT_GT(found, 0);
  EXPECT_NEAR(rate("--trained-rate 0.2"), 0.002, 1e-8);
  EXPECT_NEAR(rate("--rate 0.125"), 0.125, 1e-8);
  io::save_model(*model_, folder_ / "in.h5",
                 {.training = io::TrainingConfig{"adam", 0.004, true}});
  EXPECT_NEAR(rate(""), 4e-5, 1e-9);
  EXPECT_EQ(io::training_config(folder_ / "out.h5"),
            (io::TrainingConfig{"adam", 0.004, true}));
  // A last learning rate is not exceeded.
  io::save_model(*model_, folder_ / "in.h5",
                 {.training = io::TrainingConfig{"adam", 1e-6, false}});
  EXPECT_NEAR(rate(""), 1e-6, 1e-11);
  // Learned scales need SGD.
  EXPECT_GT(rate("--preset int4"), 1e-5);
}

TEST_F(FineTuning, TrainKeepsTheModelIfTrainingDiverges) {
  const double before = accuracy_of("in.h5");
  ASSERT_GT(before, 0.95);
  const std::string ruin = "--epochs 2 --rate 10 ";
  const CommandResult r = run("train", "-o out.h5 " + ruin);
  EXPECT_EQ(r.exit_code, 1) << r.output;
  EXPECT_EQ(r.failure, (Failure{"diverged", "train"}));
  EXPECT_EQ(accuracy_of("out.h5"), before);
  const CommandResult forced =
      run("train", "-o forced.h5 --last-epoch " + ruin);
  EXPECT_EQ(forced.exit_code, 0) << forced.output;
  EXPECT_THAT(forced.warned(), Contains("train"));
  EXPECT_LT(accuracy_of("forced.h5"), before);
}

TEST_F(FineTuning, TrainByDefaultIsNoWorseThanBefore) {
  const Config result =
      result_of(run("train", "-o out.h5 --json --epochs 3 --validation 0.5"));
  EXPECT_GE(result.at("accuracy").as_number(),
            result.at("before").at("accuracy").as_number());
  EXPECT_FALSE(result.at("diverged").as_bool());
  io::save_model(*model_, folder_ / "in.h5",
                 {.training = io::TrainingConfig{"sgd", 0.01, true}});
  const Config tuned = result_of(run("train", "-o out.h5 --json --epochs 1"));
  EXPECT_NEAR(tuned.at("rate").as_number(), 1e-3, 1e-9);
}

/// Samples of another distribution have other batch statistics.
TEST_F(FineTuning, FreezesStatisticsThatSamplesWouldRuin) {
  const auto x = input({2}, "x");
  const auto norm = BatchNormalization({.momentum = 0.9f, .name = "norm"});
  const auto h = ReLU()(norm(Dense({.units = 24})(x)));
  Model model(x, Dense({.units = 3})(h));
  const auto [points, labels] = samples(300, 1);
  train::fit(model, Dataset(points, labels),
             {.epochs = 30,
              .optimizer = train::Adam({.learning_rate = 0.01f}),
              .verbose = false});
  io::save_model(model, folder_ / "in.h5");
  const auto results = [&](const std::string& command) {
    return result_of(
        run(command, "-o out.h5 --json --epochs 2 --validation 0.5 "));
  };
  EXPECT_FALSE(results("train").at("statistics_frozen").as_bool());
  const auto [x2, y2] = samples(400, 2, 20);
  io::write_npy(folder_ / "x.npy", x2);
  io::write_npy(folder_ / "y.npy", y2);
  const auto last = [](const Config& result) {
    return result.at("last epoch").at("accuracy").as_number();
  };
  const Config trained = results("train");
  EXPECT_TRUE(trained.at("statistics_frozen").as_bool());
  const Model written = io::load_model(folder_ / "out.h5");
  EXPECT_FALSE(written.layer("norm").statistics_frozen());
  EXPECT_GE(last(trained), trained.at("before").at("accuracy").as_number());
  const Config tuned =
      result_of(run("qat",
                    "-o out.h5 --json --epochs 2 --validation 0.5 "
                    "--rate 0.0001"));
  EXPECT_GE(last(tuned), tuned.at("calibrated").at("accuracy").as_number());
}

/// The test samples of this network have other statistics than its training.
TEST_F(FineTuning, TrainByDefaultKeepsTheAccuracyOfKeywords) {
  if (!std::filesystem::exists(testdata("kws01"))) {
    GTEST_SKIP() << testdata() << ": no shared test data";
  }
  const io::Keywords words = io::keywords();
  io::write_npy(folder_ / "x.npy", words.x);
  io::write_npy(folder_ / "y.npy", words.labels);
  std::filesystem::copy_file(testdata("models/kws_ref_model_converted.h5"),
                             folder_ / "in.h5",
                             std::filesystem::copy_options::overwrite_existing);
  const Config result = result_of(run("train", "-o out.h5 --json --epochs 2"));
  EXPECT_GE(result.at("last epoch").at("accuracy").as_number(),
            result.at("before").at("accuracy").as_number() - 0.01);
}

TEST_F(FineTuning, ReportsAPermutedClassOrder) {
  Tensor labels = io::read_npy(folder_ / "y.npy");
  for (int64_t& label : labels.data<int64_t>()) label = (label + 1) % 3;
  io::write_npy(folder_ / "y.npy", labels);
  for (const auto& [command, options] :
       {std::pair{"train", "-o out.h5 --epochs 1"},
        std::pair{"qat", "-o out.h5 --epochs 1 --accept"},
        std::pair{"report", "-o out.html"}}) {
    const CommandResult r = run(command, options);
    EXPECT_THAT(r.warned(), Contains(command));
    EXPECT_THAT(r.output, HasSubstr("--class-names")) << command;
  }
}

TEST_F(FineTuning, ReportsDivergingZooNetworks) {
  Tensor x({60, 32, 32, 3});
  Rng(1).fill_uniform(x, 0, 1);
  Tensor y({60}, DType::i64);
  for (size_t i = 0; i < 60; ++i) {
    y.data<int64_t>()[i] = static_cast<int64_t>(i % 3);
  }
  io::write_npy(folder_ / "x.npy", x);
  io::write_npy(folder_ / "y.npy", y);
  const CommandResult r = run_command(fmt::format(
      "cd {} && {}/octet train zoo:resnet8 --data x.npy --labels y.npy "
      "--epochs 1 --rate 1000 --optimizer sgd -o out.h5 2>&1",
      quoted(folder_.path()), OCTET_BIN));
  EXPECT_EQ(r.exit_code, 1) << r.output;
  EXPECT_EQ(r.failure, (Failure{"diverged", "train"}));
}

TEST_F(FineTuning, WarnsIfPrunedNetworksLoseTheirZeros) {
  Variable kernel = model_->layer("hidden").parameter("kernel").variable;
  Tensor values = kernel.value().clone();
  for (size_t i = 0; i < 24; ++i) values.f32()[2 * i] = 0;
  kernel.assign(values);
  io::save_model(*model_, folder_ / "in.h5");
  EXPECT_EQ(quant::kernel_zeros(io::load_model(folder_ / "in.h5"))[0].zeros,
            24);
  const CommandResult r =
      run("train", "-o out.h5 --epochs 1 --last-epoch --rate 0.01");
  EXPECT_THAT(r.output, AllOf(HasSubstr("50.0"), HasSubstr("'hidden'"),
                              HasSubstr("pruned")));
  // These batches have few values per scale, so large steps are needed.
  const CommandResult tuned =
      run("qat", "-o out.h5 --epochs 1 --last-epoch --accept --rate 0.1");
  EXPECT_THAT(tuned.output, HasSubstr("pruned"));
  const CommandResult kept =
      run("qat", "-o out.h5 --epochs 1 --rate 30 --optimizer adam");
  EXPECT_THAT(kept.output, Not(HasSubstr("pruned")));
}

}  // namespace
}  // namespace octet
