// octet optimize, octet explain, and the switches of post-training methods.
#include <algorithm>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>
#include <octet/train/loss.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// A small network of images [8,8,1] that ends in a softmax.
Model tiny_network() {
  const SymbolicTensor image = input({8, 8, 1}, "image");
  SymbolicTensor x = Conv2D(
      {.filters = 4, .kernel_size = 3, .activation = "relu", .name = "conv"})(
      image);
  x = MaxPooling2D({.name = "pool"})(x);
  x = Flatten({.name = "flatten"})(x);
  x = Dense({.units = 8, .activation = "relu", .name = "fc"})(x);
  x = Dense({.units = 3, .activation = "softmax", .name = "head"})(x);
  return Model(image, x, {.seed = 2});
}

class OctetOptimize : public ::testing::Test {
 protected:
  OctetOptimize() {
    const Model model = tiny_network();
    io::save_model(model, folder_ / "in.h5");
    Tensor x({120, 8, 8, 1});
    Rng(1).fill_uniform(x, -1, 1);
    io::write_npy(folder_ / "x.npy", x);
    // The model's own classes: its accuracy is 100 %.
    const Tensor y = model.predict(x);
    Tensor labels({120}, DType::i64);
    for (size_t i = 0; i < 120; ++i) {
      const float* row = y.f32().data() + 3 * i;
      labels.data<int64_t>()[i] = std::max_element(row, row + 3) - row;
    }
    io::write_npy(folder_ / "y.npy", labels);
  }
  CommandResult run(const std::string& arguments) const {
    return run_command(fmt::format("cd {} && {}/octet {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN,
                                   arguments));
  }
  Failure refusal(const std::string& options) const {
    const CommandResult r =
        run("optimize in.h5 --data x.npy --target tensorrt10 -o out.onnx " +
            options);
    EXPECT_EQ(r.exit_code, 1) << r.output;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.onnx"));
    return r.failure;
  }
  std::string bytes(const char* file) const {
    return read_file(folder_ / file);
  }

  TempFolder folder_;
};

TEST_F(OctetOptimize, WritesAFileThatItsJobReproduces) {
  for (const char* target : {"tensorrt10", "onnxruntime", "openvino"}) {
    const CommandResult r = run(fmt::format(
        "optimize in.h5 --data x.npy --labels y.npy --accuracy-drop 20% "
        "--target {} --restart -o best.onnx",
        target));
    ASSERT_EQ(r.exit_code, 0) << r.output;
    EXPECT_THAT(r.output, HasSubstr("goal met by"));
    EXPECT_THAT(bytes("best.svg"), HasSubstr("<svg"));
    const std::string first = bytes("best.onnx");
    std::filesystem::remove(folder_ / "best.onnx");
    const CommandResult again = run("run best.toml");
    ASSERT_EQ(again.exit_code, 0) << again.output;
    EXPECT_TRUE(bytes("best.onnx") == first) << target;
  }
}

TEST_F(OctetOptimize, ReproducesRecipesOfAllSteps) {
  // Out of reach: the closest of all trials is written, and the exit code is 1.
  for (const char* options :
       {"--min-sqnr 90 --accuracy-drop 0% --latency 1us --no-training",
        "--size 1KB --epochs 1"}) {
    const CommandResult r = run(
        "optimize in.h5 --data x.npy --target tensorrt11 --restart -o out.onnx "
        "--json " +
        std::string(options));
    EXPECT_EQ(r.exit_code, 1) << r.output;
    EXPECT_EQ(r.failure.code, "goal_missed");
    EXPECT_FALSE(r.json().at("met").as_bool());
    const std::string first = bytes("out.onnx");
    std::filesystem::remove(folder_ / "out.onnx");
    const CommandResult again = run("run out.toml");
    ASSERT_EQ(again.exit_code, 0) << again.output;
    EXPECT_TRUE(bytes("out.onnx") == first) << bytes("out.toml");
  }
}

