// Functions on symbolic tensors: shapes, values against closed forms, errors.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/dense.h>
#include <octet/layers/ops.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

/// Returns the outputs of a function of one input with the shape [2,...].
template <class F>
std::vector<Tensor> outputs_of(const F& function, const Tensor& x) {
  const SymbolicTensor in = input(x.shape().slice(1, x.shape().rank()));
  return Model({in}, function(in)).predict(std::vector{x});
}
template <class F>
Tensor output_of(const F& function, const Tensor& x) {
  return outputs_of(
      [&](const SymbolicTensor& in) { return std::vector{function(in)}; },
      x)[0];
}

/// A sample [h,w,c] = [2,3,4] with the values 0 to 23, and its negative.
Tensor image() {
  Tensor x = counting({2, 2, 3, 4});
  for (size_t i = 24; i < 48; ++i) {
    x.f32()[i] = -static_cast<float>(i - 24);
  }
  return x;
}

TEST(Ops, ReduceAxes) {
  const auto of = [](auto function, std::vector<int64_t> axes) {
    return output_of(
        [&](const SymbolicTensor& x) {
          return function(x, axes, Keepdims::no);
        },
        image());
  };
  using Function = SymbolicTensor (*)(const SymbolicTensor&,
                                      const std::vector<int64_t>&, Keepdims);
  const Tensor sums = of(Function(sum), {-1, 1});
  EXPECT_EQ(sums.shape(), Shape({2, 3}));
  EXPECT_THAT(values(sums), ElementsAre(60, 92, 124, -60, -92, -124));
  EXPECT_THAT(values(of(Function(mean), {2, 3})),
              ElementsAre(5.5f, 17.5f, -5.5f, -17.5f));
  EXPECT_THAT(values(of(Function(max), {1, 2})),
              ElementsAre(20, 21, 22, 23, 0, -1, -2, -3));
  EXPECT_THAT(values(of(Function(min), {3, 2})), ElementsAre(0, 12, -11, -23));
  EXPECT_THAT(values(of(Function(prod), {1, 3})),
              ElementsAre(0, 4.0f * 5 * 6 * 7 * 16 * 17 * 18 * 19,
                          8.0f * 9 * 10 * 11 * 20 * 21 * 22 * 23, 0,
                          4.0f * 5 * 6 * 7 * 16 * 17 * 18 * 19,
                          8.0f * 9 * 10 * 11 * 20 * 21 * 22 * 23));
}

TEST(Ops, ReduceWithKeepdims) {
  const SymbolicTensor x = input({2, 3, 4});
  EXPECT_EQ(mean(x, {1, 2}, Keepdims::yes).shape(),
            Shape({Shape::kAnySize, 1, 1, 4}));
  EXPECT_EQ(sum(x, {-1}, Keepdims::yes).shape(),
            Shape({Shape::kAnySize, 2, 3, 1}));
  EXPECT_EQ(min(x, {1, 2, 3}, Keepdims::yes).shape(),
            Shape({Shape::kAnySize, 1, 1, 1}));
}

TEST(Ops, PoolOverPixelsAndSteps) {
  const SymbolicTensor image = input({2, 3, 4}), steps = input({5, 3});
  EXPECT_EQ(mean(image, {2, 1}).node->layer->class_name(),
            "GlobalAveragePooling2D");
  EXPECT_EQ(mean(image, {-3, -2}, Keepdims::yes).shape().rank(), 4);
  EXPECT_EQ(max(steps, {1}).node->layer->class_name(), "GlobalMaxPooling1D");
  EXPECT_EQ(mean(image, {1}).node->layer->class_name(), "Reduce");
}

TEST(Ops, RejectTheBatchAndInvalidAxes) {
  const SymbolicTensor x = input({2, 3, 4});
  const auto failure = [&](std::vector<int64_t> axes) {
    return failure_of<ShapeError>([&] { (void)sum(x, axes); });
  };
  EXPECT_EQ(failure({0}), (Failure{"out_of_range", "axes"}));
  EXPECT_EQ(failure({-4}), (Failure{"out_of_range", "axes"}));
  EXPECT_EQ(failure({4}), (Failure{"out_of_range", "axes"}));
  EXPECT_EQ(failure({1, -3}), (Failure{"out_of_range", "axes"}));
  EXPECT_EQ(failure({1, 2, 3}), (Failure{"out_of_range", "axes"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)sum(x, {}); }),
            (Failure{"missing_value", "axes"}));
  EXPECT_EQ(failure_of<ValueError>([] { (void)Reduce({.operation = "avg"}); }),
            (Failure{"unknown_name", "operation"}));
}

