// octet quantize.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/zoo.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/quantize_model.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>

#include "../support.h"
#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

Model quantized_lenet() {
  Model model = quant::quantize_model(zoo::make("lenet"));
  quant::calibrate(model, [](const Model& m) {
    Tensor x({2, 28, 28, 1});
    Rng(1).fill_uniform(x, 0, 1);
    (void)m(Variable(x));
  });
  return model;
}

class OctetQuantize : public ::testing::Test {
 protected:
  OctetQuantize() {
    Tensor x({40, 28, 28, 1});
    Rng(1).fill_uniform(x, 0, 1);
    io::write_npy(folder_ / "x.npy", x);
    Tensor labels({40}, DType::i64);
    int64_t next = 0;
    for (int64_t& label : labels.data<int64_t>()) label = next++ % 10;
    io::write_npy(folder_ / "l.npy", labels);
  }

  std::string file(const char* name) const { return quoted(folder_ / name); }
  CommandResult run(const std::string& options) const {
    return run_command(fmt::format("{}/octet quantize zoo:lenet -o {} {} 2>&1",
                                   OCTET_BIN, file("int8.onnx"), options));
  }
  /// Expects a message with the fact, and no file.
  Failure refusal(const std::string& options,
                  const std::string& fact = "") const {
    const CommandResult r = run(options);
    EXPECT_NE(r.exit_code, 0);
    EXPECT_THAT(r.failure.message, HasSubstr(fact));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "int8.onnx"));
    return r.failure;
  }

  TempFolder folder_;
};

TEST_F(OctetQuantize, CalibratesWithEveryMethod) {
  const int64_t pairs = io::to_onnx(quantized_lenet()).report.qdq_pairs;
  for (const char* method : {"auto", "max", "percentile", "mse", "entropy"}) {
    const CommandResult r =
        run(fmt::format("--json --data {} --method {}", file("x.npy"), method));
    ASSERT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(r.json().at("qdq_pairs").as_int(), pairs);
    EXPECT_EQ(std::ssize(io::inspect_onnx(folder_ / "int8.onnx").qdq_pairs),
              pairs);
  }
}

TEST_F(OctetQuantize, ReportsAccuracyWithLabels) {
  const CommandResult r =
      run(fmt::format("--data {} --labels {}", file("x.npy"), file("l.npy")));
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, AllOf(HasSubstr("30 samples"), HasSubstr("accuracy")));
}

TEST_F(OctetQuantize, FollowsPlacementOptions) {
  write_file(folder_ / "spec.json",
             R"({"spec": [{"name": "Conv2D", "target": "class",
                           "quantize_input": false, "quantize_weight": false}]})");
  const auto pairs = [&](const std::string& options) {
    const CommandResult r =
        run(fmt::format("--data {} --method max {}", file("x.npy"), options));
    EXPECT_EQ(r.exit_code, 0) << r.output;
    return std::ssize(io::inspect_onnx(folder_ / "int8.onnx").qdq_pairs);
  };
  const auto all = pairs("");
  EXPECT_LT(pairs("--spec " + file("spec.json")), all);
  EXPECT_GT(pairs("--policy patterns"), 0);
  EXPECT_GT(pairs("--policy toolkit"), 0);
}

TEST_F(OctetQuantize, FollowsWeightOptions) {
  const auto bytes = [&](const std::string& options) {
    const CommandResult r =
        run(fmt::format("--data {} --method max {}", file("x.npy"), options));
    EXPECT_EQ(r.exit_code, 0) << r.output;
    return std::filesystem::file_size(folder_ / "int8.onnx");
  };
  const auto floats = bytes("--weights float32");
  EXPECT_EQ(bytes(""), floats);
  EXPECT_LT(bytes("--weights int8"), floats / 2);
  std::filesystem::remove(folder_ / "int8.onnx");
  EXPECT_EQ(refusal("--data " + file("x.npy") + " --weights int4", "'int4'"),
            (Failure{"invalid_value", "--weights"}));
  EXPECT_EQ(bytes("--target tensorrt8"), floats);
  EXPECT_LT(bytes("--target tensorrt11"), floats / 2);
  EXPECT_EQ(bytes("--target tensorrt11 --weights float32"), floats);
}

