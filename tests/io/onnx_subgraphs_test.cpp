// If and Loop in import, which replaces them by the nodes of their subgraphs.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>

#include "onnx_normalization.h"

namespace octet::io {
namespace {

std::string if_node(const std::string& then, const std::string& otherwise) {
  return "If <then_branch = t () => (float[] a) {" + then +
         "}, else_branch = e () => (float[] b) {" + otherwise + "}>";
}

TEST(OnnxSubgraphs, TakesTheBranchOfAConstantCondition) {
  for (const bool condition : {true, false}) {
    expect_same(
        "c = Conv (x, w)\n"
        "k = Constant <value = bool {" +
            std::to_string(condition) +
            "}> ()\n"
            "z = " +
            if_node("v = Relu (c)\n a = Neg (v)", "b = Abs (c)") +
            " (k)\n"
            "y = Exp (z)",
        std::string("c = Conv (x, w)\n") +
            (condition ? "v = Relu (c)\n z = Neg (v)\n" : "z = Abs (c)\n") +
            "y = Exp (z)");
  }
}

// torch.squeeze(dim) asks whether the axis has size 1.
TEST(OnnxSubgraphs, TakesTheBranchOfAKnownSize) {
  const auto squeeze = [](int axis, const std::string& from,
                          const std::string& to) {
    const std::string a = std::to_string(axis);
    return to + "_i = Constant <value = int64 {" + a + "}> ()\n" + to +
           "_o = Constant <value = int64 {1}> ()\n" + to + "_s = Shape (" +
           from + ")\n" + to + "_d = Gather (" + to + "_s, " + to + "_i)\n" +
           to + "_c = Equal (" + to + "_d, " + to + "_o)\n" + to + " = " +
           if_node("f = Constant <value = int64[1] {" + a +
                       "}> ()\n a = Squeeze (" + from + ", f)",
                   "b = Identity (" + from + ")") +
           " (" + to + "_c)\n";
  };
  expect_same("c = Conv (x, w)\n p = GlobalAveragePool (c)\n" +
                  squeeze(3, "p", "q") + squeeze(2, "q", "r") +
                  squeeze(1, "r", "s") + "y = Softmax (s)",
              "c = Conv (x, w)\n p = GlobalAveragePool (c)\n"
              "f = Flatten (p)\n"
              "y = Softmax (f)");
}

TEST(OnnxSubgraphs, ABranchMayUseValuesWithinAndAroundIt) {
  expect_same(
      "c = Conv (x, w)\n"
      "k = Constant <value = bool {1}> ()\n"
      "y = " +
          if_node("d = Relu (c)\n a = " +
                      if_node("a = Add (c, d)", "b = Sub (c, d)") + " (k)",
                  "b = Identity (c)") +
          " (k)",
      "c = Conv (x, w)\n d = Relu (c)\n y = Add (c, d)");
}

TEST(OnnxSubgraphs, RejectsAConditionThatDependsOnValues) {
  const onnx::ModelProto model = conv_file(
      "m = ReduceMax <keepdims = 0> (x)\n"
      "z = Constant <value = float {0.0}> ()\n"
      "k = Greater (m, z)\n"
      "y = " +
      if_node("a = Relu (x)", "b = Abs (x)") + " (k)");
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              (void)from_onnx(model.SerializeAsString());
            }).code,
            "unsupported_operator");
}

TEST(OnnxSubgraphs, SelectsOutputsByAComputedCondition) {
  const onnx::ModelProto file = model_of(
      "g (float[2,3] x, bool c) => (float[2,3] y) {\n"
      "  y = If <then_branch = t () => (float[2,3] a) {a = Log (x)},\n"
      "          else_branch = e () => (float[2,3] b) {b = Neg (x)}> (c)\n}");
  const Model model = from_onnx(file.SerializeAsString());
  const OnnxReference reference =
      onnx_reference_from_bytes(file.SerializeAsString());
  const Tensor x = uniform_values({2, 3});  // its logarithms have NaN
  for (const bool condition : {true, false}) {
    Tensor truth({}, DType::boolean);
    truth.data<bool>()[0] = condition;
    const Tensor y = model.predict(std::vector{
        x.reshaped({1, 2, 3}), Tensor::full({1}, condition ? 1.0f : 0.0f)})[0];
    const Tensor expected = reference.predict(std::vector{x, truth})[0];
    for (size_t i = 0; i < y.f32().size(); ++i) {
      const float value = std::as_const(expected).f32()[i];
      EXPECT_TRUE(std::isnan(value) ? std::isnan(y.f32()[i])
                                    : std::abs(y.f32()[i] - value) < 1e-6f)
          << condition << ' ' << i;
    }
  }
}

