// `octet plan`.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/json.h>
#include <octet/runtime/file.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Exit code and output of a run.
struct Said {
  int exit_code = 0;
  std::string out;
  std::string err;
  Failure failure;

  std::vector<std::string> lines() const {
    std::vector<std::string> result;
    for (size_t at = 0; at < out.size();) {
      const size_t end = out.find('\n', at);
      result.push_back(out.substr(at, end - at));
      at = end + 1;
    }
    return result;
  }
  std::string last() const { return lines().empty() ? "" : lines().back(); }
};

Said plan(const std::string& arguments) {
  const TempFolder folder;
  const CommandResult r = run_command(
      fmt::format("({} plan {} >{} 2>{})", quoted(OCTET_BIN "/octet"),
                  arguments, quoted(folder / "out"), quoted(folder / "err")));
  return {r.exit_code, read_file(folder / "out"), read_file(folder / "err"),
          r.failure};
}

/// Expects exit code 1, no standard output, and a single line of error with the
/// fact.
void expect_refused(const std::string& arguments, const Failure& failure,
                    const std::string& fact = "") {
  const Said said = plan(arguments);
  EXPECT_EQ(said.exit_code, 1) << arguments;
  EXPECT_EQ(said.out, "") << arguments;
  EXPECT_THAT(said.err, StartsWith("error: ")) << arguments;
  EXPECT_EQ(std::ranges::count(said.err, '\n'), 1) << said.err;
  EXPECT_EQ(said.failure, failure) << arguments;
  EXPECT_THAT(said.failure.message, HasSubstr(fact));
}

struct Counted {
  const char* arguments;
  int activations, weights, per_edge, shared;
};

class PlanOf : public ::testing::TestWithParam<Counted> {};

// Source: placement of NVIDIA tensorflow-quantization 0.2.0, replayed; T counts
// a pair per consumer, S a pair per tensor.
TEST_P(PlanOf, CountsThePairsOfTheToolkit) {
  const Counted& c = GetParam();
  const Said said = plan(fmt::format("zoo:{} --policy toolkit", c.arguments));
  ASSERT_EQ(said.exit_code, 0) << said.err;
  EXPECT_EQ(
      said.last(),
      fmt::format("pairs: {} activations + {} weights = {} per edge, {} shared",
                  c.activations, c.weights, c.per_edge, c.shared));
  // Each layer is called once: a line per pair.
  EXPECT_EQ(said.lines().size(), static_cast<size_t>(c.per_edge) + 1);
}

INSTANTIATE_TEST_SUITE_P(
    OctetPlan, PlanOf,
    ::testing::Values(
        Counted{"frodo", 9, 9, 18, 17},
        Counted{"frodo --case ResNetV1", 11, 9, 20, 18},
        Counted{"resnet50 --case ResNetV1", 71, 54, 125, 109},
        Counted{"resnet50_v2 --case ResNetV2", 92, 54, 146, 130},
        Counted{"mobilenet_v2 --case MobileNet", 64, 53, 117, 107},
        Counted{"inception_v3 --case Inception", 109, 95, 204, 169}));

TEST(OctetPlan, PrintsALinePerPointInColumns) {
  const Said said = plan("zoo:otho --policy toolkit");
  EXPECT_EQ(said.out,
            "conv_0  input 0  int8 [-128,127] per tensor fixed  default  "
            "default of Conv2D\n"
            "conv_0  kernel   int8 [-127,127] per channel live  default  "
            "default of Conv2D\n"
            "conv_1  input 0  int8 [-128,127] per tensor fixed  default  "
            "default of Conv2D\n"
            "conv_1  kernel   int8 [-127,127] per channel live  default  "
            "default of Conv2D\n"
            "pairs: 2 activations + 2 weights = 4 per edge, 4 shared\n");
  EXPECT_EQ(said.err, "");
}

TEST(OctetPlan, FollowsTensorRTByDefault) {
  const Said said = plan("zoo:frodo");
  ASSERT_EQ(said.exit_code, 0) << said.err;
  EXPECT_EQ(said.out, plan("zoo:frodo --policy tensorrt --mode full").out);
  EXPECT_EQ(said.err, "");
}

