// If, Loop and Scan in the reference executor.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>

#include "onnx_run.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

TEST(OnnxControlFlow, RunsTheBranchOfAnIf) {
  const OnnxReference model = to_run(
      "(float[N,2] x) => (float[N,2] y, float[N,2] z)",
      "m = ReduceMax <keepdims = 0> (x)\n"
      "o = Constant <value = float {0.0}> ()\n"
      "c = Greater (m, o)\n"
      "a = Neg (x)\n"
      "y, z = If <then_branch = t () => (float[N,2] r, float[N,2] s) {\n"
      "  r = If <then_branch = u () => (float[N,2] q) {q = Add (a, a)},\n"
      "          else_branch = v () => (float[N,2] q) {q = Identity (x)}> (c)\n"
      "  s = Identity (a)\n"
      "}, else_branch = e () => (float[N,2] r, float[N,2] s) {\n"
      "  k = Constant <value = float {2.0}> ()\n"
      "  r = Mul (x, k)\n"
      "  s = Identity (k)\n"
      "}> (c)");
  const auto run = [&](const std::vector<float>& x) {
    return model.predict(std::vector{numbers({1, 2}, x)});
  };
  EXPECT_THAT(values_of(run({1, -3})[0]), ElementsAre(-2, 6));
  EXPECT_THAT(values_of(run({1, -3})[1]), ElementsAre(-1, 3));
  EXPECT_THAT(values_of(run({-1, -3})[0]), ElementsAre(-2, -6));
  EXPECT_THAT(values_of(run({-1, -3})[1]), ElementsAre(2));
}

TEST(OnnxControlFlow, RunsTheIterationsOfALoop) {
  const auto model = [](const std::string& count,
                        const std::string& condition = "d = Identity (c)") {
    return to_run("(float[2] x) => (float[2] y, float[3,2] z)",
                  count +
                      "y, z = Loop <body = b (int64 i, bool c, float[2] s)\n"
                      "            => (bool d, float[2] t, float[2] u) {\n"
                      "  " +
                      condition +
                      "\n"
                      "  f = Cast <to = 1> (i)\n"
                      "  t = Add (s, x)\n"
                      "  u = Add (s, f)\n"
                      "}> (n, , x)");
  };
  const OnnxReference three = model("n = Constant <value = int64 {3}> ()\n");
  const std::vector<Tensor> y = three.predict(std::vector{numbers({1, 2})});
  EXPECT_THAT(values_of(y[0]), ElementsAre(4, 8));
  EXPECT_THAT(values_of(y[1]), ElementsAre(1, 2, 3, 5, 5, 8));
  const std::string count = "n = Constant <value = int64 {3}> ()\n";
  for (const char* condition :
       {"d = Cast <to = 9> (c)", "d = Constant <value = bool {1}> ()"}) {
    EXPECT_NO_THROW(model(count, condition)) << condition;
  }
  // Stops behind the first iteration.
  const std::vector<Tensor> once =
      model(count + "o = Constant <value = bool {0}> ()\n", "d = Identity (o)")
          .predict(std::vector{numbers({1, 2})});
  EXPECT_THAT(values_of(once[0]), ElementsAre(2, 4));
  EXPECT_THAT(values_of(once[1]), ElementsAre(1, 2));
  const std::vector<Tensor> twice =
      model(
          "s = Shape (x)\n o = Constant <value = int64 {0}> ()\n"
          "n = Gather (s, o)\n")
          .predict(std::vector{numbers({1, 2})});
  EXPECT_THAT(values_of(twice[0]), ElementsAre(3, 6));
  const OnnxReference never = model("n = Constant <value = int64 {0}> ()\n");
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              (void)never.predict(std::vector{numbers({1, 2})});
            }),
            (Failure{"unsupported_operator", "node 'y' (Loop)"}));
}