TEST_F(OctetQuantize, WritesGoldenVectorsOfItsSamples) {
  ASSERT_EQ(run("--method max --golden --batches 1,3,5 --data " + file("x.npy"))
                .exit_code,
            0);
  const Tensor x = io::read_npy(folder_ / "int8.golden" / "input_0.npy");
  const Tensor y = io::read_npy(folder_ / "int8.golden" / "output_0.npy");
  const Tensor data = io::read_npy(folder_ / "x.npy");
  ASSERT_EQ(x.shape(), (Shape{3, 1, 28, 28}));
  EXPECT_TRUE(std::equal(x.f32().begin(), x.f32().end(), data.f32().begin()));
  const auto model = io::load_onnx_reference(folder_ / "int8.onnx");
  EXPECT_EQ(bits(model.predict(x)), bits(y));
  for (const auto& [name, tensor] :
       {std::pair{"input_0.raw", x}, std::pair{"output_0.raw", y}}) {
    const std::string raw = read_file(folder_ / "int8.golden" / name);
    ASSERT_EQ(std::ssize(raw), tensor.bytes());
    EXPECT_EQ(std::memcmp(raw.data(), tensor.raw(), raw.size()), 0);
  }
}

TEST_F(OctetQuantize, WritesCommandsForEachTensorrt) {
  const auto commands = [&](const std::string& options) {
    const CommandResult r =
        run("--method max --golden --data " + file("x.npy") + " " + options);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    std::string text = read_file(folder_ / "int8.commands.sh");
    EXPECT_THAT(r.output, HasSubstr(text));
    return text;
  };
  // Returns the words of the commands, without comments.
  const auto words_of = [](const std::string& text) {
    std::vector<std::string> words;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('#')) continue;
      std::istringstream in(line);
      words.insert(words.end(), std::istream_iterator<std::string>(in), {});
    }
    return words;
  };
  EXPECT_THAT(
      words_of(commands("--target tensorrt8")),
      AllOf(IsSupersetOf({"--int8", "--fp16", "--optShapes=input:8x1x28x28",
                          "--maxShapes=input:32x1x28x28",
                          "--separateProfileRun"}),
            Contains(HasSubstr("input:int8.golden/input_0.raw"))));
  EXPECT_THAT(words_of(commands("--target tensorrt10")),
              AllOf(Contains("--stronglyTyped"), Not(Contains("--int8"))));
  EXPECT_THAT(words_of(commands("--target tensorrt11")),
              AllOf(Not(Contains("--int8")), Not(Contains("--stronglyTyped")),
                    Contains(HasSubstr("logits:int8.golden/output_0.raw"))));
  EXPECT_THAT(words_of(commands("--target tensorrt11 --batch 2")),
              Not(Contains(ContainsRegex("[sS]hapes"))));
  // All three without a target.
  EXPECT_THAT(commands("--weights float32"),
              AllOf(HasSubstr("TensorRT 8.6"), HasSubstr("TensorRT 10"),
                    HasSubstr("TensorRT 11")));
  std::filesystem::remove(folder_ / "int8.commands.sh");
  ASSERT_EQ(
      run("--method max --golden --target openvino --data " + file("x.npy"))
          .exit_code,
      0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "int8.commands.sh"));
}

TEST_F(OctetQuantize, RejectsInvalidBatches) {
  for (const char* batches :
       {"1,8", "8,1,32", "0,1,2", "1,2,x", "1,2,3,", ""}) {
    std::filesystem::remove(folder_ / "int8.onnx");
    EXPECT_EQ(refusal(fmt::format("--data {} --golden --batches '{}'",
                                  file("x.npy"), batches)),
              (Failure{"invalid_value", "--batches"}))
        << batches;
  }
}

TEST_F(OctetQuantize, RejectsOptionsThatTheTargetDoesNotSupport) {
  const std::string x = "--method max --data " + file("x.npy");
  EXPECT_EQ(refusal(x + " --target tensorrt8 --weights int8", "int8"),
            (Failure{"conflicting_options", "ONNX weights"}));
  EXPECT_EQ(refusal(x + " --target tensorrt10 --opset 21", "20"),
            (Failure{"out_of_range", "ONNX opset"}));
  EXPECT_EQ(refusal(x + " --target tensort10", "'tensorrt10'"),
            (Failure{"invalid_value", "--target"}));
}

