// octet qat.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/rng.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class OctetQat : public ::testing::Test {
 protected:
  OctetQat() {
    io::save_model(zoo::make("lenet", {.classes = 3}), folder_ / "in.h5",
                   {.classes = {"a", "b", "c"}});
    Tensor x({30, 28, 28, 1});
    Rng(1).fill_uniform(x, 0, 1);
    Tensor labels({30}, DType::i64);
    int64_t next = 0;
    for (int64_t& label : labels.data<int64_t>()) label = next++ % 3;
    io::write_npy(folder_ / "x.npy", x);
    io::write_npy(folder_ / "y.npy", labels);
  }
  CommandResult run(const std::string& options,
                    const std::string& model = "in.h5") const {
    return run_octet(
        fmt::format("qat {} --data x.npy --labels y.npy {}", model, options));
  }
  CommandResult run_octet(const std::string& arguments) const {
    return run_command(fmt::format("cd {} && {}/octet {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN,
                                   arguments));
  }
  /// Returns the JSON after the warnings.
  static Config result_in(const std::string& output) {
    return io::from_json(
        output.substr(std::min(output.find('{'), output.size())));
  }
  /// Expects an exit code and a message with the fact.
  Failure refusal(const std::string& options, const std::string& fact = "",
                  int code = 1) const {
    const CommandResult r = run(options);
    EXPECT_EQ(r.exit_code, code) << r.output;
    EXPECT_THAT(r.failure.message, HasSubstr(fact));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.onnx"));
    return r.failure;
  }

  TempFolder folder_;
};

TEST_F(OctetQat, ReportsAccuraciesAndExportsTheClasses) {
  for (const char* preset : {"int8", "int8_mobile", "int4"}) {
    const CommandResult r = run(fmt::format(
        "-o out.onnx --json --epochs 2 --batch 8 --preset {}", preset));
    ASSERT_EQ(r.exit_code, 0) << r.output;
    const Config result = result_in(r.output);
    for (const char* phase : {"float", "calibrated", "fine-tuned"}) {
      EXPECT_EQ(result.at(phase).at("samples").as_int(), 3) << phase;
      EXPECT_LE(result.at(phase).at("accuracy").as_number(), 1);
    }
    EXPECT_EQ(result.at("epochs").as_int(), 2);
    const io::OnnxSummary file = io::inspect_onnx(folder_ / "out.onnx");
    EXPECT_THAT(file.classes, ElementsAre("a", "b", "c"));
    EXPECT_FALSE(file.qdq_pairs.empty());
  }
}

TEST_F(OctetQat, KeepsQdqAndScalesOfAQuantizedModel) {
  const CommandResult made = run_octet(
      "quantize in.h5 --data x.npy --target onnxruntime -o given.onnx");
  ASSERT_EQ(made.exit_code, 0) << made.output;
  const CommandResult r =
      run("-o out.onnx --json --epochs 1 --batch 8 --target onnxruntime",
          "given.onnx");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const Config result = result_in(r.output);
  EXPECT_NE(result.find("given"), nullptr);
  EXPECT_NE(result.find("fine-tuned"), nullptr);
  EXPECT_EQ(result.find("calibrated"), nullptr);
  const auto quantizers_of = [&](const char* name) {
    std::map<std::string, std::pair<std::string, float>> quantizers;
    for (const auto& placed :
         quant::activation_quantizers(io::load_onnx(folder_ / name))) {
      quantizers[placed.quantizer->name()] = {
          to_string(placed.quantizer->config()),
          placed.quantizer->scale().value()};
    }
    return quantizers;
  };
  EXPECT_FALSE(quantizers_of("given.onnx").empty());
  EXPECT_EQ(quantizers_of("out.onnx"), quantizers_of("given.onnx"));
}