TEST(OnnxControlFlow, LoopsHaveComputedConditions) {
  // Doubles until the sum is large; the trip count is an input.
  const OnnxReference model =
      to_run("(float[2] x, int64 n) => (float[2] y)",
             "m = Constant <value = float {20.0}> ()\n"
             "y = Loop <body = b (int64 i, bool c, float[2] s)\n"
             "            => (bool d, float[2] t) {\n"
             "  t = Add (s, s)\n"
             "  u = ReduceSum <keepdims = 0> (t)\n"
             "  d = Less (u, m)\n"
             "}> (n, , x)");
  const auto run = [&](int64_t trips) {
    return values_of(model.predict(
        std::vector{numbers({1, 2}), Tensor::of<int64_t>({}, {trips})})[0]);
  };
  EXPECT_THAT(run(0), ElementsAre(1, 2));
  EXPECT_THAT(run(2), ElementsAre(4, 8));
  EXPECT_THAT(run(9), ElementsAre(8, 16));
  EXPECT_TRUE(model.has_control_flow());
  EXPECT_FALSE(to_run("(float[2] x) => (float[2] y)", "y = Relu (x)")
                   .has_control_flow());
}

TEST(OnnxControlFlow, EndlessLoopsEndAtTheTimeLimit) {
  const onnx::ModelProto model = model_of(
      "g (float[2] x) => (float[2] y) {\n"
      "  n = Constant <value = int64 {9000000000000}> ()\n"
      "  y = Loop <body = b (int64 i, bool c, float[2] s)\n"
      "              => (bool d, float[2] t) {\n"
      "    d = Identity (c)\n  t = Neg (s)\n}> (n, , x)\n}");
  const OnnxReference loaded =
      onnx_reference_from_bytes(model.SerializeAsString(), {.time_limit = 0.1});
  EXPECT_EQ(failure_of<FormatError>([&] {
              (void)loaded.predict(std::vector{numbers({1, 2})});
            }).code,
            "time_limit");
}

TEST(OnnxControlFlow, ScansSequences) {
  const auto scan = [](const std::string& attributes,
                       const std::string& shapes) {
    return to_run("(float[2] s, float[2,3] x) => " + shapes,
                  "y, z = Scan <num_scan_inputs = 1" + attributes +
                      ", body = b (float[2] a, float[2] e)\n"
                      "          => (float[2] t, float[2] r) {\n"
                      "  t = Add (a, e)\n"
                      "  r = Mul (a, e)\n"
                      "}> (s, x)");
  };
  const std::vector<Tensor> inputs{
      numbers({10, 20}), numbers({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6})};
  std::vector<Tensor> y =
      scan(", scan_input_axes = [1]", "(float[2] y, float[3,2] z)")
          .predict(inputs);
  EXPECT_THAT(values_of(y[0]), ElementsAre(16, 35));
  EXPECT_THAT(values_of(y[1]), ElementsAre(10, 80, 22, 120, 39, 174));
  y = scan(
          ", scan_input_axes = [1], scan_input_directions = [1],"
          "scan_output_axes = [1], scan_output_directions = [1]",
          "(float[2] y, float[2,3] z)")
          .predict(inputs);
  EXPECT_THAT(values_of(y[0]), ElementsAre(16, 35));
  EXPECT_THAT(values_of(y[1]), ElementsAre(15, 26, 30, 124, 130, 120));
}

TEST(OnnxControlFlow, ChecksBranches) {
  const auto model = [](const std::string& condition,
                        const std::string& branch) {
    return "g (float[2] x) => (float[2] y) {\n c = " + condition +
           "\n y = If <then_branch = t () => (float[2] r) {" + branch +
           "}, else_branch = e () => (float[2] r) {r = Relu (x)}> (c)\n}";
  };
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              to_run(model_of(
                  model("Constant <value = bool {1}> ()", "r = Det (x)")));
            }),
            (Failure{"unsupported_operator", "ONNX model"}));
  EXPECT_EQ(refusal(to_run(model_of(model("Constant <value = bool[2] {1,1}> ()",
                                          "r = Relu (x)"))),
                    {numbers({1, 2})})
                .code,
            "invalid_graph");
}

}  // namespace
}  // namespace octet::io
