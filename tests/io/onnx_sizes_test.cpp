// Sizes known only at run time: errors name the node, before any cost.
#include <cmath>
#include <cstdint>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/rng.h>

#include "onnx_run.h"

namespace octet::io {
namespace {

using ::testing::AnyOf;
using ::testing::StartsWith;

constexpr int64_t kHuge = int64_t{1} << 40;

class OnnxSizes : public ::testing::Test {
 protected:
  void expect_refused(const OnnxReference& model,
                      const std::vector<Tensor>& inputs,
                      const std::string& code = "") {
    const Failure failure = refusal(model, inputs);
    EXPECT_THAT(failure.subject, StartsWith("node 'y' ("));
    if (code.empty()) {
      EXPECT_THAT(failure.code, AnyOf("invalid_graph", "size_limit"));
    } else {
      EXPECT_EQ(failure.code, code);
    }
  }
};

TEST_F(OnnxSizes, OfReshape) {
  const OnnxReference model = to_run(
      "(float[2,3] x, int64[K] s) => (float[A,B] y)", "y = Reshape (x, s)");
  const Tensor x = Tensor::zeros({2, 3});
  expect_refused(model, {x, integers({5, 2})}, "invalid_graph");
  expect_refused(model, {x, integers({-1, -1})}, "invalid_graph");
  expect_refused(model, {x, integers({-1, 4})});
  expect_refused(model, {x, integers({-2, 3})});
  expect_refused(model, {x, integers({-1, 1, 0})});
  expect_refused(model, {x, integers({INT64_MAX, INT64_MAX, -1})});
  expect_refused(model, {x, integers({INT64_MIN, -1})});
  expect_refused(model, {x, integers({int64_t{1} << 62, 4, 6})}, "size_limit");
  expect_refused(model, {x, integers({1, 1, 1, 1, 1, 1, 1, 2, 3})},
                 "invalid_graph");
}

TEST_F(OnnxSizes, OfExpandAndConstantOfShape) {
  const OnnxReference expand =
      to_run("(float[1] x, int64[K] s) => (float[A,B] y)", "y = Expand (x, s)");
  const OnnxReference fill =
      to_run("(int64[K] s) => (float[A,B] y)", "y = ConstantOfShape (s)");
  for (const auto& sizes : std::vector<std::vector<int64_t>>{
           {kHuge},
           {-1},
           {1 << 20, 1 << 20},
           {INT64_MAX, INT64_MAX},
           {INT64_MIN},
           {kHuge, 0},  // no elements, but an invalid size
           std::vector<int64_t>(9, 1)}) {
    expect_refused(expand, {Tensor::zeros({1}), integers(sizes)});
    expect_refused(fill, {integers(sizes)});
  }
  EXPECT_EQ(fill.predict(integers({3, 0})).shape(), (Shape{3, 0}));
  EXPECT_EQ(fill.predict(integers({})).shape(), Shape());
}

TEST_F(OnnxSizes, OfBroadcasts) {
  const OnnxReference add = to_run(
      "(float[N,1] a, float[1,M] b) => (float[N,M] y)", "y = Add (a, b)");
  expect_refused(add,
                 {Tensor::zeros({1 << 16, 1}), Tensor::zeros({1, 1 << 16})},
                 "size_limit");
  expect_refused(
      to_run("(float[N] a, float[M] b) => (float[K] y)", "y = Add (a, b)"),
      {Tensor::zeros({2}), Tensor::zeros({3})}, "invalid_graph");
}

TEST_F(OnnxSizes, OfRange) {
  const OnnxReference model = to_run(
      "(float a, float b, float c) => (float[N] y)", "y = Range (a, b, c)");
  const auto refused = [&](float a, float b, float c) {
    expect_refused(model,
                   {Tensor::scalar(a), Tensor::scalar(b), Tensor::scalar(c)});
  };
  refused(0, 1, 0);
  refused(0, 1e30f, 1);
  refused(0, 1, 1e-30f);
  refused(0, INFINITY, 1);
  refused(NAN, 1, 1);
  refused(0, 1, NAN);
}

TEST_F(OnnxSizes, OfPad) {
  const auto model = [](const std::string& mode) {
    return to_run("(float[3] x, int64[K] p) => (float[N] y)",
                  "y = Pad <mode = \"" + mode + "\"> (x, p)");
  };
  const Tensor x = Tensor::zeros({3});
  for (const char* mode : {"constant", "edge", "reflect"}) {
    for (const auto& pads : std::vector<std::vector<int64_t>>{{kHuge, 0},
                                                              {0, INT64_MAX},
                                                              {INT64_MIN, 0},
                                                              {-4, 0},
                                                              {-2, -2},
                                                              {1},
                                                              {1, 1, 1, 1}}) {
      expect_refused(model(mode), {x, integers(pads)});
    }
  }
  expect_refused(model("reflect"), {x, integers({3, 0})}, "invalid_graph");
  expect_refused(model("edge"), {Tensor::zeros({3}), integers({1 << 30, 0})},
                 "size_limit");
}

TEST_F(OnnxSizes, OfSliceGatherAndSplit) {
  const OnnxReference slice = to_run(
      "(float[4] x, int64[K] s, int64[L] e, int64[M] a, int64[O] p) => "
      "(float[N] y)",
      "y = Slice (x, s, e, a, p)");
  const Tensor x = Tensor::zeros({4});
  const auto list = [](int64_t value) { return integers({value}); };
  expect_refused(slice, {x, list(0), list(1), list(0), list(0)},
                 "invalid_graph");
  expect_refused(slice, {x, list(0), list(1), list(1), list(1)},
                 "invalid_graph");
  expect_refused(slice, {x, list(0), integers({1, 2}), list(0), list(1)});
  expect_refused(slice, {x, integers({0, 0}), integers({1, 1}),
                         integers({0, -1}), integers({1, 1})});

  const OnnxReference gather =
      to_run("(float[4] x, int64[K] i) => (float[K] y)", "y = Gather (x, i)");
  for (const int64_t index : {int64_t{4}, int64_t{-5}, INT64_MAX, INT64_MIN}) {
    expect_refused(gather, {x, list(index)}, "invalid_graph");
  }
  const OnnxReference split =
      to_run("(float[4] x, int64[K] s) => (float[A] y, float[B] z)",
             "y, z = Split (x, s)");
  for (const auto& sizes : std::vector<std::vector<int64_t>>{
           {1, 2}, {5, -1}, {4}, {1, 1, 2}, {INT64_MAX, INT64_MIN}}) {
    expect_refused(split, {x, integers(sizes)}, "invalid_graph");
  }
}

TEST_F(OnnxSizes, OfResize) {
  const OnnxReference by_scales =
      to_run("(float[1,1,2,2] x, float[K] s) => (float[A,B,C,D] y)",
             "y = Resize <mode = \"linear\"> (x, , s)");
  const Tensor x = Tensor::zeros({1, 1, 2, 2});
  for (const float scale : {0.0f, -1.0f, NAN, INFINITY, 1e30f, 1e9f}) {
    expect_refused(by_scales, {x, numbers({1, 1, 1, scale})});
  }
  expect_refused(by_scales, {x, numbers({1, 1})}, "invalid_graph");
  const OnnxReference by_sizes =
      to_run("(float[1,1,2,2] x, int64[K] s) => (float[A,B,C,D] y)",
             "y = Resize (x, , , s)");
  for (const int64_t size : {int64_t{-1}, kHuge, INT64_MAX}) {
    expect_refused(by_sizes, {x, integers({1, 1, 2, size})});
  }
  expect_refused(by_sizes, {x, integers({2, 2})}, "invalid_graph");
}

TEST_F(OnnxSizes, OfAxes) {
  const OnnxReference squeeze = to_run(
      "(float[2,1] x, int64[K] a) => (float[N] y)", "y = Squeeze (x, a)");
  const OnnxReference unsqueeze =
      to_run("(float[2,1] x, int64[K] a) => (float[A,B,C,D] y)",
             "y = Unsqueeze (x, a)");
  const Tensor x = Tensor::zeros({2, 1});
  expect_refused(squeeze, {x, integers({0})}, "invalid_graph");
  expect_refused(squeeze, {x, integers({1, -1})}, "invalid_graph");
  expect_refused(squeeze, {x, integers({2})}, "invalid_graph");
  expect_refused(squeeze, {x, integers({INT64_MIN})}, "invalid_graph");
  expect_refused(unsqueeze, {x, integers({0, 0})}, "invalid_graph");
  expect_refused(unsqueeze, {x, integers({3})}, "invalid_graph");
  expect_refused(unsqueeze, {x, integers({0, 1, 2, 3, 4, 5, 6})},
                 "invalid_graph");
}

TEST_F(OnnxSizes, OfConvolutionsAndPools) {
  const Tensor x = Tensor::zeros({1, 2, 3, 3});
  const std::string ends =
      "(float[N,C,H,W] x, float[O,I,K,L] w) => (float[A,B,D,E] y)";
  const OnnxReference conv =
      to_run(ends, "y = Conv <kernel_shape = [2,2]> (x, w)");
  expect_refused(conv, {x, Tensor::zeros({1, 3, 2, 2})}, "invalid_graph");
  expect_refused(conv, {x, Tensor::zeros({1, 2, 3, 3})}, "invalid_graph");
  expect_refused(conv,
                 {Tensor::zeros({1, 2, 1, 1}), Tensor::zeros({1, 2, 2, 2})},
                 "invalid_graph");
  const OnnxReference padded = to_run(
      ends,
      "y = Conv <kernel_shape = [1,1], pads = [99999,99999,99999,99999]> "
      "(x, w)");
  expect_refused(padded, {x, Tensor::zeros({1, 2, 1, 1})}, "size_limit");
  const OnnxReference transposed =
      to_run(ends,
             "y = ConvTranspose <kernel_shape = [1,1], strides = "
             "[2147483647,2147483647]> (x, w)");
  expect_refused(transposed, {x, Tensor::zeros({2, 1, 1, 1})}, "size_limit");
  const std::string pool_ends = "(float[N,C,H,W] x) => (float[A,B,D,E] y)";
  for (const char* op : {"MaxPool", "AveragePool"}) {
    const auto pool = [&](const std::string& attributes) {
      return to_run(pool_ends,
                    std::string("y = ") + op + " <" + attributes + "> (x)");
    };
    expect_refused(pool("kernel_shape = [4,4]"), {x}, "invalid_graph");
    expect_refused(pool("kernel_shape = [1,1], pads = [1,1,1,1]"), {x},
                   "invalid_graph");
    // A large kernel only visits cells of the image.
    EXPECT_EQ(refusal(pool("kernel_shape = [2147483647,2147483647], auto_pad = "
                           "\"SAME_UPPER\""),
                      {x})
                  .code,
              "no error");
  }
}

TEST_F(OnnxSizes, OfMatricesAndScales) {
  expect_refused(to_run("(float[A,B] a, float[C,D] b) => (float[E,F] y)",
                        "y = MatMul (a, b)"),
                 {Tensor::zeros({2, 3}), Tensor::zeros({2, 3})},
                 "invalid_graph");
  expect_refused(
      to_run("(float[A,B] a, float[C,D] b, float[E,F] c) => (float[G,H] y)",
             "y = Gemm (a, b, c)"),
      {Tensor::zeros({2, 3}), Tensor::zeros({3, 2}), Tensor::zeros({3, 2})},
      "invalid_graph");
  expect_refused(to_run("(float[2,3] x, float[K] s) => (uint8[2,3] y)",
                        "y = QuantizeLinear (x, s)"),
                 {Tensor::zeros({2, 3}), Tensor::zeros({2})}, "invalid_graph");
}

// Replaces numbers of a valid model by extreme ones. A file may be rejected or
// run; it must not crash or take long.
TEST_F(OnnxSizes, SurviveAnyNumbers) {
  constexpr int64_t kNumbers[] = {
      0,       1,         2,         3,     -1,        -2,       7,
      1 << 16, INT32_MAX, INT32_MIN, kHuge, INT64_MAX, INT64_MIN};
  const char* const kGraphs[] = {
      "g (float[N,4,C,D] x) => (float[A,B,E,F] y) {\n"
      "  w = Constant <value = float[2,2,1,1] {1.0,1.0,1.0,1.0}> ()\n"
      "  a = Conv <kernel_shape = [1,1], strides = [1,1], pads = [0,0,0,0],\n"
      "            dilations = [1,1], group = 2> (x, w)\n"
      "  b = MaxPool <kernel_shape = [2,2], strides = [1,1],\n"
      "               pads = [0,0,1,1], dilations = [1,1]> (a)\n"
      "  y = AveragePool <kernel_shape = [2,1], strides = [1,1],\n"
      "                   ceil_mode = 1> (b)\n"
      "}",
      "g (float[N,4,C,D] x) => (float[A,B,E,F] y) {\n"
      "  w = Constant <value = float[4,1,1,1] {1.0,1.0,1.0,1.0}> ()\n"
      "  y = ConvTranspose <kernel_shape = [1,1], strides = [2,2],\n"
      "         pads = [0,0,0,0], output_padding = [1,1], group = 2,\n"
      "         output_shape = [4,4]> (x, w)\n"
      "}",
      "g (float[N,4,C,D] x) => (float[A,B] y) {\n"
      "  p = Constant <value_ints = [0,0,1,1,0,0,1,1]> ()\n"
      "  a = Pad (x, p)\n"
      "  s = Constant <value_ints = [1,0]> ()\n"
      "  e = Constant <value_ints = [3,9]> ()\n"
      "  d = Constant <value_ints = [1,2]> ()\n"
      "  t = Constant <value_ints = [1,2]> ()\n"
      "  b = Slice (a, s, e, d, t)\n"
      "  i = Constant <value_ints = [0,-1]> ()\n"
      "  c = Gather <axis = 1> (b, i)\n"
      "  z = Constant <value_ints = [0,-1]> ()\n"
      "  f = Reshape (c, z)\n"
      "  g, h = Split <axis = 1> (f)\n"
      "  k = Concat <axis = 1> (g, h, g)\n"
      "  l = Softmax <axis = 1> (k)\n"
      "  m = ReduceMean <axes = [1]> (l)\n"
      "  y = Transpose <perm = [1,0]> (m)\n"
      "}",
  };
  Rng rng(1);
  const auto pick = [&](int64_t n) {
    return static_cast<int64_t>(rng.next() % n);
  };
  Tensor x({1, 4, 3, 5});
  rng.fill_uniform(x, -1, 1);
  int run = 0;
  for (const char* graph : kGraphs) {
    ASSERT_EQ(failure_of<Error>([&] {
                (void)to_run(model_of(graph)).predict(x);
              }).code,
              "no error");
    for (int trial = 0; trial < 400; ++trial) {
      onnx::ModelProto model = model_of(graph);
      for (int64_t changes = 1 + pick(2); changes > 0; --changes) {
        auto& node = *model.mutable_graph()->mutable_node(
            static_cast<int>(pick(model.graph().node_size())));
        if (node.attribute_size() == 0) continue;
        auto& attribute = *node.mutable_attribute(
            static_cast<int>(pick(node.attribute_size())));
        const int64_t value = kNumbers[pick(std::size(kNumbers))];
        if (attribute.has_i()) attribute.set_i(value);
        if (attribute.ints_size() > 0) {
          attribute.set_ints(static_cast<int>(pick(attribute.ints_size())),
                             value);
        }
      }
      try {
        (void)to_run(model).predict(x);
        ++run;
      } catch (const Error&) {
      }
    }
  }
  EXPECT_GT(run, 100);
}

}  // namespace
}  // namespace octet::io
