// `octet lint`, `verify` and `compare`.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/octet.h>

#include "../io/onnx_models.h"
#include "../testdata.h"
#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

CommandResult judge(const std::string& arguments) {
  return run_command(quoted(OCTET_BIN "/octet") + " " + arguments);
}

/// Returns an entry of each finding of `octet lint --json`.
std::vector<std::string> findings_of(const CommandResult& lint,
                                     const char* entry) {
  const Config result = lint.json();
  std::vector<std::string> entries;
  for (const Config& finding : result.at("findings").as_list()) {
    entries.push_back(finding.at(entry).as_string());
  }
  return entries;
}

class JudgeCommands : public ::testing::Test {
 protected:
  JudgeCommands() {
    const auto image = input({6, 4, 3}, "image");
    auto x =
        Conv2D({.filters = 5, .padding = Padding::same, .name = "conv"})(image);
    x = Flatten()(ReLU({.name = "relu"})(x));
    Model model(image, Dense({.units = 2, .name = "scores"})(x));
    Tensor samples(Shape{12, 6, 4, 3});
    Rng(1).fill_normal(samples, 0, 1);
    io::write_npy(folder_ / "x.npy", samples);
    io::export_onnx(model, folder_ / "float.onnx");
    Model quantized = quant::quantize_model(model);
    quant::calibrate(quantized,
                     [&](const Model& m) { (void)m.predict(samples); });
    io::export_onnx(quantized, folder_ / "int8.onnx");
  }
  std::string path(const std::string& name) const {
    return quoted(folder_ / name);
  }

  TempFolder folder_;
};

TEST_F(JudgeCommands, LintForecastsAndExitsByErrors) {
  const CommandResult good = judge("lint " + path("int8.onnx"));
  EXPECT_EQ(good.exit_code, 0) << good.output;
  EXPECT_THAT(good.output, AllOf(HasSubstr("INT8 in, INT8 out"),
                                 HasSubstr("0 errors, 0 warnings")));
  onnx::ModelProto broken;
  ASSERT_TRUE(broken.ParseFromString(read_file(folder_ / "int8.onnx")));
  for (auto& tensor : *broken.mutable_graph()->mutable_initializer()) {
    if (tensor.data_type() != onnx::TensorProto::INT8) continue;
    tensor.set_data_type(onnx::TensorProto::UINT8);
    std::string codes(tensor.raw_data().size(), '\x80');
    tensor.set_raw_data(codes);
  }
  io::save(broken, folder_ / "uint8.onnx");
  const CommandResult bad = judge("lint " + path("uint8.onnx") + " --json");
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_EQ(bad.failure,
            (Failure{"unsupported_model", (folder_ / "uint8.onnx").string()}));
  EXPECT_EQ(bad.json().at("target").as_string(), "tensorrt10");
  EXPECT_THAT(findings_of(bad, "id"), Contains("E02"));
  const CommandResult fixed = judge("lint --json " + path("uint8.onnx") +
                                    " --fix " + path("fixed.onnx"));
  EXPECT_EQ(fixed.exit_code, 0) << fixed.output;
  EXPECT_EQ(fixed.json().at("repairs").as_list().size(), 4u);
  // uint8 with zero point 128 is equivalent.
  const Tensor x = io::read_npy(folder_ / "x.npy");
  io::write_npy(folder_ / "nchw.npy", x.transposed({0, 3, 1, 2}));
  const CommandResult same =
      judge("compare " + path("int8.onnx") + " " + path("fixed.onnx") +
            " --json --data " + path("nchw.npy"));
  EXPECT_EQ(same.exit_code, 0) << same.output;
  for (const Config& value : same.json().at("values").as_list()) {
    if (!value.at("output").as_bool()) continue;
    EXPECT_TRUE(value.at("equal").as_bool()) << same.output;
  }
}

