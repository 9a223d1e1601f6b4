// Placement in exported files: the assertions of NVIDIA's checker for every row
// of the toolkit's table with counts. Source: tensorflow-quantization 0.2.0,
// tests/onnx_graph_qdq_validator.py.
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>

#include "onnx/graph/graph.h"
#include "tests/quant/support.h"
#include "tests/quant/toolkit_rows.h"

namespace octet::io {
namespace {

using quant::ToolkitRow;

/// For each node, by name, the operands from DequantizeLinear.
using DequantizedOperands = std::map<std::string, std::set<int>>;

/// The same from the assertions of a row: a layer's first node has its name,
/// the weight is the second operand.
DequantizedOperands operands_of(const quant::Positions& positions) {
  DequantizedOperands result;
  for (const auto& [layer, sites] : positions) {
    for (const std::string& site : sites) {
      const bool input = site.starts_with("input ");
      result["quant_" + layer].insert(input ? std::stoi(site.substr(6)) : 1);
    }
  }
  return result;
}

bool is_qdq(const onnx::NodeProto& node) {
  return node.op_type() == "QuantizeLinear" ||
         node.op_type() == "DequantizeLinear";
}

DequantizedOperands operands_of(const OnnxGraph& graph) {
  DequantizedOperands result;
  for (const OnnxNode& node : graph.nodes()) {
    for (int i = 0; i < node.input_size() && !is_qdq(node); ++i) {
      const OnnxNode* producer = graph.producer(node.input(i));
      if (producer != nullptr && producer->op_type() == "DequantizeLinear") {
        result[node.proto.name()].insert(i);
      }
    }
  }
  return result;
}

int64_t count(const onnx::GraphProto& graph, std::string_view op) {
  return std::ranges::count_if(
      graph.node(), [&](const auto& node) { return node.op_type() == op; });
}

/// Every Q feeds only DQs, and every DQ has a Q and a consumer.
void expect_pairs(const OnnxGraph& graph) {
  for (const OnnxNode& node : graph.nodes()) {
    if (!is_qdq(node)) continue;
    const bool quantizes = node.op_type() == "QuantizeLinear";
    const auto& consumers = graph.consumers(node.output(0));
    EXPECT_FALSE(consumers.empty()) << node.proto.name();
    for (const OnnxNode* consumer : consumers) {
      EXPECT_EQ(consumer->op_type() == "DequantizeLinear", quantizes)
          << node.proto.name();
    }
    if (quantizes) continue;
    const OnnxNode* producer = graph.producer(node.input(0));
    ASSERT_NE(producer, nullptr) << node.proto.name();
    EXPECT_EQ(producer->op_type(), "QuantizeLinear") << node.proto.name();
  }
}

void expect_row(const ToolkitRow& row, const Model& model) {
  const WarningCapture warnings;
  Model quantized = quant::quantize_model(model, row.options);
  for (const auto& quantizer : quant::quantizers(quantized)) {
    if (!quantizer->calibrated()) quantizer->set_scale(0.05f);
  }
  const OnnxFile file = to_onnx(quantized);
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(file.bytes));
  const OnnxGraph graph(proto);

  const auto operands = operands_of(graph);
  EXPECT_EQ(operands, operands_of(row.positions(model)));
  int64_t edges = 0;
  for (const auto& [node, indices] : operands) {
    edges += static_cast<int64_t>(indices.size());
  }
  EXPECT_EQ(edges, row.pairs().per_edge());
  EXPECT_EQ(count(proto.graph(), "QuantizeLinear"), row.count.shared);
  EXPECT_EQ(count(proto.graph(), "DequantizeLinear"), row.count.shared);
  EXPECT_EQ(file.report.qdq_pairs, row.count.shared);
  expect_pairs(graph);
}

class PlacementExport : public ::testing::TestWithParam<std::string> {};

TEST_P(PlacementExport, HasQdqAsInTheTable) {
  const Model model = quant::toolkit_network(GetParam());
  auto rows = quant::toolkit_rows_of_small_networks();
  std::ranges::move(quant::toolkit_rows_of_families(),
                    std::back_inserter(rows));
  int checked = 0;
  for (const ToolkitRow& row : rows) {
    if (row.network != GetParam()) continue;
    SCOPED_TRACE(fmt::format("row {}: {}", row.row, row.network));
    expect_row(row, model);
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Onnx, PlacementExport,
                         ::testing::Values("otho", "lotho", "lobelia", "merry",
                                           "pippin", "frodo", "sam", "resnet50",
                                           "resnet50_v2", "mobilenet",
                                           "mobilenet_v2", "inception_v3",
                                           "efficientnet_b0",
                                           "efficientnet_b0 without Dropout",
                                           "resnet101", "resnet101_v2"),
                         test_name);

}  // namespace
}  // namespace octet::io
