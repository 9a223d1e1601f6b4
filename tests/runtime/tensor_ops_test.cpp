#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "../support.h"

namespace octet {
namespace {

Tensor row(std::initializer_list<float> elements) {
  return Tensor::of({static_cast<int64_t>(elements.size())}, elements);
}

TEST(TensorOps, ReturnTheBitsOfVariables) {
  const Tensor x = noise({2, 5, 3, 7}, 1), y = noise({5, 1, 7}, 2);
  const Variable vx(x), vy(y);
  EXPECT_EQ(bits(x + y), bits(vx + vy));
  EXPECT_EQ(bits(2 - x / 3 * y), bits(2 - vx / 3 * vy));
  EXPECT_EQ(bits(relu(x, 0.5f)), bits(relu(vx, 0.5f)));
  EXPECT_EQ(bits(softmax(x, 1)), bits(softmax(vx, 1)));
  EXPECT_EQ(bits(mean(x, {1, 2}, Keepdims::yes)),
            bits(mean(vx, {1, 2}, Keepdims::yes)));
  EXPECT_EQ(bits(conv2d(x, noise({3, 3, 7, 4}), {.pads = 1})),
            bits(conv2d(vx, noise({3, 3, 7, 4}), {.pads = 1})));
  EXPECT_EQ(bits(layer_norm(x, {}, {}, 1e-3f)),
            bits(layer_norm(vx, {}, {}, 1e-3f)));
  EXPECT_EQ(bits(concatenate({x, x}, 2)), bits(concatenate({vx, vx}, 2)));
  EXPECT_EQ(bits(x.index({Slice(), -1, Slice(2, 0, -1)})),
            bits(vx.index({Slice(), -1, Slice(2, 0, -1)})));
}

TEST(TensorOps, RecordNothing) {
  const Tensor x = noise({3});
  const auto y = exp(x);
  static_assert(std::is_same_v<decltype(y), const Tensor>);
  static_assert(std::is_same_v<decltype(x * Variable(x)), Variable>);
  EXPECT_FALSE(Variable(y).requires_grad());
}

// Values from NumPy 2.4 and, for functions that it lacks, PyTorch 2.15.
TEST(TensorOps, MatchNumPy) {
  const Tensor x = Tensor::of<float>({2, 3}, {1, 5, 3, 4, 2, 5});
  EXPECT_EQ(values(argmax(x)), (std::vector<float>{1, 2}));
  EXPECT_EQ(values(argmin(x, 0)), (std::vector<float>{0, 1, 0}));
  EXPECT_EQ(values(clip(x, 2, 4)), (std::vector<float>{2, 4, 3, 4, 2, 4}));
  EXPECT_EQ(values(clip(x, {}, 3)), (std::vector<float>{1, 3, 3, 3, 2, 3}));
  EXPECT_EQ(values(greater(x, 3)), (std::vector<float>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(values(flip(x, 1)), (std::vector<float>{3, 5, 1, 5, 2, 4}));
  EXPECT_EQ(values(roll(x, 1, 1)), (std::vector<float>{3, 1, 5, 5, 4, 2}));
  EXPECT_EQ(values(roll(x, -4, 1)), (std::vector<float>{5, 3, 1, 2, 5, 4}));
  EXPECT_EQ(values(repeat(row({1, 2}), 2, 0)),
            (std::vector<float>{1, 1, 2, 2}));
  EXPECT_EQ(values(tile(Tensor::of<float>({1, 2}, {1, 2}), {2, 2})),
            (std::vector<float>{1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(values(take(x, {2, 0}, 1)), (std::vector<float>{3, 1, 5, 4}));
  EXPECT_EQ(values(slice(x, {0, 1}, {-1, 2})),
            (std::vector<float>{5, 3, 2, 5}));
  EXPECT_EQ(values(affine(x, {1, 2, 3}, {0.5f})),
            (std::vector<float>{1.5f, 10.5f, 9.5f, 4.5f, 4.5f, 15.5f}));
  EXPECT_EQ(values(logical_not(row({0, 1}))), (std::vector<float>{1, 0}));
  EXPECT_EQ(values(logical_xor(row({0, 1, 1}), row({1, 1, 0}))),
            (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(values(rsqrt(row({4, 0.25f}))), (std::vector<float>{0.5f, 2}));
  EXPECT_FLOAT_EQ(logsumexp(row({1000, 1000}), {0}).item(), 1000.6931f);
  EXPECT_FLOAT_EQ(values(log_softmax(row({1, 2, 3})))[0], -2.4076059f);
  EXPECT_FLOAT_EQ(values(mish(row({1})))[0], 0.86509842f);
  EXPECT_FLOAT_EQ(values(log_sigmoid(row({1})))[0], -0.31326169f);
  EXPECT_EQ(values(normalize(row({3, 4}), {0})),
            (std::vector<float>{0.6f, 0.8f}));
}

TEST(TensorOps, MoveAxesAsNumPy) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(moveaxis(x, 0, -1).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(moveaxis(x, 0, -1).index({1, 2, 1}).item(), 18);
  EXPECT_EQ(swapaxes(x, 0, 2).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(expand_dims(x, -1).shape(), (Shape{2, 3, 4, 1}));
  EXPECT_EQ(expand_dims(x, 0).shape(), (Shape{1, 2, 3, 4}));
  EXPECT_EQ(squeeze(expand_dims(x, 1), {1}).shape(), x.shape());
  EXPECT_EQ(flatten(x).shape(), (Shape{2, 12}));
  EXPECT_EQ(stack({x, x}, 1).shape(), (Shape{2, 2, 3, 4}));
  const std::vector<Tensor> parts = split(x, {1}, 1);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].shape(), (Shape{2, 2, 4}));
  EXPECT_EQ(split(x, 2, -1).size(), 2u);
  const Tensor blocks = depth_to_space(counting({1, 2, 1, 8}), 2);
  EXPECT_EQ(blocks.shape(), (Shape{1, 4, 2, 2}));
  EXPECT_EQ(values(blocks), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                                10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(values(space_to_depth(blocks, 2)), values(counting({16})));
}

TEST(TensorOps, PadAsNumPy) {
  const Tensor x = row({1, 2, 3});
  const auto padded = [&](const char* mode) {
    return values(pad(x, {{2, 1}}, mode, 9));
  };
  EXPECT_EQ(padded("constant"), (std::vector<float>{9, 9, 1, 2, 3, 9}));
  EXPECT_EQ(padded("edge"), (std::vector<float>{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(padded("reflect"), (std::vector<float>{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(padded("symmetric"), (std::vector<float>{2, 1, 1, 2, 3, 3}));
  EXPECT_EQ(padded("wrap"), (std::vector<float>{2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(values(pad(counting({1, 2}), {1, {}}, "constant", 5)),
            (std::vector<float>{5, 5, 0, 1, 5, 5}));
}

TEST(TensorOps, ConvertTypes) {
  const Tensor x = row({-1.75f, 0, 127.9f});
  EXPECT_EQ(elements<int8_t>(cast(x, DType::i8)),
            (std::vector<int8_t>{-1, 0, 127}));
  EXPECT_EQ(elements<bool>(cast(x, DType::boolean)),
            (std::vector<bool>{true, false, true}));
  EXPECT_EQ(values(cast(cast(x, DType::i64), DType::f32)),
            (std::vector<float>{-1, 0, 127}));
  const Failure range{"out_of_range", "cast"};
  for (const float bad :
       {128.0f, -129.0f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(
        failure_of<ValueError>([&] { (void)cast(row({bad}), DType::i8); }),
        range);
  }
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)cast(row({0x1p63f}), DType::i64); }),
      range);
}

TEST(TensorOps, SelectPartsOfAllTypes) {
  const Tensor x = Tensor::of<int64_t>({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(elements<int64_t>(x[-1]), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(elements<int64_t>(x.index({Slice(), 1})),
            (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(elements<int64_t>(x.index({"...", Slice({}, {}, -2)})),
            (std::vector<int64_t>{2, 0, 5, 3}));
  EXPECT_EQ(elements<int64_t>(transpose(x, {1, 0})),
            (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)x[2]; }),
            (Failure{"out_of_range", "operator[]"}));
}

TEST(TensorOps, RefuseInvalidArguments) {
  const Tensor x = counting({2, 3});
  const auto shape_failure = [](auto body) {
    return failure_of<ShapeError>(body).code;
  };
  EXPECT_EQ(shape_failure([&] { (void)moveaxis(x, 2, 0); }), "out_of_range");
  EXPECT_EQ(shape_failure([&] { (void)squeeze(x, {0}); }), "shape_mismatch");
  EXPECT_EQ(shape_failure([&] { (void)split(x, 2, 1); }), "invalid_value");
  EXPECT_EQ(shape_failure([&] { (void)split(x, {2, 1}, 1); }), "out_of_range");
  EXPECT_EQ(shape_failure([&] { (void)slice(x, {0}, {1}); }), "count_mismatch");
  EXPECT_EQ(shape_failure([&] {
              (void)slice(x, {0, 2}, {1, 2});
            }),
            "out_of_range");
  EXPECT_EQ(shape_failure([&] {
              (void)pad(x, {{}, 3}, "reflect");
            }),
            "out_of_range");
  EXPECT_EQ(shape_failure([&] {
              (void)affine(x, {1, 2}, {0});
            }),
            "count_mismatch");
  EXPECT_EQ(shape_failure([&] { (void)depth_to_space(x, 2); }),
            "invalid_value");
  EXPECT_EQ(failure_of<NotFoundError>([&] {
              (void)pad(x, {{}, {}}, "mirror");
            }),
            (Failure{"unknown_name", "pad"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)clip(x, 2, 1); }),
            (Failure{"out_of_range", "clip"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)repeat(x, 0, 0); }),
            (Failure{"out_of_range", "repeat"}));
  // No silent conversion of other types.
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)(x + Tensor::zeros({2, 3}, DType::i64));
            }).code,
            "dtype_mismatch");
}

}  // namespace
}  // namespace octet
