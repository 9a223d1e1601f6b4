// octet train.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/layers/dense.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Three separated classes of points in the plane, and a Dense layer.
class OctetTrain : public ::testing::Test {
 protected:
  OctetTrain() {
    const auto x = input({2}, "x");
    io::save_model(Model(x, Dense({.units = 3})(x)), folder_ / "in.h5");
    for (const char* part : {"train", "test"}) {
      const int64_t n = part[1] == 'r' ? 90 : 30;
      Tensor points({n, 2});
      Tensor labels({n}, DType::i64);
      Rng(static_cast<uint64_t>(n)).fill_uniform(points, 0, 1);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t label = i % 3;
        labels.data<int64_t>()[static_cast<size_t>(i)] = label;
        points.f32()[static_cast<size_t>(2 * i)] += label == 0 ? 3.0f : 0.0f;
        points.f32()[static_cast<size_t>(2 * i + 1)] +=
            label == 1 ? 3.0f : 0.0f;
      }
      io::write_npy(folder_ / fmt::format("x_{}.npy", part), points);
      io::write_npy(folder_ / fmt::format("y_{}.npy", part), labels);
    }
  }
  CommandResult run(const std::string& options) const {
    return run_command(fmt::format("cd {} && {}/octet train {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN, options));
  }
  /// Expects an exit code and a message with the fact.
  Failure refusal(const std::string& options, const std::string& fact = "",
                  int code = 1) const {
    const CommandResult r = run(options);
    EXPECT_EQ(r.exit_code, code) << r.output;
    EXPECT_THAT(r.failure.message, HasSubstr(fact));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.h5")) << r.output;
    return r.failure;
  }
  std::string bytes(const char* name) const {
    return read_file(folder_ / name);
  }

  TempFolder folder_;
};

/// The second output returns the first coordinate.
TEST_F(OctetTrain, TrainsQuantizesAndFineTunesSeveralOutputs) {
  const auto x = input({2}, "x");
  const auto h = Dense({.units = 8, .name = "h"})(x);
  io::save_model(Model({x}, {Dense({.units = 3, .name = "kind"})(h),
                             Dense({.units = 1, .name = "left"})(x)}),
                 folder_ / "two.h5");
  const Tensor points = io::read_npy(folder_ / "x_train.npy");
  Tensor left({90, 1});
  for (size_t i = 0; i < 90; ++i) left.f32()[i] = points.f32()[2 * i];
  io::write_npy(folder_ / "left.npy", left);
  const std::string data =
      "--data x_train.npy --labels left=left.npy --labels kind=y_train.npy "
      "--loss left=mean_squared_error --batch 16 --json ";
  const CommandResult trained =
      run("two.h5 -o out.h5 --epochs 80 --rate 0.05 --validation 0 " + data);
  ASSERT_EQ(trained.exit_code, 0) << trained.output;
  const Config result = io::from_json(trained.output);
  EXPECT_GT(result.at("kind_accuracy").as_number(), 0.95);
  EXPECT_LT(result.at("left_loss").as_number(), 0.05);
  const auto octet = [&](const std::string& command) {
    return run_command(fmt::format("cd {} && {}/octet {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN, command));
  };
  const CommandResult tuned =
      octet("qat out.h5 -o int8.onnx --epochs 1 --validation 0 " + data);
  ASSERT_EQ(tuned.exit_code, 0) << tuned.output;
  EXPECT_GT(io::from_json(tuned.output)
                .at("fine-tuned")
                .at("kind_accuracy")
                .as_number(),
            0.9);
  const CommandResult quantized = octet(
      "quantize out.h5 -o ptq.onnx --json --data x_train.npy --labels "
      "kind=y_train.npy");
  ASSERT_EQ(quantized.exit_code, 0) << quantized.output;
  EXPECT_THAT(quantized.warned(), ElementsAre("--labels"));
  EXPECT_GT(quantized.json().at("quantized_accuracy").as_number(), 0.9);
}

TEST_F(OctetTrain, LearnsAndReportsAccuracy) {
  const CommandResult r =
      run("in.h5 --data . --epochs 40 --rate 0.05 --batch 16 -o out.h5 --json");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const Config result = io::from_json(r.output);
  EXPECT_EQ(result.at("accuracy").as_number(), 1);
  EXPECT_EQ(result.at("evaluated_on").as_string(), "validation");
  EXPECT_EQ(result.at("samples").as_int(), 30);
  EXPECT_EQ(io::load_model(folder_ / "out.h5").parameter_count(), 9);
}

TEST_F(OctetTrain, IsIndependentOfThreadsAndResumption) {
  const std::string job =
      "in.h5 --data . --epochs 3 --optimizer sgd --schedule step --seed 7 ";
  ASSERT_EQ(run(job + "-o a.h5").exit_code, 0);
  ASSERT_EQ(run(job + "--threads 1 -o b.h5 --checkpoint runs").exit_code, 0);
  EXPECT_EQ(bytes("a.h5"), bytes("b.h5"));
  EXPECT_EQ(refusal(job + "-o out.h5 --checkpoint runs"),
            (Failure{"invalid_state", "--checkpoint"}));
  ASSERT_EQ(run(job + "-o c.h5 --checkpoint runs --resume").exit_code, 0);
  EXPECT_EQ(bytes("a.h5"), bytes("c.h5"));
}

TEST_F(OctetTrain, HoldsOutAValidationShare) {
  const auto samples = [&](const std::string& options) {
    const CommandResult r =
        run("in.h5 --data x_train.npy --labels y_train.npy --epochs 1 -o a.h5 "
            "--json " +
            options);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    const Config result = io::from_json(r.output);
    return std::vector<int64_t>{result.at("training_samples").as_int(),
                                result.at("samples").as_int()};
  };
  EXPECT_THAT(samples(""), ElementsAre(81, 9));
  EXPECT_THAT(samples("--validation 0.4"), ElementsAre(54, 36));
  EXPECT_THAT(samples("--validation 0"), ElementsAre(90, 90));
}

TEST_F(OctetTrain, ChecksTheClassesOfANewNetwork) {
  // Equal images teach nothing.
  io::write_npy(folder_ / "x.npy", Tensor::full({100, 28, 28, 1}, 0.5f));
  const auto train = [&](int64_t first, int64_t classes) {
    Tensor labels({100}, DType::i64);
    for (int64_t i = 0; i < 100; ++i) {
      labels.data<int64_t>()[static_cast<size_t>(i)] = first + i % classes;
    }
    io::write_npy(folder_ / "y.npy", labels);
    return run("zoo:lenet --data x.npy --labels y.npy --epochs 1 -o new.h5");
  };
  EXPECT_EQ(train(1, 1).failure, (Failure{"missing_classes", "--data"}));
  const CommandResult gap = train(1, 5);
  EXPECT_EQ(gap.exit_code, 0) << gap.output;
  EXPECT_THAT(gap.warned(), Contains("--data"));
  EXPECT_THAT(gap.output, HasSubstr("1 of 6, the first 0"));
  EXPECT_THAT(train(0, 5).warned(), ElementsAre("train"));
}

TEST_F(OctetTrain, RejectsInvalidOptionsBeforeTraining) {
  EXPECT_EQ(refusal("in.h5 --data . -o none/out.h5"),
            (Failure{"file_not_found", "none/out.h5"}));
  EXPECT_EQ(refusal("in.h5 --data . -o out.txt", ".h5", 2),
            (Failure{"invalid_value", "--output"}));
  EXPECT_EQ(refusal("in.h5 --data . -o out.h5 --epochs 0", "", 2),
            (Failure{"invalid_value", "--epochs"}));
  const std::string before = bytes("in.h5");
  EXPECT_EQ(refusal("in.h5 --data . -o in.h5", "in.h5"),
            (Failure{"conflicting_options", "--output"}));
  EXPECT_EQ(bytes("in.h5"), before);
  EXPECT_EQ(refusal("in.h5 --data . -o out.h5 --augment flip,cropp", "'crop'"),
            (Failure{"invalid_value", "--augment"}));
  // Values up to 4.
  EXPECT_EQ(refusal("in.h5 --data . -o out.h5 --augment brightness", "[0,255]"),
            (Failure{"out_of_range", "--augment"}));
  EXPECT_EQ(refusal("in.h5 --data . -o out.h5 --optimizer adm", "'adam'"),
            (Failure{"invalid_value", "--optimizer"}));
  EXPECT_EQ(refusal("in.h5 --data . -o out.h5 --schedule cosin", "'cosine'"),
            (Failure{"invalid_value", "--schedule"}));
  EXPECT_EQ(refusal("in.h5 --data . -o out.h5 --validation 1", "[0,1)"),
            (Failure{"out_of_range", "--validation"}));
  EXPECT_EQ(refusal("in.h5 --data . -o out.h5 --classes 4"),
            (Failure{"conflicting_options", "--classes, --alpha"}));
  EXPECT_EQ(refusal("zoo:lenet --data . -o out.h5", "[2]"),
            (Failure{"invalid_shape", "input"}));
}

/// Writes MNIST files: two classes, dark and bright images [4,6].
void write_idx_files(const std::filesystem::path& folder) {
  std::filesystem::create_directory(folder);
  for (const char* part : {"train", "t10k"}) {
    constexpr char kCount = 20;
    std::string images({0, 0, 8, 3, 0, 0, 0, kCount, 0, 0, 0, 4, 0, 0, 0, 6});
    std::string labels({0, 0, 8, 1, 0, 0, 0, kCount});
    for (int i = 0; i < kCount; ++i) {
      images.append(24, static_cast<char>(i % 2 == 0 ? 10 + i : 120 - i));
      labels.push_back(static_cast<char>(i % 2));
    }
    write_file(folder / fmt::format("{}-images-idx3-ubyte", part), images);
    write_file(folder / fmt::format("{}-labels-idx1-ubyte", part), labels);
  }
}

TEST_F(OctetTrain, FilesStoreThePreprocessing) {
  write_idx_files(folder_ / "idx");
  const auto x = input({4, 6, 1}, "x");
  io::save_model(Model(x, Dense({.units = 2})(Flatten()(x))),
                 folder_ / "images.h5");
  const auto octet = [&](const char* line) {
    const CommandResult r = run_command(fmt::format(
        "cd {} && {}/octet {} 2>&1", quoted(folder_.path()), OCTET_BIN, line));
    EXPECT_EQ(r.exit_code, 0) << line << ": " << r.output;
    return r;
  };
  octet("train images.h5 --data idx --preprocess tf --epochs 1 -o tf.h5");
  EXPECT_EQ(io::trained_preprocess(folder_ / "tf.h5"), "tf");
  const CommandResult same = octet("evaluate tf.h5 --data idx --json");
  EXPECT_EQ(same.json().at("preprocessing").as_string(), "bytes as 'tf'");
  EXPECT_THAT(same.warned(), IsEmpty());
  const CommandResult other =
      octet("evaluate tf.h5 --data idx --json --preprocess unit");
  EXPECT_EQ(other.json().at("preprocessing").as_string(), "bytes as 'unit'");
  EXPECT_THAT(other.warned(), ElementsAre("--preprocess"));
  for (const char* line :
       {"train tf.h5 --data idx --epochs 1 -o out.h5",
        "qat tf.h5 --data idx --epochs 1 -o out.h5", "fold tf.h5 -o out.h5",
        "quantize tf.h5 --data idx -o out.onnx", "convert tf.h5 out.onnx"}) {
    octet(line);
    const bool onnx = std::string_view(line).ends_with("onnx");
    EXPECT_EQ(io::trained_preprocess(folder_ / (onnx ? "out.onnx" : "out.h5")),
              "tf")
        << line;
    std::filesystem::remove(folder_ / "out.h5");
    std::filesystem::remove(folder_ / "out.onnx");
  }
  // Floats are already preprocessed; the file keeps its mode.
  io::write_npy(folder_ / "x.npy", Tensor::zeros({6, 4, 6, 1}));
  io::write_npy(folder_ / "y.npy",
                Tensor::of<int64_t>({6}, {0, 1, 0, 1, 0, 1}));
  octet("train tf.h5 --data x.npy --labels y.npy --epochs 1 -o floats.h5");
  EXPECT_EQ(io::trained_preprocess(folder_ / "floats.h5"), "tf");
  octet("train in.h5 --data . --epochs 1 -o points.h5");
  EXPECT_EQ(io::trained_preprocess(folder_ / "points.h5"), "");
}

}  // namespace
}  // namespace octet