TEST_F(OctetQat, RejectsInvalidPlacementAndExportBeforeTraining) {
  const CommandResult made = run_octet(
      "quantize in.h5 --data x.npy --target onnxruntime -o given.onnx");
  ASSERT_EQ(made.exit_code, 0) << made.output;
  const auto rejected = [&](const std::string& options) {
    const CommandResult r = run("-o out.onnx " + options, "given.onnx");
    EXPECT_EQ(r.exit_code, 1) << r.output;
    EXPECT_THAT(r.output, Not(HasSubstr("epoch 1/")));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.onnx"));
    return r.failure;
  };
  EXPECT_EQ(rejected("--policy toolkit"),
            (Failure{"conflicting_options", "--policy"}));
  EXPECT_EQ(rejected("--bits 4,8"), (Failure{"conflicting_options", "--bits"}));
  EXPECT_EQ(rejected(""),
            (Failure{"unsupported_type", "quantizer 'input_layer'"}));
}

TEST_F(OctetQat, UsesEpochsAndRateOfThePreset) {
  const CommandResult r =
      run("-o out.h5 --json --trained-epochs 20 --trained-rate 0.2 --batch 16");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const Config result = result_in(r.output);
  EXPECT_EQ(result.at("epochs").as_int(), 2);
  EXPECT_NEAR(result.at("rate").as_number(), 0.002, 1e-8);
  EXPECT_EQ(io::class_names(folder_ / "out.h5").size(), 3u);
}

TEST_F(OctetQat, FreezesStatisticsFromAnEpoch) {
  io::save_model(zoo::make("resnet8", {.classes = 3}), folder_ / "in.h5");
  Tensor x({30, 32, 32, 3});
  Rng(1).fill_uniform(x, 0, 1);
  io::write_npy(folder_ / "x.npy", x);
  const auto statistics = [&](const std::string& options) {
    const CommandResult r =
        run("-o out.h5 --epochs 2 --batch 9 --optimizer sgd --rate 0.001 "
            "--last-epoch " +
            options);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    const Model model = io::load_model(folder_ / "out.h5");
    std::vector<float> all;
    for (const Parameter& p : model.parameters()) {
      if (p.name.ends_with("moving_mean")) {
        const auto own = p.variable.value().f32();
        all.insert(all.end(), own.begin(), own.end());
      }
    }
    EXPECT_FALSE(all.empty());
    return all;
  };
  const auto never = statistics(""), late = statistics("--freeze-batch-norm 1"),
             always = statistics("--freeze-batch-norm 0");
  EXPECT_THAT(always, ::testing::Each(0.0f));
  EXPECT_NE(late, always);
  EXPECT_NE(late, never);
  EXPECT_EQ(refusal("-o out.onnx --epochs 2 --freeze-batch-norm 2", "2"),
            (Failure{"out_of_range", "--freeze-batch-norm"}));
}

TEST_F(OctetQat, RejectsInvalidOptionsBeforeTraining) {
  EXPECT_EQ(refusal("-o out.onnx --preset int_8", "'int8'"),
            (Failure{"unknown_name", "QAT preset 'int_8'"}));
  EXPECT_EQ(refusal("-o out.pt", ".onnx", 2),
            (Failure{"invalid_value", "--output"}));
  EXPECT_EQ(refusal("-o in.h5", "in.h5"),
            (Failure{"conflicting_options", "--output"}));
  EXPECT_EQ(refusal("-o no/out.onnx"),
            (Failure{"file_not_found", "no/out.onnx"}));
  EXPECT_EQ(refusal("-o out.onnx --policy tensort", "'tensorrt'"),
            (Failure{"invalid_value", "--policy"}));
}

// The counts are of weights in the written file.
TEST_F(OctetQat, PreservesTheZerosOfAPrunedModel) {
  ASSERT_EQ(run_octet("sparsify in.h5 -o sparse.h5").exit_code, 0);
  const CommandResult r =
      run("--epochs 2 --rate 0.01 --last-epoch --accept --preserve-zeros -o "
          "int8.onnx",
          "sparse.h5");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  ASSERT_EQ(run_octet("convert int8.onnx -o back.h5").exit_code, 0);
  const auto before =
      quant::kernel_zeros(io::load_model(folder_ / "sparse.h5"));
  const auto after = quant::kernel_zeros(io::load_model(folder_ / "back.h5"));
  ASSERT_EQ(after.size(), before.size());
  for (size_t k = 0; k < before.size(); ++k) {
    EXPECT_GE(after[k].zeros, before[k].zeros) << before[k].layer;
  }
  refusal("--preserve-zeros -o dense.onnx", "no pruned kernel");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "dense.onnx"));
}

}  // namespace
}  // namespace octet