TEST_F(OctetOptimize, ReproducesFineTunedFiles) {
  // Regression, whose goal is out of reach.
  const SymbolicTensor image = input({8, 8, 1}, "image");
  SymbolicTensor x = Conv2D(
      {.filters = 4, .kernel_size = 3, .activation = "relu", .name = "conv"})(
      image);
  x = Dense({.units = 2, .name = "head"})(Flatten({.name = "flatten"})(x));
  io::save_model(Model(image, x, {.seed = 4}), folder_ / "values.h5");
  const std::string command =
      "optimize values.h5 --data x.npy --min-sqnr 200 --target onnxruntime "
      "--epochs 1 -o tuned.onnx --json";
  const CommandResult r = run(command);
  EXPECT_EQ(r.exit_code, 1) << r.output;
  // Makes the trials without training the worst, so that QAT is selected.
  const std::filesystem::path path = folder_ / "tuned.trials.json";
  Config state = io::from_json(read_file(path));
  Config::List trials;
  int tuned = 0;
  for (Config trial : state.at("state").at("trials").as_list()) {
    if (trial.at("recipe").at("fine_tuning").as_string() == "none") {
      trial.set("sqnr_db", 1.0);
    } else {
      EXPECT_EQ(trial.at("error").as_string(), "");
      ++tuned;
    }
    trials.push_back(trial);
  }
  EXPECT_EQ(tuned, 1);
  Config inner = state.at("state");
  inner.set("trials", trials);
  state.set("state", inner);
  write_file(path, io::to_json(state));
  const CommandResult chosen = run(command);
  EXPECT_THAT(bytes("tuned.toml"),
              AllOf(HasSubstr("[qat]"), HasSubstr("teacher = \"self\"")));
  const std::string first = bytes("tuned.onnx");
  std::filesystem::remove(folder_ / "tuned.onnx");
  const CommandResult again = run("run tuned.toml");
  ASSERT_EQ(again.exit_code, 0) << again.output << bytes("tuned.toml");
  EXPECT_TRUE(bytes("tuned.onnx") == first) << bytes("tuned.toml");
}

TEST_F(OctetOptimize, ContinuesAndRefusesStatesOfOtherSearches) {
  const std::string base = "optimize in.h5 --data x.npy -o out.onnx ";
  const std::string options = base + "--target tensorrt10 --accuracy-drop 50% ";
  ASSERT_EQ(run(options).exit_code, 0);
  const std::string state = bytes("out.trials.json");
  const CommandResult again = run(options);
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("continues after"));
  const auto code = [&](const std::string& more) {
    const CommandResult r = run(more);
    EXPECT_EQ(r.exit_code, 1) << r.output;
    EXPECT_THAT(r.failure.message, HasSubstr("--restart"));
    return r.failure.code;
  };
  EXPECT_EQ(code(base + "--target onnxruntime"), "state_mismatch");
  EXPECT_EQ(code(options + "--seed 3"), "state_mismatch");
  io::save_model(Model(tiny_network()), folder_ / "in.h5");
  Tensor x({120, 8, 8, 1});
  Rng(5).fill_uniform(x, -1, 1);
  io::write_npy(folder_ / "x.npy", x);
  EXPECT_EQ(code(options), "state_mismatch");
  for (const std::string& damaged :
       {state.substr(0, state.size() / 2), std::string("{\"version\": 1}"),
        std::string("{\"version\": 7}"), std::string("[]")}) {
    write_file(folder_ / "out.trials.json", damaged);
    EXPECT_EQ(code(options), "invalid_state") << damaged.substr(0, 20);
  }
  EXPECT_EQ(run(options + "--restart").exit_code, 0);
}

TEST_F(OctetOptimize, RefusesGoalsWithoutMeaning) {
  EXPECT_EQ(refusal("--latency 0ms").code, "out_of_range");
  EXPECT_EQ(refusal("--latency 2kg").code, "invalid_value");
  EXPECT_EQ(refusal("--accuracy-drop 200%").code, "out_of_range");
  EXPECT_EQ(refusal("--accuracy-drop 0.5").code, "ambiguous_value");
  EXPECT_EQ(refusal("--accuracy-drop half").code, "invalid_value");
  EXPECT_EQ(refusal("--size 0").code, "out_of_range");
  EXPECT_EQ(refusal("--time-budget 30").code, "invalid_value");
  EXPECT_EQ(refusal("--time-budget 0s").code, "out_of_range");
  const CommandResult unknown =
      run("optimize in.h5 --data x.npy --target tensort10 -o out.onnx");
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.failure.message, HasSubstr("tensorrt10"));
  const CommandResult none = run("optimize in.h5 --data x.npy -o out.onnx");
  EXPECT_EQ(none.failure.subject, "--target");
}

TEST_F(OctetOptimize, WritesTfliteFiles) {
  const CommandResult r =
      run("optimize in.h5 --data x.npy --accuracy-drop 50% -o best.tflite");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const std::string first = bytes("best.tflite");
  std::filesystem::remove(folder_ / "best.tflite");
  ASSERT_EQ(run("run best.toml").exit_code, 0);
  EXPECT_TRUE(bytes("best.tflite") == first);
}

