#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/runtime/error.h>

#include "io/onnx/export/builder.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

QuantParams per_tensor(float scale) { return {.scale = Tensor::scalar(scale)}; }

QuantParams per_channel(const std::vector<float>& scales, int axis) {
  return {
      .scale = Tensor::of<float>({static_cast<int64_t>(scales.size())}, scales),
      .axis = axis,
      .low = -127};
}

class Builder : public ::testing::Test {
 protected:
  Builder() {
    builder_.reserve("input");
    builder_.add_input("input", {Shape::kAnySize, 3, 8, 8});
  }
  const onnx::NodeProto& node(int index) const { return graph_.node(index); }

  onnx::GraphProto graph_;
  GraphBuilder builder_{graph_};
};

TEST_F(Builder, WritesTheBatchAsNamedDimension) {
  const auto& type = graph_.input(0).type().tensor_type();
  EXPECT_EQ(type.elem_type(), onnx::TensorProto::FLOAT);
  ASSERT_EQ(type.shape().dim_size(), 4);
  EXPECT_EQ(type.shape().dim(0).dim_param(), "N");
  EXPECT_EQ(type.shape().dim(1).dim_value(), 3);
}

TEST_F(Builder, GivesEveryNodeAndValueAUniqueName) {
  const std::string a = builder_.add_node("Relu", "relu", {"input"});
  const std::string b = builder_.add_node("Relu", "relu", {a});
  EXPECT_EQ(node(0).name(), "relu");
  EXPECT_EQ(node(1).name(), "relu_1");
  EXPECT_NE(a, b);
  EXPECT_THAT(node(1).input(), ElementsAre(a));
}

TEST_F(Builder, WritesAxesOfReductionsAsAnInputSinceOpset18) {
  const OnnxBuilder::Attributes over{{"axes", std::vector<int64_t>{2, 3}},
                                     {"keepdims", int64_t{1}}};
  builder_.add_node("ReduceMean", "mean", {"input"}, over);
  EXPECT_EQ(node(0).input_size(), 1);
  EXPECT_EQ(node(0).attribute_size(), 2);

  onnx::GraphProto graph;
  GraphBuilder later(graph, 18);
  later.reserve("input");
  later.add_input("input", {Shape::kAnySize, 3, 8, 8});
  later.add_node("ReduceMean", "mean", {"input"}, over);
  EXPECT_THAT(graph.node(0).input(), ElementsAre("input", "mean/axes"));
  ASSERT_EQ(graph.node(0).attribute_size(), 1);
  EXPECT_EQ(graph.node(0).attribute(0).name(), "keepdims");
  EXPECT_THAT(graph.initializer(0).dims(), ElementsAre(2));
}

TEST_F(Builder, WritesAttributesOfEveryType) {
  builder_.add_node("Foo", "foo", {"input"},
                    {{"i", int64_t{3}},
                     {"f", 0.5f},
                     {"s", std::string("SAME_UPPER")},
                     {"ints", std::vector<int64_t>{1, 2}},
                     {"floats", std::vector<float>{0.2f}},
                     {"strings", std::vector<std::string>{"Tanh", "Relu"}}});
  ASSERT_EQ(node(0).attribute_size(), 6);
  EXPECT_EQ(node(0).attribute(0).type(), onnx::AttributeProto::INT);
  EXPECT_EQ(node(0).attribute(0).i(), 3);
  EXPECT_EQ(node(0).attribute(1).type(), onnx::AttributeProto::FLOAT);
  EXPECT_EQ(node(0).attribute(1).f(), 0.5f);
  EXPECT_EQ(node(0).attribute(2).type(), onnx::AttributeProto::STRING);
  EXPECT_EQ(node(0).attribute(2).s(), "SAME_UPPER");
  EXPECT_EQ(node(0).attribute(3).type(), onnx::AttributeProto::INTS);
  EXPECT_THAT(node(0).attribute(3).ints(), ElementsAre(1, 2));
  EXPECT_EQ(node(0).attribute(4).type(), onnx::AttributeProto::FLOATS);
  EXPECT_THAT(node(0).attribute(4).floats(), ElementsAre(0.2f));
  EXPECT_EQ(node(0).attribute(5).type(), onnx::AttributeProto::STRINGS);
  EXPECT_THAT(node(0).attribute(5).strings(), ElementsAre("Tanh", "Relu"));
}

TEST_F(Builder, RejectsInputsWithoutProducer) {
  EXPECT_EQ(failure_of<InternalError>(
                [&] { builder_.add_node("Relu", "relu", {"nowhere"}); }),
            (Failure{"internal", "ONNX node 'relu' (Relu)"}));
}

