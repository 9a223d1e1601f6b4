// Products of two quantized operands, on every instruction set, against exact
// integer sums.

#include <cmath>

#include <octet/runtime/detail/program_capture.h>

#include "programs.h"
#include "random_codes.h"

namespace octet::programs {
namespace {

class MatmulCodes : public Programs {};

QuantParams halves(int low, int high) { return qparams(0.5f, low, high); }

// [m,k] * [k,n] of integer matrices i and j, scaled once.
void add_products(const Tensor& a, int64_t i, const Tensor& b, int64_t j,
                  const MatmulOptions& o, int64_t m, int64_t k, int64_t n,
                  std::vector<float>& y) {
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      int64_t sum = 0;
      for (int64_t d = 0; d < k; ++d) {
        const int64_t at =
            i * m * k + (o.transpose_a ? d * m + row : row * k + d);
        const int64_t by =
            j * k * n + (o.transpose_b ? column * k + d : d * n + column);
        sum += static_cast<int64_t>(2 * a.f32()[static_cast<size_t>(at)]) *
               static_cast<int64_t>(2 * b.f32()[static_cast<size_t>(by)]);
      }
      y.push_back(static_cast<float>(sum) * 0.25f);
    }
}

struct Sizes {
  int64_t count, m, k, n;
};
const Sizes kSizes[] = {{1, 1, 1, 1},   {3, 5, 7, 4},    {2, 17, 64, 33},
                        {1, 70, 3, 17}, {20, 4, 30, 12}, {1, 3, 900, 65}};
// Quantization of the left operand, within int8 and beyond.
const std::pair<int, int> kRows[] = {
    {-128, 127}, {0, 255}, {0, 127}, {-255, 0}, {-77, 178}};

TEST_P(MatmulCodes, MatchIntegerArithmetic) {
  for (const Sizes& s : kSizes)
    for (const auto& [low, high] : kRows)
      for (const bool ta : {false, true})
        for (const bool tb : {false, true}) {
          const MatmulOptions o{ta, tb};
          const QuantParams left = halves(low, high), right = halves(-128, 127);
          const Tensor a = random_codes(
              ta ? Shape{s.count, s.k, s.m} : Shape{s.count, s.m, s.k}, 1,
              left);
          const Tensor b = random_codes(
              tb ? Shape{s.count, s.n, s.k} : Shape{s.count, s.k, s.n}, 2,
              right);
          std::vector<float> expected;
          for (int64_t i = 0; i < s.count; ++i) {
            add_products(a, i, b, i, o, s.m, s.k, s.n, expected);
          }
          const auto run = [&] {
            return values(matmul(fake_quantize(Variable(a), left),
                                 fake_quantize(Variable(b), right), o));
          };
          EXPECT_EQ(run(), expected);
          const FloatGemmGuard guard;
          EXPECT_EQ(run(), expected);
        }
}

TEST_P(MatmulCodes, BroadcastBatches) {
  const QuantParams g = halves(-128, 127);
  const auto on = [&](const Tensor& t) {
    return fake_quantize(Variable(t), g);
  };
  const Tensor a = random_codes({2, 1, 3, 9}, 1, g),
               b = random_codes({5, 9, 7}, 2, g);
  std::vector<float> expected;
  for (const int64_t i : {0, 1}) {
    for (int64_t j = 0; j < 5; ++j)
      add_products(a, i, b, j, {}, 3, 9, 7, expected);
  }
  const Variable y = matmul(on(a), on(b));
  EXPECT_EQ(y.shape(), (Shape{2, 5, 3, 7}));
  EXPECT_EQ(values(y), expected);
  // A single right operand for the whole batch.
  const Tensor one = random_codes({9, 6}, 3, g);
  expected.clear();
  for (const int64_t i : {0, 1})
    add_products(a, i, one, 0, {}, 3, 9, 6, expected);
  const Variable z = matmul(on(a), on(one));
  EXPECT_EQ(z.shape(), (Shape{2, 1, 3, 6}));
  EXPECT_EQ(values(z), expected);
}

TEST_P(MatmulCodes, DoNotSaturate) {
  for (const auto& [low, high] : kRows)
    for (const int code : {low, high})
      for (const float w : {-128.0f, 127.0f}) {
        const QuantParams left = qparams(1, low, high), right = qparams(1);
        const float v = static_cast<float>(code);
        const Tensor y =
            matmul(
                fake_quantize(Variable(Tensor::full({2, 3, 700}, v)), left),
                fake_quantize(Variable(Tensor::full({2, 700, 35}, w)), right))
                .value();
        for (const float sum : y.f32()) EXPECT_EQ(sum, 700 * v * w);
      }
}

// Expressions before quantization, and gradients through it.
TEST_P(MatmulCodes, TrainLikeFloatProducts) {
  const Tensor a = noise({2, 6, 9}), b = noise({2, 9, 5}, 3);
  const auto gradients = [&](bool quantized) {
    const Variable x(a, true), y(b, true);
    Variable left = fake_quantize(relu(add(x, x)), qparams(0.02f));
    Variable right = fake_quantize(y, qparams(0.03f));
    if (!quantized) {  // the same values, not quantized
      left = multiply(left, Variable(Tensor::scalar(1)));
      right = multiply(right, Variable(Tensor::scalar(1)));
    }
    const Variable z = matmul(left, right);
    sum(multiply(z, z)).backward();
    return std::tuple(z.value(), x.grad(), y.grad());
  };
  const auto [z, dx, dy] = gradients(true);
  const auto [value, dvalue_x, dvalue_y] = gradients(false);
  const auto expect_near = [](const Tensor& one, const Tensor& two) {
    for (size_t i = 0; i < one.f32().size(); ++i) {
      EXPECT_NEAR(one.f32()[i], two.f32()[i],
                  1e-4f * (1 + std::abs(two.f32()[i])));
    }
  };
  expect_near(z, value);
  expect_near(dx, dvalue_x);
  expect_near(dy, dvalue_y);
  const FloatGemmGuard guard;
  EXPECT_EQ(bits(std::get<0>(gradients(true))), bits(z));
}

TEST_P(MatmulCodes, PropagateNan) {
  for (const bool left : {false, true}) {
    Tensor a = noise({1, 4, 9}), b = noise({1, 9, 20}, 3);
    (left ? a : b).f32()[0] = NAN;
    const auto y = values(matmul(fake_quantize(Variable(a), qparams(0.02f)),
                                 fake_quantize(Variable(b), qparams(0.02f))));
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_FALSE(std::isnan(y[79]));
  }
}

// Called by a program with already quantized values.
TEST_P(MatmulCodes, MatchThoseOfAProgram) {
  const NoGradGuard no_grad;
  const Net tokens = [](const Variable& x) {
    return fake_quantize(reshape(x, {x.shape()[0], 6, 10}), qparams(0.02f));
  };
  const Net attention = [](const Variable& x) {
    const Variable weights = softmax(matmul(x, x, {.transpose_b = true}));
    return matmul(fake_quantize(weights, qparams(1 / 255.0f, 0, 255)), x);
  };
  ProgramCapture capture;
  const Variable x = capture.input({1, 60});
  const Variable y =
      call(capture, "attention", call(capture, "tokens", x, tokens), attention);
  const Program program = capture.finish({&y, 1});
  const Tensor images = noise({5, 60}, 7);
  const Variable expected = attention(tokens(Variable(images)));
  Tensor got(expected.shape());
  ASSERT_TRUE(program.run({&images, 1}, {&got, 1}));
  EXPECT_EQ(bits(got), bits(expected));
}

TEST(Matmul, AcceptsEmptyQuantizedOperands) {
  const auto on = [](const Shape& s) {
    return fake_quantize(Variable(noise(s)), qparams(1));
  };
  EXPECT_EQ(matmul(on({0, 3, 4}), on({0, 4, 5})).value().shape(),
            (Shape{0, 3, 5}));
  const Tensor empty_sums = matmul(on({2, 0}), on({0, 3})).value();
  for (const float v : empty_sums.f32()) EXPECT_EQ(v, 0);
}

INSTANTIATE_TEST_SUITE_P(Isa, MatmulCodes, every_isa(), isa_name);

}  // namespace
}  // namespace octet::programs