TEST(OctetPlan, FollowsTheToolkitStrictlyOnRequest) {
  const TempFolder folder;
  write_file(folder / "spec.json",
             R"({"spec": [{"name": "Conv2D", "target": "class",
                           "quantize_input": false,
                           "quantize_weight": false}]})");
  const std::string arguments =
      "zoo:frodo --policy toolkit --spec " + quoted(folder / "spec.json");
  EXPECT_EQ(plan(arguments).last(),
            "pairs: 2 activations + 2 weights = 4 per edge, 4 shared");
  const Said strict = plan(arguments + " --strict");
  EXPECT_EQ(strict.last(),
            "pairs: 9 activations + 9 weights = 18 per edge, 17 shared");
  EXPECT_EQ(plan(arguments + " --strict --diff tensorrt").exit_code, 0);
  expect_refused("zoo:frodo --strict",
                 Failure{"conflicting_options", "--strict"});
  expect_refused("zoo:frodo --policy patterns --strict",
                 Failure{"conflicting_options", "--strict"});
}

TEST(OctetPlan, AcceptsSeveralCases) {
  const Said said =
      plan("zoo:frodo --policy toolkit --case Residual --case MaxPool");
  ASSERT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.out,
              AllOf(HasSubstr("case Residual"), HasSubstr("case MaxPool")));
  EXPECT_EQ(said.last(),
            "pairs: 13 activations + 9 weights = 22 per edge, 20 shared");
}

TEST(OctetPlan, FollowsASpecInPartialMode) {
  const TempFolder folder;
  write_file(folder / "spec.json",
             R"({"spec": [{"name": "conv2d_2"}, {"name": "dense"}]})");
  const Said said =
      plan("zoo:frodo --mode partial --spec " + quoted(folder / "spec.json"));
  ASSERT_EQ(said.exit_code, 0) << said.err;
  EXPECT_EQ(said.lines().size(), 5u);
  EXPECT_THAT(said.out, Not(HasSubstr("conv2d_3")));
  EXPECT_EQ(said.last(),
            "pairs: 2 activations + 2 weights = 4 per edge, 4 shared");
}

TEST(OctetPlan, WarnsOfConflictsAndExplainsThemInComments) {
  const TempFolder folder;
  write_file(folder / "spec.json",
             R"({"spec": [{"name": "conv2d_1", "quantize_input": false}]})");
  const std::string arguments =
      "zoo:frodo --policy toolkit --spec " + quoted(folder / "spec.json");
  const Said said = plan(arguments);
  ASSERT_EQ(said.exit_code, 0);
  EXPECT_THAT(said.err, StartsWith("warning: conv2d_1: "));
  EXPECT_THAT(said.out, Not(HasSubstr("#")));

  const Said explained = plan(arguments + " --explain");
  ASSERT_EQ(explained.exit_code, 0);
  std::vector<std::string> points, comments;
  for (const std::string& line : explained.lines()) {
    (line.starts_with("# ") ? comments : points).push_back(line);
  }
  EXPECT_EQ(points, said.lines());
  EXPECT_THAT(comments,
              ::testing::Contains(StartsWith("# conv2d_1: conflict, ")));
  EXPECT_EQ(explained.last(), said.last());
}

TEST(OctetPlan, ExplainsLayersSkippedByTheUser) {
  const TempFolder folder;
  write_file(folder / "spec.json",
             R"({"spec": [{"name": "dense_1", "quantize_input": false,
                           "quantize_weight": false}]})");
  const Said said = plan("zoo:frodo --policy toolkit --explain --spec " +
                         quoted(folder / "spec.json"));
  EXPECT_THAT(said.out, HasSubstr("\n# dense_1: skipped, "));
  EXPECT_EQ(said.last(),
            "pairs: 8 activations + 8 weights = 16 per edge, 15 shared");
}