TEST(Ops, ChangeShapes) {
  const SymbolicTensor x = input({2, 3, 1});
  const auto n = Shape::kAnySize;
  EXPECT_EQ(transpose(x, {0, 3, 1, 2}).shape(), Shape({n, 1, 2, 3}));
  EXPECT_EQ(transpose(x, {0, -1, 1, 2}).shape(), Shape({n, 1, 2, 3}));
  EXPECT_EQ(reshape(x, {-1, 3, -1}).shape(), Shape({n, 3, 2}));
  EXPECT_EQ(squeeze(x, {-1}).shape(), Shape({n, 2, 3}));
  EXPECT_EQ(expand_dims(x, 1).shape(), Shape({n, 1, 2, 3, 1}));
  EXPECT_EQ(expand_dims(x, -1).shape(), Shape({n, 2, 3, 1, 1}));
  EXPECT_EQ(flatten(x).shape(), Shape({n, 6}));
  EXPECT_EQ(stack({x, x, x}, 2).shape(), Shape({n, 2, 3, 3, 1}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)transpose(x, {1, 0, 2, 3});
            }),
            (Failure{"invalid_value", "transpose"}));
  for (const std::vector<int64_t>& axes :
       {std::vector<int64_t>{0}, {0, 1, 2}, {0, 1, 1, 2}}) {
    EXPECT_EQ(failure_of<ShapeError>([&] { (void)transpose(x, axes); }),
              (Failure{"invalid_value", "transpose"}));
  }
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)squeeze(input({1, 1}), {1, 2});
            }),
            (Failure{"out_of_range", "squeeze"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)reshape(x, {2, 3});
            }),
            (Failure{"invalid_shape", "reshape"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)squeeze(x, {1}); }),
            (Failure{"shape_mismatch", "squeeze"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)expand_dims(x, 0); }),
            (Failure{"out_of_range", "expand_dims"}));
}

TEST(Ops, SplitAndSelectEntries) {
  const Tensor x = counting({1, 2, 5});
  const auto parts = outputs_of(
      [](const SymbolicTensor& in) {
        return split(in, std::vector<int64_t>{1, 3}, -1);
      },
      x);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(values(parts[1]), ElementsAre(1, 2, 6, 7));
  const auto halves = outputs_of(
      [](const SymbolicTensor& in) { return split(in, int64_t{2}, 1); }, x);
  EXPECT_THAT(values(halves[1]), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(values(output_of(
                  [](const SymbolicTensor& in) { return flip(in, 2); }, x)),
              ElementsAre(4, 3, 2, 1, 0, 9, 8, 7, 6, 5));
  EXPECT_THAT(
      values(output_of(
          [](const SymbolicTensor& in) { return repeat(in, 2, 1); }, x)),
      ElementsAreArray({0, 1, 2, 3, 4, 0, 1, 2, 3, 4,  //
                        5, 6, 7, 8, 9, 5, 6, 7, 8, 9}));
  EXPECT_THAT(values(output_of(
                  [](const SymbolicTensor& in) {
                    return take(in, {4, 0});
                  },
                  x)),
              ElementsAre(4, 0, 9, 5));
  const SymbolicTensor in = input({2, 5});
  EXPECT_EQ(split(in, {3}).size(), 2u);  // an index, not a number of parts
  EXPECT_EQ(split(in, 5).size(), 5u);
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)repeat(in, int64_t{1} << 61, 1); }),
      (Failure{"out_of_range", "repeat"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)split(in, int64_t{2}, -1); }),
            (Failure{"invalid_value", "split"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)split(in, std::vector<int64_t>{3, 3}, -1);
            }),
            (Failure{"out_of_range", "split"}));
}

TEST(Ops, ComputeElementwise) {
  const Tensor x = tensor({1, 3}, {-2.5f, 0.25f, 4});
  const auto of = [&](auto function) { return values(output_of(function, x)); };
  EXPECT_THAT(of([](const SymbolicTensor& in) { return abs(in); }),
              ElementsAre(2.5f, 0.25f, 4));
  EXPECT_THAT(of([](const SymbolicTensor& in) { return round(in); }),
              ElementsAre(-2, 0, 4));
  EXPECT_THAT(of([](const SymbolicTensor& in) { return clip(in, {}, 1.0f); }),
              ElementsAre(-2.5f, 0.25f, 1));
  EXPECT_THAT(
      of([](const SymbolicTensor& in) { return maximum(in, square(in)) - in; }),
      ElementsAre(8.75f, 0, 12));
  EXPECT_NEAR(of([](const SymbolicTensor& in) { return exp(in); })[1],
              std::exp(0.25), 1e-6);
}