TEST_F(OctetOptimize, SwitchesOfQuantizeApplyTheMethods) {
  std::string plain;
  for (const char* switches :
       {"--no-equalize", "--equalize", "--bias-correction", "--second-order",
        "--adaround", "--reconstruct", "--equalize --adaround",
        "--second-order --bias-correction"}) {
    const CommandResult r = run(fmt::format(
        "quantize in.h5 --data x.npy --bits 4,8 -o s.onnx {}", switches));
    ASSERT_EQ(r.exit_code, 0) << r.output;
    if (plain.empty()) plain = bytes("s.onnx");
    EXPECT_TRUE((bytes("s.onnx") == plain) ==
                (std::string(switches) == "--no-equalize"))
        << switches;
  }
  const CommandResult both =
      run("quantize in.h5 --data x.npy -o s.onnx --adaround --reconstruct");
  EXPECT_EQ(both.exit_code, 2);
}

TEST_F(OctetOptimize, QatLearnsFromATeacherWithoutLabels) {
  const CommandResult r =
      run("qat in.h5 --data x.npy --teacher self --bits 3,4 --epochs 3 "
          "--rate 0.01 --optimizer adam --accept --json -o t.onnx");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const Config result = io::from_json(r.output.substr(r.output.find('{')));
  EXPECT_EQ(result.at("float").at("accuracy").as_number(), 1);
  EXPECT_GE(result.at("fine-tuned").at("accuracy").as_number(),
            result.at("calibrated").at("accuracy").as_number());
  EXPECT_FALSE(io::inspect_onnx(folder_ / "t.onnx").qdq_pairs.empty());
  EXPECT_EQ(run("qat in.h5 --data x.npy --epochs 1 -o u.onnx").exit_code, 1);
  const CommandResult augmented =
      run("qat in.h5 --data x.npy --teacher self --augment flip -o u.onnx");
  EXPECT_EQ(augmented.failure.subject, "--augment");
  const CommandResult from_quantized =
      run("qat t.onnx --data x.npy --teacher self --epochs 1 -o u.onnx");
  EXPECT_EQ(from_quantized.failure.subject, "--teacher");
  EXPECT_EQ(run("qat t.onnx --data x.npy --teacher in.h5 --epochs 1 --accept "
                "-o u.onnx")
                .exit_code,
            0);
}

// Logits learned the probabilities of the teacher.
TEST_F(OctetOptimize, QatRejectsTeachersWithAnotherActivation) {
  io::save_model(train::logits_model(tiny_network()), folder_ / "logits.h5");
  for (const char* models :
       {"logits.h5 --teacher in.h5", "in.h5 --teacher logits.h5"}) {
    const CommandResult r =
        run(fmt::format("qat {} --data x.npy --epochs 1 -o u.onnx", models));
    EXPECT_EQ(r.failure.code, "activation_mismatch") << r.output;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "u.onnx"));
}

TEST_F(OctetOptimize, ExplainPrintsCommandsThatRun) {
  ASSERT_EQ(run("quantize in.h5 --data x.npy -o q.onnx").exit_code, 0);
  ASSERT_EQ(run("quantize in.h5 --data x.npy -o q.tflite").exit_code, 0);
  for (const char* page :
       {"q.onnx", "q.onnx --data x.npy --reference in.h5 --target onnxruntime",
        "in.h5", "in.h5 --data x.npy", "q.tflite"}) {
    const CommandResult r = run(fmt::format("explain {}", page));
    ASSERT_EQ(r.exit_code, 0) << r.output;
    EXPECT_THAT(r.output, HasSubstr("float, and why"));
    int commands = 0;
    for (size_t at = r.output.find("\n    octet "); at != r.output.npos;
         at = r.output.find("\n    octet ", at + 1)) {
      const size_t from = at + 11;
      const std::string command =
          r.output.substr(from, r.output.find('\n', from) - from);
      const CommandResult ran = run(command);
      // A search may miss its goal on so few samples.
      EXPECT_TRUE(ran.exit_code == 0 || ran.failure.code == "goal_missed")
          << command << "\n"
          << ran.output;
      ++commands;
    }
    EXPECT_GE(commands, 2) << r.output;
  }
}

// The preprocessing and the limits were missing.
TEST_F(OctetOptimize, SuggestsCommandsWithTheGivenOptions) {
  const CommandResult r = run(
      "explain in.h5 --data x.npy --preprocess 0.5/0.25 --crop none --pad 0 "
      "--skip-corrupt --time-limit 60");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output,
              HasSubstr("octet quantize in.h5 --time-limit 60 --data x.npy "
                        "--preprocess 0.5/0.25 --skip-corrupt --crop none "
                        "--pad 0 -o in_int8.onnx"));
  EXPECT_THAT(r.output, HasSubstr("octet bench in.h5 --time-limit 60 --int8"));
}

}  // namespace
}  // namespace octet