TEST(OctetPlan, PrintsJson) {
  const Said said = plan("zoo:frodo --policy toolkit --case ResNetV1 --json");
  ASSERT_EQ(said.exit_code, 0) << said.err;
  const Config document = io::from_json(said.out);
  EXPECT_EQ(document.at("model").as_string(), "frodo");
  const Config& pairs = document.at("pairs");
  EXPECT_EQ(pairs.at("activations").as_int(), 11);
  EXPECT_EQ(pairs.at("weights").as_int(), 9);
  EXPECT_EQ(pairs.at("per_edge").as_int(), 20);
  EXPECT_EQ(pairs.at("shared").as_int(), 18);
  const Config::List& points = document.at("points").as_list();
  ASSERT_EQ(points.size(), 20u);
  const auto add = std::ranges::find_if(points, [](const Config& point) {
    return point.at("layer").as_string() == "add";
  });
  ASSERT_NE(add, points.end());
  EXPECT_EQ(add->at("site").as_string(), "input");
  EXPECT_EQ(add->at("index").as_int(), 1);
  EXPECT_EQ(add->at("rule").as_string(), "case ResNetV1");
  EXPECT_TRUE(document.at("notes").is_list());
}

TEST(OctetPlan, SavesAPlanAndFindsNoDifferenceToIt) {
  const TempFolder folder;
  const std::string file = quoted(folder / "plan.json");
  const Said saved = plan("zoo:frodo --policy toolkit --save " + file);
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  const Said same = plan("zoo:frodo --policy toolkit --diff " + file);
  ASSERT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(same.lines(), std::vector<std::string>{saved.last()});

  const Said other =
      plan("zoo:frodo --policy toolkit --case ResNetV1 --diff " + file);
  ASSERT_EQ(other.exit_code, 0) << other.err;
  const std::vector<std::string> lines = other.lines();
  ASSERT_EQ(lines.size(), 3u) << other.out;
  EXPECT_THAT(lines[0], StartsWith("+ add    input 1"));
  EXPECT_THAT(lines[1], StartsWith("+ add_1  input 1"));
}

TEST(OctetPlan, PrintsNothingIfItCannotSave) {
  expect_refused("zoo:otho --save /nowhere/at/all.json",
                 Failure{"file_not_found", "/nowhere/at/all.json"});
}

TEST(OctetPlan, PlacesByPatterns) {
  const Said said = plan("zoo:pippin --policy patterns");
  ASSERT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("  pattern ConvBN"));
  EXPECT_THAT(said.last(), StartsWith("pairs: "));
  EXPECT_EQ(said.err, "");
}

TEST(OctetPlan, ExplainsConversionsAndSkippedLayers) {
  const Said said = plan("zoo:vit_tiny --policy patterns --explain");
  ASSERT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("\n# "));
}

TEST(OctetPlan, RejectsSpecsAndCasesWithPatterns) {
  for (const char* more : {"--mode partial", "--case Residual"}) {
    expect_refused(std::string("zoo:pippin --policy patterns ") + more,
                   Failure{"conflicting_options", "--policy"});
  }
}

TEST(OctetPlan, ExcludesLayersFromPatterns) {
  for (const char* policy : {"patterns", "onnxruntime"}) {
    const std::string line = fmt::format("zoo:pippin --policy {} ", policy);
    EXPECT_THAT(plan(line).out, HasSubstr("conv2d_2  "));
    EXPECT_THAT(plan(line + "--exclude conv2d_2").out,
                Not(HasSubstr("conv2d_2  ")));
    expect_refused(line + "--exclude conv",
                   Failure{"unknown_name", "--exclude"}, "'conv'");
  }
}

