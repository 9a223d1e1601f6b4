// Output of the examples.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/onnx.h>

#include "../io/keras_files.h"
#include "../testdata.h"
#include "command.h"

namespace octet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Runs an example in `folder`.
CommandResult example(const std::string& name, const TempFolder& folder,
                      const std::string& arguments = "") {
  return run_command(
      fmt::format("cd {} && {} {}", quoted(folder.path()),
                  quoted(std::filesystem::path(OCTET_BIN) / name), arguments));
}

/// Returns the lines of `text` that start with `start`.
std::vector<std::string> lines_of(const std::string& text,
                                  const std::string& start) {
  std::vector<std::string> result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.starts_with(start)) result.push_back(line);
    at = end + 1;
  }
  return result;
}

TEST(AddNewLayer, QuantizesALayerWithARegisteredWrapper) {
  const TempFolder folder;
  const CommandResult r = example("add_new_layer", folder);
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(
      lines_of(r.output, "pairs: "),
      ElementsAre("pairs: 2 activations + 2 weights = 4 per edge, 4 shared",
                  "pairs: 3 activations + 2 weights = 5 per edge, 5 shared"));
  EXPECT_THAT(lines_of(r.output, "pool "),
              ElementsAre(HasSubstr("input 0  int8 [-128,127]")));
  const io::OnnxSummary file = io::inspect_onnx(folder / "add_new_layer.onnx");
  EXPECT_EQ(file.qdq_pairs.size(), 5u);
  std::vector<std::string> readers;
  for (const io::OnnxQdqPair& pair : file.qdq_pairs) {
    readers.push_back(pair.consumer);
  }
  EXPECT_THAT(readers, Contains("quant_pool"));
}

TEST(CustomQdqCase, ShowsThePairsOfEachScenario) {
  const TempFolder folder;
  const CommandResult r = example("custom_qdq_case", folder);
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const std::vector<std::string> pairs = lines_of(r.output, "pairs: ");
  ASSERT_EQ(pairs.size(), 5u) << r.output;
  // Toolkit policy alone; class Add; ResNetV1; ResNetV1 and every MaxPooling2D.
  EXPECT_EQ(pairs[0],
            "pairs: 5 activations + 4 weights = 9 per edge, 9 shared");
  EXPECT_EQ(pairs[1],
            "pairs: 7 activations + 4 weights = 11 per edge, 10 shared");
  EXPECT_EQ(pairs[2],
            "pairs: 6 activations + 4 weights = 10 per edge, 9 shared");
  EXPECT_EQ(pairs[3],
            "pairs: 7 activations + 4 weights = 11 per edge, 10 shared");
  EXPECT_THAT(lines_of(r.output, "max_pool "),
              ElementsAre(HasSubstr("case MyMaxPool  every MaxPooling2D")));
}

/// Returns the number after the start of a line: 91.6 for "float  91.60 %".
double percent_of(const std::string& text, const std::string& start) {
  const std::vector<std::string> lines = lines_of(text, start);
  EXPECT_EQ(lines.size(), 1u) << start << "\n" << text;
  return lines.empty() ? 0 : std::stod(lines[0].substr(start.size()));
}

TEST(VibrationInt8, KeepsTheAccuracyAndExportsTheModel) {
  const TempFolder folder;
  const CommandResult r =
      example("vibration_int8", folder, "--windows 1200 --out int8.onnx");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const double before = percent_of(r.output, "float ");
  EXPECT_GE(before, 85);
  EXPECT_GE(percent_of(r.output, "INT8, fine-tuned "), before - 3);
  EXPECT_GE(percent_of(r.output, "file vs. model "), 99);
  const io::OnnxSummary file = io::inspect_onnx(folder / "int8.onnx");
  EXPECT_EQ(io::to_string(file.inputs.at(0).shape), "[N,3,256]");
}

bool has_testdata() { return std::filesystem::exists(testdata("kws01")); }

TEST(KerasToInt8, KeepsTheAccuracyOfAPublishedNetworkOnRealData) {
  if (!has_testdata()) {
    GTEST_SKIP() << testdata() << ": no shared test data";
  }
  const TempFolder folder;
  const io::Keywords words = io::keywords();
  io::write_npy(folder / "x.npy", words.x);
  io::write_npy(folder / "l.npy", words.labels);
  const CommandResult r =
      example("keras_to_int8", folder,
              quoted(testdata("models/kws_ref_model_converted.h5")) +
                  " x.npy l.npy --out int8.onnx");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NEAR(percent_of(r.output, "float "), 91.3, 1.0);
  EXPECT_GE(percent_of(r.output, "INT8, calibrated "), 88);
  EXPECT_GE(percent_of(r.output, "INT8, fine-tuned "), 91);
  const io::OnnxSummary file = io::inspect_onnx(folder / "int8.onnx");
  EXPECT_GE(file.qdq_pairs.size(), 20u);
}

TEST(TransferLearning, TrainsTheHeadThenAllLayers) {
  if (!has_testdata()) {
    GTEST_SKIP() << testdata() << ": no shared test data";
  }
  const TempFolder folder;
  const CommandResult r =
      example("transfer_learning", folder,
              quoted(testdata("models/pretrainedResnet.h5")) +
                  " --limit 2000 --epochs 3 --out transfer.onnx");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const double before = percent_of(r.output, "before training ");
  const double head = percent_of(r.output, "trained head ");
  EXPECT_LE(before, 30);
  EXPECT_GE(head, 35);
  EXPECT_GE(percent_of(r.output, "fine-tuned "), 55);
  EXPECT_TRUE(std::filesystem::exists(folder / "transfer.onnx"));
  // A network for smaller images, and a missing file.
  const auto refusal = [&](const std::string& arguments) {
    const CommandResult bad = example("transfer_learning", folder, arguments);
    EXPECT_EQ(bad.exit_code, 1) << bad.output;
    return bad.failure;
  };
  EXPECT_EQ(refusal(quoted(testdata("models/kws_ref_model_converted.h5")) +
                    " --out x.onnx"),
            (Failure{"unsupported_model", "transfer_learning"}));
  EXPECT_EQ(refusal("none.h5 --out x.onnx"),
            (Failure{"file_not_found", "none.h5"}));
}

}  // namespace
}  // namespace octet