TEST_F(Builder, WritesInitializersAsRawLittleEndianData) {
  const std::string name = builder_.add_initializer(
      "conv/kernel", Tensor::of<float>({2, 1}, {1.0f, -2.5f}));
  EXPECT_EQ(name, "conv/kernel");
  const onnx::TensorProto& tensor = graph_.initializer(0);
  EXPECT_EQ(tensor.data_type(), onnx::TensorProto::FLOAT);
  EXPECT_THAT(tensor.dims(), ElementsAre(2, 1));
  ASSERT_EQ(tensor.raw_data().size(), 8u);
  float second = 0;
  std::memcpy(&second, tensor.raw_data().data() + 4, sizeof second);
  EXPECT_EQ(second, -2.5f);
}

TEST_F(Builder, KeepsOneInitializerForASharedLayer) {
  const Tensor kernel = Tensor::of<float>({2}, {1.0f, 2.0f});
  EXPECT_EQ(builder_.add_initializer("k", kernel), "k");
  EXPECT_EQ(builder_.add_initializer("k", kernel.clone()), "k");
  EXPECT_EQ(builder_.add_initializer("k", Tensor::scalar(1.0f)), "k_1");
  EXPECT_EQ(graph_.initializer_size(), 2);
}

TEST_F(Builder, RejectsWeightsThatAreNotFiniteAndNamesThem) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    EXPECT_EQ(failure_of<ValueError>([&] {
                builder_.add_initializer("conv/kernel",
                                         Tensor::of<float>({2}, {1.0f, bad}));
              }),
              (Failure{"not_finite", "initializer 'conv/kernel'"}));
  }
}

TEST_F(Builder, WritesMasks) {
  EXPECT_EQ(builder_.add_initializer("mask",
                                     Tensor::of<float>({3}, {0, -INFINITY, 0})),
            "mask");
  EXPECT_EQ(failure_of<ValueError>([&] {
              builder_.add_initializer(
                  "all", Tensor::of<float>({2}, {-INFINITY, -INFINITY}));
            }),
            (Failure{"not_finite", "initializer 'all'"}));
}

TEST_F(Builder, RejectsElementTypesThatOnnxLayersDoNotUse) {
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              builder_.add_initializer("b", Tensor::zeros({1}, DType::boolean));
            }),
            (Failure{"unsupported_type", "initializer 'b'"}));
}

TEST_F(Builder, WritesAPairWithScalarScaleAndNoAxis) {
  const std::string out =
      builder_.add_qdq("input", "conv/input", per_tensor(0.5f));
  ASSERT_EQ(graph_.node_size(), 2);
  EXPECT_EQ(node(0).op_type(), "QuantizeLinear");
  EXPECT_EQ(node(1).op_type(), "DequantizeLinear");
  EXPECT_EQ(node(0).attribute_size() + node(1).attribute_size(), 0);
  EXPECT_EQ(node(1).output(0), out);
  EXPECT_EQ(node(1).input(0), node(0).output(0));
  // Both share the scale and the zero point.
  EXPECT_EQ(node(0).input(1), node(1).input(1));
  EXPECT_EQ(node(0).input(2), node(1).input(2));
  ASSERT_EQ(graph_.initializer_size(), 2);
  EXPECT_EQ(graph_.initializer(0).dims_size(), 0);
  EXPECT_EQ(graph_.initializer(1).dims_size(), 0);
  EXPECT_EQ(graph_.initializer(1).data_type(), onnx::TensorProto::INT8);
  EXPECT_EQ(graph_.initializer(1).raw_data(), std::string(1, '\0'));
  EXPECT_EQ(builder_.qdq_pairs(), 1);
}

TEST_F(Builder, WritesTheAxisOfAPairPerChannel) {
  const std::string kernel =
      builder_.add_initializer("k", Tensor::zeros({2, 3, 1, 1}));
  builder_.add_qdq(kernel, "k", per_channel({0.5f, 0.25f}, 0));
  for (const int i : {0, 1}) {
    ASSERT_EQ(node(i).attribute_size(), 1);
    EXPECT_EQ(node(i).attribute(0).name(), "axis");
    EXPECT_EQ(node(i).attribute(0).i(), 0);
  }
  EXPECT_THAT(graph_.initializer(1).dims(), ElementsAre(2));
  EXPECT_THAT(graph_.initializer(2).dims(), ElementsAre(2));
}

TEST_F(Builder, WritesOnePairPerValueAndQuantization) {
  const std::string first = builder_.add_qdq("input", "a", per_tensor(0.5f));
  EXPECT_EQ(builder_.add_qdq("input", "b", per_tensor(0.5f)), first);
  EXPECT_NE(builder_.add_qdq("input", "c", per_tensor(0.25f)), first);
  const std::string relu = builder_.add_node("Relu", "relu", {"input"});
  EXPECT_NE(builder_.add_qdq(relu, "d", per_tensor(0.5f)), first);
  EXPECT_EQ(builder_.qdq_pairs(), 3);
}