TEST_F(OctetQuantize, WritesFp8) {
  const std::string fp8 = "--format fp8 --data " + file("x.npy");
  EXPECT_EQ(refusal(fp8 + " --bits 4,8"),
            (Failure{"conflicting_options", "--bits"}));
  EXPECT_EQ(refusal(fp8 + " --policy onnxruntime"),
            (Failure{"conflicting_options", "--policy"}));
  for (const char* target : {"onnxruntime", "openvino", "tensorrt8"}) {
    EXPECT_EQ(refusal(fp8 + " --target " + target),
              (Failure{"conflicting_options", "--format"}));
  }
  EXPECT_EQ(refusal("--format fp9 --data " + file("x.npy")),
            (Failure{"invalid_value", "--format"}));
  const CommandResult r = run(fp8 + " --target tensorrt10");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  const io::OnnxSummary summary = io::inspect_onnx(folder_ / "int8.onnx");
  EXPECT_EQ(summary.opset, 19);
  EXPECT_FALSE(summary.qdq_pairs.empty());
  for (const io::OnnxQdqPair& pair : summary.qdq_pairs) {
    EXPECT_EQ(pair.type, "float8e4m3fn") << pair.tensor;
  }
}

TEST_F(OctetQuantize, WritesInt4WeightsInBlocks) {
  const std::string data = "--data " + file("x.npy");
  EXPECT_EQ(refusal(data + " --block 16"),
            (Failure{"conflicting_options", "--block"}));
  const std::string w4 = data + " --format w4a16 --block 16 --accept";
  EXPECT_EQ(refusal(w4 + " --target tensorrt10"),
            (Failure{"conflicting_options", "--format"}));
  EXPECT_EQ(refusal(w4 + " --policy toolkit"),
            (Failure{"conflicting_options", "--policy"}));
  for (const char* target : {"tensorrt11", "onnxruntime", "any"}) {
    const CommandResult r = run(w4 + " --target " + target);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    const io::OnnxSummary summary = io::inspect_onnx(folder_ / "int8.onnx");
    EXPECT_EQ(summary.opset, 21);
    EXPECT_FALSE(summary.qdq_pairs.empty());
    for (const io::OnnxQdqPair& pair : summary.qdq_pairs) {
      EXPECT_EQ(pair.type, "int4") << pair.tensor;
    }
  }
}

TEST_F(OctetQuantize, ExcludesLayersAndSetsBitWidths) {
  const auto weights = [&](const std::string& options) {
    const CommandResult r =
        run(fmt::format("--data {} --method max {}", file("x.npy"), options));
    EXPECT_EQ(r.exit_code, 0) << r.output;
    const auto pairs = io::inspect_onnx(folder_ / "int8.onnx").qdq_pairs;
    return std::ranges::count(pairs, "weight", &io::OnnxQdqPair::kind);
  };
  const auto all = weights("");
  EXPECT_EQ(weights("--exclude conv.*"), all - 2);
  EXPECT_EQ(weights("--exclude conv1 --exclude conv2"), all - 2);
  EXPECT_EQ(weights("--bits 4,8"), all);
  // A first layer in float has no bit width.
  EXPECT_EQ(weights("--bits 4,4 --exclude conv1"), all - 1);
  EXPECT_GT(weights("--bits 4,4 --policy patterns"), 0);
  EXPECT_EQ(weights("--fold"), all);
  const std::string x = "--data " + file("x.npy");
  std::filesystem::remove(folder_ / "int8.onnx");
  EXPECT_EQ(refusal(x + " --exclude conv", "'conv'"),
            (Failure{"unknown_name", "user spec"}));
  EXPECT_EQ(refusal(x + " --bits 4"), (Failure{"invalid_value", "--bits"}));
  EXPECT_EQ(refusal(x + " --bits 4,9"), (Failure{"invalid_value", "--bits"}));
  EXPECT_EQ(weights("--mean-bits 5"), all);
  std::filesystem::remove(folder_ / "int8.onnx");
  EXPECT_EQ(refusal(x + " --mean-bits 5 --bits 4,8"),
            (Failure{"conflicting_options", "--mean-bits"}));
  EXPECT_EQ(refusal(x + " --mean-bits 5 --policy patterns", "patterns"),
            (Failure{"conflicting_options", "--mean-bits"}));
  EXPECT_EQ(refusal(x + " --policy onnxruntime"),
            (Failure{"conflicting_options", "--policy"}));
}

TEST_F(OctetQuantize, ComparesWithTheFloatModel) {
  const CommandResult r = run(fmt::format("--data {} --labels {} --json",
                                          file("x.npy"), file("l.npy")));
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const Config result = io::from_json(r.output.substr(r.output.find('{')));
  EXPECT_EQ(result.at("samples").as_int(), 40);
  EXPECT_GT(result.at("sqnr_db").as_number(), 20);
  EXPECT_LT(result.at("sqnr_db").as_number(), 80);
  EXPECT_NEAR(result.at("float_accuracy").as_number(),
              result.at("quantized_accuracy").as_number(), 0.1);
}

