#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/json.h>
#include <octet/io/onnx.h>

#include "../facts.h"

namespace octet::io {
namespace {

using ::testing::Contains;
using ::testing::Not;

OnnxSummary sample() {
  OnnxSummary summary;
  summary.bytes = 1234567;
  summary.ir_version = 7;
  summary.opset = 13;
  summary.producer = "octet 0.1.0";
  summary.inputs = {{"input", "float32", {{"N", 1, 28, 28}}}};
  summary.outputs = {{"logits", "float32", {{"N", 10}}}};
  summary.nodes = {
      {"Conv", "conv", {"input", "w"}, {"c"}, {{"N", 16, 28, 28}}},
      {"BatchNormalization", "bn", {"c"}, {"b"}, {}},
  };
  summary.qdq_pairs = {
      {"input", "conv", "activation", "int8", {}, 1, 0.5f, 0.5f},
      {"w", "conv", "weight", "int8", 0, 16, 0.001f, 0.25f},
  };
  summary.initializers = 4;
  summary.parameters = 12345;
  return summary;
}

TEST(ToText, WritesAShapeInBrackets) {
  EXPECT_EQ(to_string(OnnxShape{{"N", 1, "?"}}), "[N,1,?]");
  EXPECT_EQ(to_string(OnnxShape{std::vector<OnnxDim>{}}), "[]");
  EXPECT_EQ(to_string(OnnxShape{}), "");
}

TEST(ToTable, PrintsHeaderNodesPairsAndTotals) {
  EXPECT_EQ(to_table(sample()),
            "Model\n"
            "  size          1,234,567 bytes\n"
            "  format        ONNX IR 7, opset 13\n"
            "  producer      octet 0.1.0\n"
            "  input         input  float32 [N,1,28,28]\n"
            "  output        logits  float32 [N,10]\n"
            "  initializers  4 with 12,345 elements\n"
            "\n"
            "Nodes\n"
            "  #  op                  name  output shape\n"
            "  -  ------------------  ----  ------------\n"
            "  0  Conv                conv  [N,16,28,28]\n"
            "  1  BatchNormalization  bn    ?\n"
            "\n"
            "Q/DQ pairs\n"
            "  tensor  kind        type  axis  scale               consumer\n"
            "  ------  ----------  ----  ----  ------------------  --------\n"
            "  input   activation  int8     -  0.5                 conv\n"
            "  w       weight      int8     0  0.001 .. 0.25 (16)  conv\n"
            "\n"
            "Totals\n"
            "  2 nodes: 1 BatchNormalization, 1 Conv\n"
            "  2 Q/DQ pairs: 1 weight and 1 activation\n");
}

TEST(ToTable, LeavesOutThePairsOfAFloatModel) {
  OnnxSummary summary = sample();
  summary.qdq_pairs.clear();
  const std::vector<std::string> lines = lines_of(to_table(summary));
  EXPECT_EQ(lines.back(), "  0 Q/DQ pairs: 0 weights and 0 activations");
  EXPECT_THAT(lines, Not(Contains("Q/DQ pairs")));
}

TEST(ToTable, CutsLongNamesAndHidesControlCharacters) {
  OnnxSummary summary = sample();
  summary.nodes[0].name = "\x1b[31m" + std::string(500, 'x');
  const std::string table = to_table(summary);
  EXPECT_EQ(table.find('\x1b'), table.npos);
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LT(line.size(), 200u);
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
  }
}

TEST(ToConfig, ContainsEverything) {
  const Config config = to_config(sample());
  EXPECT_EQ(config.at("opset").as_int(), 13);
  EXPECT_EQ(config.at("inputs").as_list()[0].at("shape"),
            Config(Config::List{"N", 1, 28, 28}));
  EXPECT_EQ(config.at("outputs").as_list()[0].at("shape"),
            Config(Config::List{"N", 10}));
  const auto& nodes = config.at("nodes").as_list();
  EXPECT_EQ(nodes[0].at("shape"), Config(Config::List{"N", 16, 28, 28}));
  EXPECT_TRUE(nodes[1].at("shape").is_null());
  EXPECT_EQ(nodes[0].at("inputs").as_list()[1], Config("w"));
  const auto& pairs = config.at("qdq_pairs").as_list();
  EXPECT_TRUE(pairs[0].at("axis").is_null());
  EXPECT_EQ(pairs[1].at("axis").as_int(), 0);
  EXPECT_EQ(pairs[1].at("largest_scale").as_number(), 0.25);
  EXPECT_EQ(from_json(to_json(config)), config);
}

}  // namespace
}  // namespace octet::io
