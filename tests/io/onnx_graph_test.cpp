// OnnxGraph: its index follows changes, and the model is complete afterwards.
#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/system.h>

#include "onnx/export/graph_passes.h"
#include "onnx_models.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

onnx::ModelProto chain() {
  onnx::ModelProto model = model_of(
      "g (float[N,4] x) => (float[N,4] y) {\n"
      "  a = Relu (x)\n  b = Add (a, c)\n  y = Mul (b, a)\n}");
  *model.mutable_graph()->add_initializer() =
      float_tensor("c", {4}, {1, 2, 3, 4});
  return model;
}

std::vector<std::string> ops_of(const onnx::ModelProto& model) {
  std::vector<std::string> ops;
  for (const auto& node : model.graph().node()) ops.push_back(node.op_type());
  return ops;
}

TEST(OnnxGraphTest, ReturnsTheModelUnchanged) {
  const onnx::ModelProto model = chain();
  OnnxGraph graph(model);
  EXPECT_EQ(graph.copy_model().SerializeAsString(), model.SerializeAsString());
  EXPECT_EQ(std::move(graph).to_model().SerializeAsString(),
            model.SerializeAsString());
}

TEST(OnnxGraphTest, FindsProducersConsumersAndConstants) {
  const OnnxGraph graph(chain());
  EXPECT_EQ(graph.producer("b")->op_type(), "Add");
  EXPECT_EQ(graph.producer("x"), nullptr);
  EXPECT_EQ(graph.consumers("a").size(), 2u);
  EXPECT_EQ(graph.only_consumer("b")->op_type(), "Mul");
  EXPECT_EQ(graph.only_consumer("a"), nullptr);
  EXPECT_EQ(graph.only_consumer("y"), nullptr);
  EXPECT_EQ(graph.uses("y"), 1);
  EXPECT_EQ(graph.dims("c"), (std::vector<int64_t>{4}));
  EXPECT_EQ(graph.stated("c"), std::nullopt);
  EXPECT_EQ(graph.stated("x"), (std::vector<int64_t>{-1, 4}));
  EXPECT_EQ(graph.type("x"), "float32");
}

TEST(OnnxGraphTest, FollowsChanges) {
  OnnxGraph graph(chain());
  OnnxNode& add = *graph.producer("b");
  EXPECT_EQ(graph.add_tensor("c", {4}, {5, 6, 7, 8}), "c_1");
  graph.set_input(add, 1, "c_1");
  EXPECT_EQ(graph.uses("c"), 0);
  EXPECT_EQ(graph.uses("c_1"), 1);
  graph.remove_initializer("c");
  EXPECT_EQ(graph.tensor("c"), nullptr);
  onnx::NodeProto tanh;
  tanh.set_op_type("Tanh");
  tanh.add_input("a");
  tanh.add_output(graph.unique_name("a"));
  const std::string output = tanh.output(0);
  graph.insert_before(add, std::move(tanh));
  graph.set_input(add, 0, output);
  EXPECT_EQ(graph.producer(output)->op_type(), "Tanh");
  EXPECT_TRUE(graph.redirect("b", "a"));
  graph.remove(add);
  EXPECT_EQ(graph.producer("b"), nullptr);
  const onnx::ModelProto model = std::move(graph).to_model();
  EXPECT_THAT(ops_of(model), ElementsAre("Relu", "Tanh", "Mul"));
  EXPECT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(model.graph().node(2).input(0), "a");
}

TEST(OnnxGraphTest, ChangesOutputsOfANode) {
  OnnxGraph graph(chain());
  OnnxNode& add = *graph.producer("b");
  graph.change(add,
               [](onnx::NodeProto& proto) { proto.set_output(0, "other"); });
  EXPECT_EQ(graph.producer("b"), nullptr);
  EXPECT_EQ(graph.producer("other"), &add);
}

TEST(OnnxGraphTest, TracesPasses) {
  OnnxGraph graph(chain());
  constexpr std::array kPasses{GraphPass{"doubles", narrow_doubles}};
  set_diagnostics({.trace = "passes"});
  testing::internal::CaptureStderr();
  run_passes(graph, "pass", kPasses);
  set_diagnostics({});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("pass 'doubles': 3 nodes, then 3\n"));
}

}  // namespace
}  // namespace octet::io