TEST_F(JudgeCommands, LintShowsInfosWithAll) {
  const CommandResult all = judge("lint --all " + path("int8.onnx"));
  const CommandResult few = judge("lint " + path("int8.onnx"));
  const CommandResult json = judge("lint --json " + path("int8.onnx"));
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_EQ(few.exit_code, 0);
  ASSERT_THAT(all.output, HasSubstr(" info: "));
  EXPECT_THAT(few.output, AllOf(Not(HasSubstr(" info: ")), HasSubstr("--all")));
  EXPECT_THAT(findings_of(json, "severity"), Contains("info"));
}

TEST_F(JudgeCommands, LintRejectsInvalidArguments) {
  EXPECT_EQ(judge("lint").exit_code, 2);
  EXPECT_EQ(judge("lint " + path("none.onnx")).exit_code, 1);
  EXPECT_THAT(judge("lint --rules").output, HasSubstr("E06"));
  EXPECT_EQ(judge("lint " + path("int8.onnx") + " --target tensorrt12").failure,
            (Failure{"invalid_value", "--target"}));
}

TEST_F(JudgeCommands, VerifyComparesWithTheImportOrAReference) {
  const std::string data = " --input " + path("x.npy");
  const CommandResult own = judge("verify " + path("int8.onnx") + data);
  EXPECT_EQ(own.exit_code, 0) << own.output;
  EXPECT_THAT(own.output, AllOf(HasSubstr("scores (output)"),
                                HasSubstr("top-1 agreement: 100.00 %"),
                                HasSubstr("batch size 1 against 8")));
  const CommandResult turned =
      judge("verify " + path("float.onnx") + data + " --json");
  EXPECT_EQ(turned.exit_code, 0) << turned.output;
  EXPECT_TRUE(turned.json().at("failures").as_list().empty());
}

TEST_F(JudgeCommands, VerifyAdaptsItsTolerances) {
  const std::string data = " --json --input " + path("x.npy");
  const Config int8 = judge("verify " + path("int8.onnx") + data).json();
  EXPECT_EQ(int8.at("comparison").as_string(),
            "quantized values against quantized values");
  EXPECT_EQ(int8.at("min_sqnr").as_number(), 40);
  const Config floats = judge("verify " + path("float.onnx") + data).json();
  EXPECT_EQ(floats.at("comparison").as_string(), "float against float");
  EXPECT_EQ(floats.at("min_sqnr").as_number(), 40);
  // Rounding to float16 changes quantized values.
  EXPECT_EQ(judge("convert " + path("int8.onnx") + " " + path("half.onnx") +
                  " --float16")
                .exit_code,
            0);
  const CommandResult half = judge("verify " + path("half.onnx") + data);
  EXPECT_EQ(half.exit_code, 0) << half.output;
  EXPECT_EQ(half.json().at("comparison").as_string(),
            "quantized values of float16");
  EXPECT_EQ(half.json().at("min_sqnr").as_number(), 15);
}

TEST_F(JudgeCommands, VerifyRunsTheBranchOfAnIf) {
  const auto file = testdata("faults/onnx/if_constant_condition.onnx");
  if (!std::filesystem::exists(file)) {
    GTEST_SKIP() << file << ": no shared test data";
  }
  Tensor x({2, 3, 8, 8});
  Rng(1).fill_normal(x, 0, 1);
  io::write_npy(folder_ / "images.npy", x);
  const CommandResult r =
      judge("verify " + quoted(file) + " --input " + path("images.npy"));
  EXPECT_EQ(r.exit_code, 0) << r.output;
}

TEST_F(JudgeCommands, VerifyAcceptsFlattenedTokens) {
  const auto file = testdata("faults/onnx/transformer_encoder_dynamo.onnx");
  if (!std::filesystem::exists(file)) {
    GTEST_SKIP() << file << ": no shared test data";
  }
  Tensor x({3, 3, 48, 48});
  Rng(1).fill_normal(x, 0, 1);
  io::write_npy(folder_ / "images.npy", x);
  const CommandResult r =
      judge("verify " + quoted(file) + " --input " + path("images.npy"));
  EXPECT_EQ(r.exit_code, 0) << r.output;
}