TEST_F(Builder, ClipsAnActivationToARangeNarrowerThanInt8) {
  QuantParams qparams = per_tensor(0.5f);
  qparams.low = -8;
  qparams.high = 7;
  builder_.add_qdq("input", "a", qparams);
  ASSERT_EQ(graph_.node_size(), 3);
  EXPECT_EQ(node(0).op_type(), "Clip");
  EXPECT_EQ(node(0).input(0), "input");
  float bounds[2];
  std::memcpy(&bounds[0], graph_.initializer(0).raw_data().data(), 4);
  std::memcpy(&bounds[1], graph_.initializer(1).raw_data().data(), 4);
  EXPECT_EQ(bounds[0], -4.0f);
  EXPECT_EQ(bounds[1], 3.5f);
  EXPECT_EQ(node(1).input(0), node(0).output(0));
}

TEST_F(Builder, DoesNotClipWeightsWithinTheirRange) {
  const std::string kernel = builder_.add_initializer("k", Tensor::zeros({2}));
  builder_.add_qdq(kernel, "k", per_channel({0.5f, 0.25f}, 0));
  EXPECT_EQ(node(0).op_type(), "QuantizeLinear");
}

TEST_F(Builder, RejectsScalesThatAreNotFiniteAndPositive) {
  for (const float scale : {0.0f, -0.5f, NAN, INFINITY}) {
    EXPECT_EQ(failure_of<ValueError>([&] {
                builder_.add_qdq("input", "conv/input", per_tensor(scale));
              }),
              (Failure{"invalid_value", "quantizer 'conv/input'"}))
        << scale;
  }
  EXPECT_EQ(graph_.node_size(), 0);
}

TEST_F(Builder, RejectsAQuantizerWithoutAScale) {
  EXPECT_EQ(failure_of<ValueError>([&] {
              builder_.add_qdq("input", "conv/input", QuantParams{});
            }),
            (Failure{"not_calibrated", "quantizer 'conv/input'"}));
}

TEST_F(Builder, RejectsScalesThatDoNotFitTheWeights) {
  const std::string kernel =
      builder_.add_initializer("k", Tensor::zeros({3, 2}));
  for (const auto& [axis, code] :
       {std::pair(-1, "out_of_range"), std::pair(0, "count_mismatch"),
        std::pair(2, "count_mismatch")}) {
    EXPECT_EQ(failure_of<ShapeError>([&] {
                builder_.add_qdq(kernel, "k", per_channel({0.5f, 0.25f}, axis));
              }),
              (Failure{code, "quantizer 'k'"}))
        << axis;
  }
  EXPECT_NO_THROW(builder_.add_qdq(kernel, "k", per_channel({0.5f, 0.25f}, 1)));
}

TEST_F(Builder, RejectsValuesOutsideInt8) {
  QuantParams qparams = per_tensor(0.5f);
  qparams.high = 128;
  EXPECT_EQ(
      failure_of<ValueError>([&] { builder_.add_qdq("input", "a", qparams); }),
      (Failure{"out_of_range", "quantizer 'a'"}));
}

TEST_F(Builder, RenamesTheOutputForAllConsumers) {
  builder_.reserve("logits");
  const std::string a = builder_.add_node("Relu", "a", {"input"});
  builder_.add_node("Abs", "b", {a});
  builder_.add_output(a, "logits", {Shape::kAnySize, 3, 8, 8});
  EXPECT_EQ(node(0).output(0), "logits");
  EXPECT_EQ(node(1).input(0), "logits");
  EXPECT_EQ(graph_.output(0).name(), "logits");
  EXPECT_EQ(graph_.output(0).type().tensor_type().shape().dim_size(), 4);
}

TEST_F(Builder, InsertsAnIdentityIfAnInputIsTheOutput) {
  builder_.reserve("logits");
  builder_.add_output("input", "logits", {Shape::kAnySize, 3, 8, 8});
  ASSERT_EQ(graph_.node_size(), 1);
  EXPECT_EQ(node(0).op_type(), "Identity");
  EXPECT_THAT(node(0).input(), ElementsAre("input"));
  EXPECT_THAT(node(0).output(), ElementsAre("logits"));
}

TEST_F(Builder, KeepsReservedNamesFromOtherValues) {
  builder_.reserve("k");
  EXPECT_EQ(builder_.add_initializer("k", Tensor::scalar(1.0f)), "k_1");
  EXPECT_EQ(failure_of<ValueError>([&] { builder_.reserve("k"); }),
            (Failure{"duplicate_name", "ONNX value 'k'"}));
}

}  // namespace
}  // namespace octet::io