onnx::ModelProto loop_file(int trips, const std::string& body) {
  onnx::ModelProto model = graph_model(
      "(float[N,5] x) => (float[N,M] y)",
      "n = Constant <value = int64 {" + std::to_string(trips) +
          "}> ()\n"
          "t = Constant <value = bool {1}> ()\n"
          "y = Loop <body = b (int64 i, bool c, float[N,5] s) => (bool d, "
          "float[N,5] r) {" +
          body + "}> (n, t, x)");
  add_noise(model, "m", {5, 5});
  return model;
}

// onnx::checker does not know these operators.
TEST(OnnxSubgraphs, RejectsSubgraphsOfOtherForms) {
  const std::string body =
      "Loop <body = b (int64 i, bool c, float[N,5] s) => (bool c) {"
      "c = Identity (c)}>";
  for (const std::string& nodes :
       {std::string("y = If (x)"), std::string("y = If ()"),
        "y = " + if_node("a = Relu (x)", "b = Abs (x)") + " ()",
        "y = " + body + " ()", "y = " + body + " (x)",
        std::string("y = Loop (x, x, x)"), std::string("y = Hardmax () \n")}) {
    SCOPED_TRACE(nodes);
    const onnx::ModelProto model = conv_file(nodes, 11);
    EXPECT_THROW((void)from_onnx(model.SerializeAsString()), Error);
    EXPECT_THROW((void)onnx_reference_from_bytes(model.SerializeAsString()),
                 Error);
  }
}

TEST(OnnxSubgraphs, UnrollsLoops) {
  const Tensor x = uniform_values({2, 5});
  const auto plain = [](const std::string& nodes) {
    onnx::ModelProto model =
        graph_model("(float[N,5] x) => (float[N,M] y)", nodes);
    add_noise(model, "m", {5, 5});
    return model;
  };
  expect_layers(loop_file(3,
                          "p = MatMul (s, m)\n r = Tanh (p)\n"
                          "d = Identity (c)"),
                x,
                node_outputs(plain("a = MatMul (x, m)\n b = Tanh (a)\n"
                                   "e = MatMul (b, m)\n f = Tanh (e)\n"
                                   "g = MatMul (f, m)\n y = Tanh (g)"),
                             x));
  // The iteration's number: 0 + 1 + 2 + 3.
  expect_layers(loop_file(4,
                          "f = Cast <to = 1> (i)\n r = Add (s, f)\n"
                          "d = Identity (c)"),
                x,
                node_outputs(plain("k = Constant <value = float {6.0}> ()\n"
                                   "y = Add (x, k)"),
                             x));
  expect_layers(loop_file(0, "r = Tanh (s)\n d = Identity (c)"), x, x);
}

TEST(OnnxSubgraphs, RejectsLoopsOfUnknownLength) {
  const auto said = [](int trips, const std::string& body) {
    return failure_of<UnsupportedError>(
        [&] { (void)from_onnx(loop_file(trips, body).SerializeAsString()); });
  };
  const Failure refused{"unsupported_operator", "node 'y' (Loop)"};
  EXPECT_EQ(said(3,
                 "r = Tanh (s)\n k = ReduceMax <keepdims = 0> (s)\n"
                 "d = Cast <to = 9> (k)"),
            refused);
  EXPECT_EQ(said(20'000, "r = Tanh (s)\n d = Identity (c)"), refused);
}

}  // namespace
}  // namespace octet::io