TEST_F(JudgeCommands, VerifyFailsPastATolerance) {
  const std::string model = "verify " + path("int8.onnx") + " --input ";
  Tensor x = io::read_npy(folder_ / "x.npy");
  io::write_npy(folder_ / "nchw.npy", x.transposed({0, 3, 1, 2}));
  const std::string against =
      model + path("nchw.npy") + " --reference " + path("float.onnx");
  // INT8 against float has quantization noise.
  const CommandResult usual = judge(against + " --json --min-agreement 0.9");
  EXPECT_EQ(usual.exit_code, 0) << usual.output;
  EXPECT_EQ(usual.json().at("comparison").as_string(), "INT8 against float");
  EXPECT_EQ(usual.json().at("min_sqnr").as_number(), 15);
  const CommandResult strict = judge(against + " --min-sqnr 90");
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_EQ(strict.failure,
            (Failure{"accuracy_not_met", (folder_ / "int8.onnx").string()}));
  EXPECT_THAT(strict.failure.message, HasSubstr("90"));
  const CommandResult loose =
      judge(against + " --min-sqnr 10 --max-flips 1 --min-agreement 0");
  EXPECT_EQ(loose.exit_code, 0) << loose.output;
  EXPECT_EQ(judge("verify " + path("int8.onnx")).exit_code, 2);
  EXPECT_EQ(judge("verify zoo:lenet --input " + path("x.npy")).exit_code, 1);
}

TEST_F(JudgeCommands, CompareListsTheNoisiestLayerFirst) {
  onnx::ModelProto changed;
  ASSERT_TRUE(changed.ParseFromString(read_file(folder_ / "float.onnx")));
  for (auto& tensor : *changed.mutable_graph()->mutable_initializer()) {
    if (tensor.name() != "conv/kernel") continue;
    float weight = 3;
    tensor.mutable_raw_data()->replace(0, 4, reinterpret_cast<char*>(&weight),
                                       4);
  }
  io::save(changed, folder_ / "changed.onnx");
  Tensor x = io::read_npy(folder_ / "x.npy");
  io::write_npy(folder_ / "nchw.npy", x.transposed({0, 3, 1, 2}));
  const CommandResult r =
      judge("compare " + path("float.onnx") + " " + path("changed.onnx") +
            " --json --data " + path("nchw.npy"));
  EXPECT_EQ(r.exit_code, 0) << r.output;
  const Config found = r.json();
  EXPECT_EQ(found.at("values").as_list().at(0).at("name").as_string(), "conv");
  EXPECT_EQ(found.at("only_in_a").as_int(), 0);
  EXPECT_EQ(found.at("only_in_b").as_int(), 0);
  EXPECT_EQ(found.find("failures"), nullptr);
}

TEST_F(JudgeCommands, CompareChecksTolerancesOnRequest) {
  const std::string data = " --data " + path("x.npy");
  const std::string both = "compare " + path("float.onnx") + " " +
                           path("int8.onnx") + " --layout " + "nhwc" + data;
  EXPECT_EQ(judge(both).exit_code, 0);
  const CommandResult strict = judge(both + " --min-sqnr 90");
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_EQ(strict.failure,
            (Failure{"accuracy_not_met", (folder_ / "int8.onnx").string()}));
  const Config checked =
      judge(both + " --check --min-agreement 0 --json").json();
  EXPECT_EQ(checked.at("comparison").as_string(), "INT8 against float");
  // Without a second model, as verify.
  EXPECT_EQ(
      judge("compare " + path("int8.onnx") + " --json" + data + " --check")
          .json()
          .at("failures")
          .as_list()
          .size(),
      0U);
  EXPECT_EQ(judge("compare zoo:lenet" + data).failure,
            (Failure{"unsupported_format", "zoo:lenet"}));
}

}  // namespace
}  // namespace octet
