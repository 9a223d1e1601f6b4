// Export of models with several inputs and outputs: names, order, and outputs
// with other consumers.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../facts.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

onnx::ModelProto proto_of(const Model& model,
                          const OnnxExportOptions& options = {}) {
  onnx::ModelProto proto;
  proto.ParseFromString(to_onnx(model, options).bytes);
  return proto;
}

std::vector<std::string> inputs(const onnx::ModelProto& proto) {
  std::vector<std::string> names;
  for (const auto& value : proto.graph().input()) names.push_back(value.name());
  return names;
}

std::vector<std::string> outputs(const onnx::ModelProto& proto) {
  std::vector<std::string> names;
  for (const auto& value : proto.graph().output()) {
    names.push_back(value.name());
  }
  return names;
}

/// "Relu(x)->y" for each node, data inputs only.
std::vector<std::string> nodes(const onnx::ModelProto& proto) {
  std::vector<std::string> texts;
  for (const auto& node : proto.graph().node()) {
    texts.push_back(node.op_type() + "(" + node.input(0) + ")->" +
                    node.output(0));
  }
  return texts;
}

SymbolicTensor relu(const SymbolicTensor& x, std::string name) {
  return ReLU({.name = std::move(name)})(x);
}

TEST(ExportSeveral, NamesInputsAndOutputsAfterTheirLayersInTheModelsOrder) {
  const auto a = input({7}, "a"), b = input({6, 4, 3}, "b");
  const auto y = relu(a, "y"), z = relu(b, "z");
  const auto proto = proto_of(Model({b, a}, {y, z}));
  EXPECT_THAT(inputs(proto), ElementsAre("b", "a"));
  EXPECT_THAT(outputs(proto), ElementsAre("y", "z"));
  EXPECT_THAT(nodes(proto), ElementsAre("Relu(a)->y", "Relu(b)->z"));
  const auto& image = proto.graph().input(0).type().tensor_type().shape();
  ASSERT_EQ(image.dim_size(), 4);
  EXPECT_EQ(image.dim(0).dim_param(), "N");
  EXPECT_EQ(image.dim(1).dim_value(), 3);
  EXPECT_EQ(image.dim(2).dim_value(), 6);
  EXPECT_EQ(image.dim(3).dim_value(), 4);
  EXPECT_EQ(proto.graph().output(0).type().tensor_type().shape().dim_size(), 2);
  ASSERT_EQ(proto.metadata_props_size(), 2);
  EXPECT_EQ(proto.metadata_props(0).key(), "input_layout");
  EXPECT_EQ(proto.metadata_props(1).key(), "output_layout");
}

TEST(ExportSeveral, KeepsTheNameOfOneInputBesideSeveralOutputs) {
  const auto x = input({7});
  const auto proto = proto_of(Model({x}, {relu(x, "y"), relu(x, "z")}));
  EXPECT_THAT(inputs(proto), ElementsAre("input"));
  EXPECT_THAT(outputs(proto), ElementsAre("y", "z"));
}

TEST(ExportSeveral, AcceptsCustomNames) {
  const auto a = input({7}, "a"), b = input({7}, "b");
  const auto proto = proto_of(
      Model({a, b}, {relu(a, "y"), relu(b, "z")}),
      {.input_names = {"left", "right"}, .output_names = {"low", "high"}});
  EXPECT_THAT(inputs(proto), ElementsAre("left", "right"));
  EXPECT_THAT(outputs(proto), ElementsAre("low", "high"));
  const auto x = input({7}, "x");
  const auto one = proto_of(Model(x, relu(x, "y")),
                            {.input_names = {"pixels"}, .output_names = {"p"}});
  EXPECT_THAT(inputs(one), ElementsAre("pixels"));
  EXPECT_THAT(outputs(one), ElementsAre("p"));
}

TEST(ExportSeveral, PrefersCustomNamesToLayerNames) {
  const auto a = input({7}, "a"), b = input({7}, "y");
  const auto proto = proto_of(Model({a, b}, {relu(a, "z"), relu(b, "p")}),
                              {.output_names = {"y", "a"}});
  EXPECT_THAT(inputs(proto), ElementsAre("a_1", "y_1"));
  EXPECT_THAT(outputs(proto), ElementsAre("y", "a"));
}

TEST(ExportSeveral, RejectsDuplicateNamesAndWrongCounts) {
  const auto a = input({7}, "a"), b = input({7}, "b");
  const Model model({a, b}, {relu(a, "y"), relu(b, "z")});
  const auto refusal = [&](const OnnxExportOptions& options) {
    return failure_of<ValueError>([&] { (void)to_onnx(model, options); });
  };
  EXPECT_EQ(refusal({.input_names = {"x"}}),
            (Failure{"count_mismatch", "ONNX input names"}));
  EXPECT_EQ(refusal({.output_names = {"x", "y", "z"}}),
            (Failure{"count_mismatch", "ONNX output names"}));
  EXPECT_EQ(refusal({.input_names = {"x", "x"}}),
            (Failure{"duplicate_name", "ONNX names"}));
  EXPECT_EQ(refusal({.input_names = {"x", "u"}, .output_names = {"v", "x"}}),
            (Failure{"duplicate_name", "ONNX names"}));
  EXPECT_EQ(refusal({.input_names = {"x", ""}}),
            (Failure{"missing_value", "ONNX input names"}));
}

