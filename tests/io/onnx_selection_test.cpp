// Operators that gather, scatter and count; tests/oracle has more of them
// against ONNX Runtime.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx_reference.h>

#include "onnx_run.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<int64_t> integers_of(const Tensor& tensor) {
  const auto values = tensor.data<int64_t>();
  return {values.begin(), values.end()};
}

const Tensor& grid() {
  static const Tensor x = numbers(Shape{2, 3}, {1, 0, -3, 0, 5, 6});
  return x;
}

TEST(OnnxSelection, CumSumSupportsReverseAndExclusive) {
  const auto sum = [](const std::string& attributes) {
    return values_of(to_run("(float[2,3] x) => (y)",
                            "a = Constant <value_int = 1> ()\n"
                            "y = CumSum " +
                                attributes + " (x, a)")
                         .predict(grid()));
  };
  EXPECT_THAT(sum(""), ElementsAre(1, 1, -2, 0, 5, 11));
  EXPECT_THAT(sum("<exclusive = 1>"), ElementsAre(0, 1, 1, 0, 0, 5));
  EXPECT_THAT(sum("<reverse = 1>"), ElementsAre(-2, -3, -3, 11, 11, 6));
}

TEST(OnnxSelection, NonZeroReturnsIndicesByAxis) {
  const auto model = to_run("(float[2,3] x) => (y)", "y = NonZero (x)");
  const Tensor y = model.predict(grid());
  EXPECT_EQ(y.shape(), (Shape{2, 4}));
  EXPECT_THAT(integers_of(y), ElementsAre(0, 0, 1, 1, 0, 2, 1, 2));
}

TEST(OnnxSelection, OneHotInsertsTheRequestedAxis) {
  const auto model = to_run("(int64[3] x) => (y)",
                            "d = Constant <value_int = 2> ()\n"
                            "v = Constant <value_floats = [0.5, 3.0]> ()\n"
                            "y = OneHot <axis = 0> (x, d, v)");
  const Tensor y = model.predict(integers({1, -2, 7}));
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_THAT(values_of(y), ElementsAre(0.5f, 3, 0.5f, 3, 0.5f, 0.5f));
}

TEST(OnnxSelection, GatherNDIndexesAfterBatchAxes) {
  const auto model = to_run("(float[2,3] x, int64[2,1] i) => (y)",
                            "y = GatherND <batch_dims = 1> (x, i)");
  EXPECT_THAT(values_of(model.predict(std::vector{
                  grid(), Tensor::of<int64_t>(Shape{2, 1}, {2, -2})})[0]),
              ElementsAre(-3, 5));
  EXPECT_EQ(refusal(model, {grid(), Tensor::of<int64_t>(Shape{2, 1}, {2, 3})}),
            (Failure{"invalid_graph", "node 'y' (GatherND)"}));
}

TEST(OnnxSelection, EyeLikeAndIsInf) {
  const auto eye =
      to_run("(float[2,3] x) => (y)", "y = EyeLike <k = 1, dtype = 7> (x)");
  EXPECT_THAT(integers_of(eye.predict(grid())), ElementsAre(0, 1, 0, 0, 0, 1));
  const auto inf =
      to_run("(float[4] x) => (y)", "y = IsInf <detect_positive = 0> (x)");
  const Tensor found = inf.predict(numbers({INFINITY, -INFINITY, NAN, 1}));
  const auto flags = found.data<bool>();
  EXPECT_THAT(std::vector<bool>(flags.begin(), flags.end()),
              ElementsAre(false, true, false, false));
}

TEST(OnnxSelection, DepthToSpaceHasTwoChannelOrders) {
  const auto image = [](const std::string& mode) {
    const auto model =
        to_run("(float[1,8,1,2] x) => (y)",
               "y = DepthToSpace <blocksize = 2, mode = \"" + mode + "\"> (x)");
    std::vector<float> values;
    for (int i = 0; i < 16; ++i) values.push_back(static_cast<float>(i));
    const Tensor y = model.predict(numbers(Shape{1, 8, 1, 2}, values));
    EXPECT_EQ(y.shape(), (Shape{1, 2, 2, 4}));
    return values_of(y);
  };
  // Channel c holds 2c and 2c + 1. DCR: block b of depth d is channel 2b + d.
  EXPECT_THAT(image("DCR"), ElementsAreArray({0, 4, 1, 5, 8, 12, 9, 13,  //
                                              2, 6, 3, 7, 10, 14, 11, 15}));
  // CRD: channel 4d + b.
  EXPECT_THAT(image("CRD"), ElementsAreArray({0, 2, 1, 3, 4, 6, 5, 7,  //
                                              8, 10, 9, 11, 12, 14, 13, 15}));
}

// The inverse of DepthToSpace in each order; CRD exists since opset 28.
TEST(OnnxSelection, SpaceToDepthHasTwoChannelOrders) {
  const Tensor x = numbers(Shape{1, 2, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9,
                                               11, 12, 14, 13, 15});
  for (const char* mode : {"DCR", "CRD"}) {
    const auto model = to_run(
        "(float[1,2,2,4] x) => (y)",
        fmt::format("s = SpaceToDepth <blocksize = 2, mode = \"{0}\"> (x)\n"
                    "y = DepthToSpace <blocksize = 2, mode = \"{0}\"> (s)",
                    mode),
        28);
    EXPECT_EQ(values_of(model.predict(x)), values_of(x)) << mode;
  }
  EXPECT_EQ(
      refusal(to_run("(float[1,2,2,4] x) => (y)",
                     "y = SpaceToDepth <blocksize = 2, mode = \"X\"> (x)", 28),
              {x}),
      (Failure{"invalid_graph", "node 'y' (SpaceToDepth)"}));
}

TEST(OnnxSelection, LrnDividesBySquaresOfNeighborChannels) {
  // An even size has one more channel after the center than before it.
  const auto model =
      to_run("(float[1,3,1] x) => (y)",
             "y = LRN <size = 2, alpha = 2.0, beta = 1.0, bias = 1.0> (x)");
  EXPECT_THAT(values_of(model.predict(numbers(Shape{1, 3, 1}, {1, 2, 3}))),
              ElementsAre(1.0f / 6, 2.0f / 14, 3.0f / 10));
}

TEST(OnnxSelection, TopKReturnsTheFirstOfEqualValues) {
  const auto model = to_run("(float[4] x) => (y, i)",
                            "k = Constant <value_ints = [2]> ()\n"
                            "y, i = TopK (x, k)");
  const auto made = model.predict(std::vector{numbers({2, 7, 7, 7})});
  EXPECT_THAT(values_of(made[0]), ElementsAre(7, 7));
  EXPECT_THAT(integers_of(made[1]), ElementsAre(1, 2));
}

}  // namespace
}  // namespace octet::io