TEST(OctetPlan, RejectsUnknownWords) {
  expect_refused("zoo:resnet9", Failure{"unknown_name", "zoo"}, "'resnet8'");
  expect_refused("zoo:", Failure{"unknown_name", "zoo"});
  expect_refused("zoo:otho --case ResNet", Failure{"unknown_name", "--case"},
                 "'ResNetV1'");
  expect_refused("zoo:otho --policy nvidia",
                 Failure{"invalid_value", "--policy"}, "'nvidia'");
  expect_refused("zoo:otho --mode half", Failure{"invalid_value", "--mode"},
                 "'half'");
  expect_refused("zoo:otho --on-unknown ask",
                 Failure{"invalid_value", "--on-unknown"});
  expect_refused("zoo:otho --diff nvidia", Failure{"invalid_value", "--diff"},
                 "'nvidia'");
  for (const auto& [option, failure] :
       {std::pair{"--spec", Failure{"missing_value", "file"}},
        {"--diff", {"invalid_value", "--diff"}},
        {"--save", {"missing_value", "file"}},
        {"--case", {"unknown_name", "--case"}}}) {
    expect_refused(fmt::format("zoo:otho {} ''", option), failure);
  }
}

TEST(OctetPlan, RejectsUnreadableModels) {
  const TempFolder folder;
  expect_refused(quoted(folder / "none.h5"),
                 Failure{"file_not_found", (folder / "none.h5").string()});
  write_file(folder / "model.onnx", "x");
  expect_refused(quoted(folder / "model.onnx"),
                 Failure{"unsupported_format", "file"}, "model.onnx");
  expect_refused(quoted(folder.path()),
                 Failure{"unsupported_format", folder.path().string()});
  expect_refused("''", Failure{"missing_value", "file"});
}

TEST(OctetPlan, RejectsInvalidSpecs) {
  const TempFolder folder;
  const auto refused = [&](const std::string& text, const Failure& failure,
                           const std::string& fact) {
    write_file(folder / "spec.json", text);
    expect_refused("zoo:frodo --spec " + quoted(folder / "spec.json"), failure,
                   fact);
  };
  expect_refused("zoo:frodo --spec " + quoted(folder / "none.json"),
                 Failure{"file_not_found", (folder / "none.json").string()});
  refused("{\"spec\": [\n{\"name\": }]}", Failure{"malformed_file", "JSON"},
          "line 2, column 10");
  refused(R"({"spec": [{"name": "conv2d", "quantize": true}]})",
          Failure{"unknown_option", "spec entry"}, "entry 0");
  refused(R"({"spec": [{"name": "conv2d_9"}]})",
          Failure{"unknown_name", "user spec"}, "'conv2d_9'");
  refused(R"({"spec": [{"name": "Conv3D", "target": "class"}]})",
          Failure{"unsupported_layer", "user spec"}, "'Conv2D'");
  refused(R"({"spec": [{"name": "add", "quantization_index": [2]}]})",
          Failure{"out_of_range", "user spec"}, "[0,2)");
  expect_refused("zoo:frodo --mode partial",
                 Failure{"missing_value", "quantize_model"});
}

TEST(OctetPlan, WarnsOfUnknownNamesOnRequest) {
  const TempFolder folder;
  write_file(folder / "spec.json",
             R"({"spec": [{"name": "wrong"}, {"name": "dense"}]})");
  const Said said = plan("zoo:frodo --mode partial --on-unknown warn --spec " +
                         quoted(folder / "spec.json"));
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_THAT(said.err, AllOf(StartsWith("warning: "), HasSubstr("'wrong'")));
  EXPECT_EQ(said.last(),
            "pairs: 1 activations + 1 weights = 2 per edge, 2 shared");
}

TEST(OctetPlan, ReportsUsageErrorsWithCodeTwo) {
  for (const char* arguments :
       {"", "zoo:otho more", "zoo:otho --json --diff toolkit", "--case",
        "zoo:otho --nonsense"}) {
    EXPECT_EQ(plan(arguments).exit_code, 2) << arguments;
  }
}

TEST(OctetPlan, ExplainsItself) {
  const Said said = plan("--help");
  EXPECT_EQ(said.exit_code, 0);
  for (const char* word :
       {"--mode",    "--spec",   "--case",   "--policy",     "--json",
        "--explain", "--diff",   "--save",   "--on-unknown", "tensorrt",
        "toolkit",   "ResNetV1", "ResNetV2", "EfficientNet", "MobileNet",
        "Inception", "Residual", "BN",       "MaxPool",      "Examples:"}) {
    EXPECT_THAT(said.out, HasSubstr(word));
  }
}

}  // namespace
}  // namespace octet