TEST(ExportSeveral, WritesAnOutputWithAnotherConsumer) {
  const auto x = input({7});
  const auto y = relu(x, "y");
  const auto z = Dense({.units = 2, .name = "z"})(y);
  EXPECT_THAT(nodes(proto_of(Model({x}, {y, z}))),
              ElementsAre("Relu(input)->y", "Gemm(y)->z"));
  EXPECT_THAT(outputs(proto_of(Model({x}, {z, y}))), ElementsAre("z", "y"));
}

TEST(ExportSeveral, WritesOneTensorAsTwoOutputs) {
  const auto x = input({7});
  const auto y = relu(x, "y");
  const auto proto = proto_of(Model({x}, {y, y, y}));
  EXPECT_THAT(outputs(proto), ElementsAre("y", "y_1", "y_2"));
  EXPECT_THAT(nodes(proto), ElementsAre("Relu(input)->y", "Identity(y)->y_1",
                                        "Identity(y)->y_2"));
}

TEST(ExportSeveral, PassesAnInputStraightToAnOutput) {
  const auto x = input({6, 4, 3}, "x"), u = input({7}, "u");
  const auto proto = proto_of(Model({x, u}, {u, relu(x, "y"), u}));
  EXPECT_THAT(inputs(proto), ElementsAre("x", "u"));
  EXPECT_THAT(outputs(proto), ElementsAre("u_1", "y", "u_2"));
  EXPECT_THAT(nodes(proto), ElementsAre("Relu(x)->y", "Identity(u)->u_1",
                                        "Identity(u)->u_2"));
  EXPECT_THAT(nodes(proto_of(Model(x, x))),
              ElementsAre("Identity(input)->logits"));
}

TEST(ExportSeveral, KeepsAnUnusedInput) {
  const auto x = input({7}, "x"), u = input({7}, "u");
  EXPECT_THAT(inputs(proto_of(Model({x, u}, {relu(x, "y")}))),
              ElementsAre("x", "u"));
}

TEST(ExportSeveral, PutsFlattenedImagesInKerasOrderOnce) {
  const auto x = input({6, 4, 3});
  const auto image = relu(x, "image");
  const auto flat = Flatten({.name = "flat"})(image);
  const auto proto = proto_of(Model({x}, {flat, image, flat}));
  EXPECT_THAT(outputs(proto), ElementsAre("flat", "image", "flat_1"));
  int transposes = 0;
  for (const auto& node : proto.graph().node()) {
    transposes += node.op_type() == "Transpose";
  }
  EXPECT_EQ(transposes, 1);
  EXPECT_EQ(proto.graph().node(1).input(0), "image");
}

TEST(ExportSeveral, ListsAllInputsAndOutputsInTheInspection) {
  const TempFolder folder;
  const auto a = input({7}, "a"), b = input({6, 4, 3}, "b");
  export_onnx(Model({a, b}, {relu(b, "z"), relu(a, "y")}),
              folder / "model.onnx");
  const OnnxSummary summary = inspect_onnx(folder / "model.onnx");
  ASSERT_EQ(summary.inputs.size(), 2u);
  ASSERT_EQ(summary.outputs.size(), 2u);
  EXPECT_EQ(summary.inputs[1].name, "b");
  EXPECT_EQ(to_string(summary.inputs[1].shape), "[N,3,6,4]");
  EXPECT_EQ(summary.outputs[0].name, "z");
  EXPECT_EQ(summary.outputs[1].name, "y");
  EXPECT_THAT(lines_of(to_table(summary)),
              IsSupersetOf({"  input         a  float32 [N,7]",
                            "  output        y  float32 [N,7]"}));
}

TEST(ExportSeveral, WritesOneSetOfWeightsForASharedLayer) {
  const auto a = input({7}, "a"), b = input({7}, "b");
  const Dense dense({.units = 2, .name = "dense"});
  const auto proto = proto_of(Model({a, b}, {dense(a), dense(b)}));
  EXPECT_EQ(proto.graph().initializer_size(), 2);
  EXPECT_THAT(nodes(proto), ElementsAre("Gemm(a)->dense", "Gemm(b)->dense_1"));
}

TEST(ExportSeveral, RejectsAQuantizerThatIsNotCalibrated) {
  const auto a = input({7}, "a"), b = input({7}, "b");
  Model model = quant::quantize_model(
      Model({a, b}, {Dense({.units = 2, .name = "y"})(a),
                     Dense({.units = 3, .name = "z"})(b)}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)to_onnx(model); }),
            (Failure{"not_calibrated", "quantizer 'a'"}));
}

}  // namespace
}  // namespace octet::io