TEST_F(OctetQuantize, RunsThePtqPipeline) {
  const std::string data =
      fmt::format("--data {} --labels {}", file("x.npy"), file("l.npy"));
  EXPECT_EQ(refusal("--pipeline --accuracy 0.5 --data " + file("x.npy")),
            (Failure{"missing_value", "--accuracy"}));
  EXPECT_EQ(refusal(data + " --pipeline --method max"),
            (Failure{"conflicting_options", "--method"}));
  EXPECT_EQ(refusal(data + " --accuracy 0.5"),
            (Failure{"conflicting_options", "--accuracy"}));
  const CommandResult met = run(data + " --pipeline --accuracy 0 --bits 4,8");
  ASSERT_EQ(met.exit_code, 0) << met.output;

  // With other placement and float layers.
  const CommandResult placed = run(
      data +
      " --pipeline --accuracy 0 --policy patterns --bits 4,8 --exclude conv1");
  EXPECT_EQ(placed.exit_code, 0) << placed.output;
  std::set<std::string> readers;
  for (const auto& pair : io::inspect_onnx(folder_ / "int8.onnx").qdq_pairs) {
    if (pair.kind == "weight") readers.insert(pair.consumer);
  }
  EXPECT_FALSE(readers.contains("quant_conv1"));
  EXPECT_TRUE(readers.contains("quant_conv2"));
  const CommandResult missed = run(data + " --pipeline --accuracy 1");
  EXPECT_EQ(missed.exit_code, 1);
  EXPECT_EQ(missed.failure, (Failure{"accuracy_not_met", "--accuracy"}));
}

// Without labels, by output error.
TEST_F(OctetQuantize, KeepsTheBestStageOfThePipeline) {
  const CommandResult r =
      run("--pipeline --bits 4,8 --json --data " + file("x.npy"));
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const Config found = io::from_json(r.output.substr(r.output.find('{')));
  EXPECT_NE(found.at("selected").as_string(), "nearest rounding");
  EXPECT_EQ(found.find("target"), nullptr);
}

TEST_F(OctetQuantize, AcceptsASingleSample) {
  const Tensor x = io::read_npy(folder_ / "x.npy");
  for (const int64_t n : {1, 2}) {
    Tensor some({n, 28, 28, 1});
    std::ranges::copy(x.f32().first(some.f32().size()), some.f32().begin());
    io::write_npy(folder_ / "few.npy", some);
    for (const char* options :
         {"", "--method max", "--samples 1", "--mean-bits 5"}) {
      const CommandResult r =
          run(fmt::format("--data {} {}", file("few.npy"), options));
      EXPECT_EQ(r.exit_code, 0) << r.output;
      if (*options != 0) continue;
      EXPECT_THAT(r.output, HasSubstr("too few"));
    }
  }
}

TEST_F(OctetQuantize, RejectsInvalidSamples) {
  const std::string x = "--data " + file("x.npy");
  EXPECT_EQ(refusal(x + " --method best"),
            (Failure{"invalid_value", "--method"}));
  EXPECT_EQ(refusal(x + " --policy patterns --case ResNetV1"),
            (Failure{"conflicting_options", "--policy"}));
  io::write_npy(folder_ / "u8.npy", Tensor::zeros({40, 28, 28, 1}, DType::u8));
  EXPECT_EQ(refusal("--data " + file("u8.npy"), "float32"),
            (Failure{"unsupported_type", (folder_ / "u8.npy").string()}));
  io::write_npy(folder_ / "other.npy", Tensor::zeros({40, 2, 28, 28}));
  EXPECT_EQ(refusal("--data " + file("other.npy"), "[28,28,1]"),
            (Failure{"shape_mismatch", "quantize"}));
  io::write_npy(folder_ / "same.npy", Tensor::zeros({40, 28, 28, 1}));
  EXPECT_EQ(refusal("--data " + file("same.npy")),
            (Failure{"invalid_value", "input 'input_layer'"}));
  io::write_npy(folder_ / "few.npy", Tensor::zeros({7}, DType::i64));
  EXPECT_EQ(refusal(x + " --labels " + file("few.npy"), "40"),
            (Failure{"count_mismatch", (folder_ / "few.npy").string()}));
  EXPECT_EQ(refusal(x + " --labels " + file("x.npy")),
            (Failure{"dtype_mismatch", "--labels"}));
  EXPECT_EQ(refusal("--data none.npy"),
            (Failure{"file_not_found", "none.npy"}));
  EXPECT_EQ(refusal(""), (Failure{"missing_value", "--data"}));
}

}  // namespace
}  // namespace octet