TEST(Ops, MoveAxes) {
  // [n,h,w,c] = [1,2,2,3] with the values 0 to 11.
  const Tensor x = counting({1, 2, 2, 3});
  const auto of = [&](auto function) { return output_of(function, x); };
  const Tensor moved =
      of([](const SymbolicTensor& in) { return moveaxis(in, -1, 1); });
  EXPECT_EQ(moved.shape(), Shape({1, 3, 2, 2}));
  EXPECT_THAT(values(moved), ElementsAre(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11));
  EXPECT_THAT(
      values(of([](const SymbolicTensor& in) { return swapaxes(in, 1, 2); })),
      ElementsAre(0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11));
  const Tensor deep =
      of([](const SymbolicTensor& in) { return space_to_depth(in, 2); });
  EXPECT_EQ(deep.shape(), Shape({1, 1, 1, 12}));
  EXPECT_THAT(values(of([](const SymbolicTensor& in) {
                return depth_to_space(space_to_depth(in, 2), 2);
              })),
              ElementsAreArray(values(x)));
  // tf.nn.depth_to_space: channels are [row, column, depth].
  EXPECT_THAT(
      values(output_of(
          [](const SymbolicTensor& in) { return depth_to_space(in, 2); },
          counting({1, 1, 2, 4}))),
      ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
  const SymbolicTensor in = input({3, 4, 5});
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)depth_to_space(in, 2); }),
            (Failure{"invalid_value", "depth_to_space"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)space_to_depth(in, 2); }),
            (Failure{"invalid_value", "space_to_depth"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)moveaxis(in, 0, 1); }),
            (Failure{"out_of_range", "moveaxis"}));
}

TEST(Ops, SliceTileRollAndPad) {
  const Tensor x = counting({1, 2, 3});
  const auto of = [&](auto function) { return values(output_of(function, x)); };
  using S = const SymbolicTensor&;
  EXPECT_THAT(of([](S in) {
                return slice(in, {0, 1, 1}, {-1, 1, -1});
              }),
              ElementsAre(4, 5));
  EXPECT_THAT(of([](S in) {
                return tile(in, {1, 2, 1});
              }),
              ElementsAre(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5));
  EXPECT_THAT(of([](S in) { return roll(in, -1, 2); }),
              ElementsAre(1, 2, 0, 4, 5, 3));
  EXPECT_THAT(of([](S in) {
                return pad(in, {{}, {0, 1}, {}});
              }),
              ElementsAre(0, 1, 2, 3, 4, 5, 0, 0, 0));
  EXPECT_THAT(of([](S in) {
                return pad(in, {{}, {}, {1, 0}}, "wrap");
              }),
              ElementsAre(2, 0, 1, 2, 5, 3, 4, 5));
  EXPECT_THAT(of([](S in) {
                return pad(in, {{}, {1, 0}, {0, 1}}, "constant", 9);
              }),
              ElementsAre(9, 9, 9, 9, 0, 1, 2, 9, 3, 4, 5, 9));
  const SymbolicTensor in = input({2, 3});
  // Zeros around steps combine with convolutions.
  EXPECT_EQ(pad(in, {{}, {1, 1}, {}}).node->layer->class_name(),
            "ZeroPadding1D");
  EXPECT_EQ(pad(in, {{}, {}, {1, 1}}).node->layer->class_name(), "Pad");
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)slice(in, {0, 0, 2}, {-1, 1, 2});
            }),
            (Failure{"out_of_range", "slice"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)tile(in, {2, 1, 1});
            }),
            (Failure{"out_of_range", "tile"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)tile(in, {1, 2});
            }),
            (Failure{"count_mismatch", "tile"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)pad(in, {{1, 0}, {}, {}});
            }),
            (Failure{"out_of_range", "pad"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)pad(in, {{}, {2, 0}, {}}, "reflect");
            }),
            (Failure{"out_of_range", "begin, end"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)pad(in, {{}, {2, 0}, {}}, "mirror");
            }),
            (Failure{"unknown_name", "mode"}));
}

TEST(Ops, ComputeAlongAxesAndCompare) {
  const Tensor x = tensor({1, 2, 2}, {1000, 0, 1000, 3});
  const auto of = [&](auto function) { return values(output_of(function, x)); };
  using S = const SymbolicTensor&;
  // log(2 exp(1000)) does not overflow.
  const std::vector<float> sums = of([](S in) { return logsumexp(in, {1}); });
  EXPECT_NEAR(sums[0], 1000 + std::log(2.0), 1e-4);
  EXPECT_NEAR(sums[1], std::log(1 + std::exp(3.0)), 1e-6);
  const std::vector<float> logs = of([](S in) { return log_softmax(in, 1); });
  EXPECT_NEAR(logs[0], -std::log(2.0), 1e-4);
  EXPECT_NEAR(logs[1], -std::log(1 + std::exp(3.0)), 1e-6);
  EXPECT_THAT(of([](S in) { return greater(in, 2); }), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(of([](S in) {
                return logical_and(less(in, 4), logical_not(equal(in, 0)));
              }),
              ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(of([](S in) { return power(in, 2); }),
              ElementsAre(1e6f, 0, 1e6f, 9));
  EXPECT_THAT(of([](S in) {
                return affine(in, {0.5f, 2}, {1, 0});
              }),
              ElementsAre(501, 0, 501, 6));
}

TEST(Ops, ComputeEinsums) {
  const Tensor a = counting({2, 2, 3});
  const Tensor b = counting({2, 3, 4});
  const auto of = [&](const char* equation, const Tensor& x, const Tensor& y) {
    const SymbolicTensor in[] = {input(x.shape().slice(1, x.shape().rank())),
                                 input(y.shape().slice(1, y.shape().rank()))};
    return Model({in[0], in[1]}, {einsum(equation, in[0], in[1])})
        .predict(std::vector{x, y})[0];
  };
  // Sums over the letters that the output lacks, in plain loops.
  const Tensor product = of("bij,bjk->bki", a, b);
  ASSERT_EQ(product.shape(), Shape({2, 4, 2}));
  for (int n = 0; n < 2; ++n) {
    for (int k = 0; k < 4; ++k) {
      for (int i = 0; i < 2; ++i) {
        float sum = 0;
        for (int j = 0; j < 3; ++j) {
          sum += values(a)[static_cast<size_t>((n * 2 + i) * 3 + j)] *
                 values(b)[static_cast<size_t>((n * 3 + j) * 4 + k)];
        }
        EXPECT_EQ(values(product)[static_cast<size_t>((n * 4 + k) * 2 + i)],
                  sum);
      }
    }
  }
  const Tensor v = counting({2, 3});
  EXPECT_THAT(
      values(of("bij,bj->bi", a, v)),
      ElementsAre(5, 14, 6 * 3 + 7 * 4 + 8 * 5.0f, 9 * 3 + 10 * 4 + 11 * 5.0f));
  // Nothing to sum: an outer product.
  EXPECT_THAT(values(of("bi,bj->bij", v, v).reshaped({2, 9}).slice(0, 1)),
              ElementsAre(0, 0, 0, 0, 1, 2, 0, 2, 4));
  EXPECT_EQ(of("b...i,bi->b...", a, v).shape(), Shape({2, 2}));
  const SymbolicTensor in = input({2, 3});
  for (const char* equation :
       {"bij->bji", "bij,bjk", "bij,bkk->bi", "bij,bik->jk", "bij,bik->bjz",
        "bij,cij->bc", "bijk,bij->b"}) {
    EXPECT_EQ(failure_of<ValueError>([&] { (void)einsum(equation, in, in); }),
              (Failure{"invalid_value", "einsum"}))
        << equation;
  }
  EXPECT_EQ(
      failure_of<ShapeError>([&] { (void)einsum("bij,bjk->bik", in, in); }),
      (Failure{"shape_mismatch", "einsum"}));
}

// As in the comment of ops.h.
TEST(Ops, BuildASqueezeAndExciteBlock) {
  const SymbolicTensor x = input({4, 3, 8});
  const SymbolicTensor gate = sigmoid(mean(x, {1, 2}, Keepdims::yes));
  const Model model({x}, {concatenate({x * gate, abs(x)}, -1)});
  EXPECT_EQ(model.outputs()[0].shape(), Shape({Shape::kAnySize, 4, 3, 16}));
}

}  // namespace
}  // namespace octet
