// Attention in one step of a program.
#include <limits>

#include "programs.h"

namespace octet::programs {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Sizes {
  int64_t heads, tokens, depth, channels;
};
// Partial vectors, single rows and columns, more rows than a block.
const Sizes kSizes[] = {{1, 1, 1, 1},  {2, 5, 3, 4},   {3, 17, 16, 1},
                        {1, 33, 1, 7}, {3, 50, 17, 6}, {2, 131, 64, 33}};

using Scores = std::function<Variable(const Variable&)>;

Variable scaled(const Variable& scores) { return scale_shift(scores, 0.3f); }

// Projections of tokens [n,t,c] to heads [n,t,h,d].
Variable project(const Variable& x, int64_t heads, int64_t depth,
                 uint64_t seed) {
  const Shape& s = x.shape();
  const Variable y = dense(x, weight({s[2], heads * depth}, seed));
  return reshape(y, {s[0], s[1], heads, depth});
}

// Self-attention of tokens [n,t,c] -> [n,t,h,d].
Variable attention(const Variable& x, const Sizes& s, const Scores& pointwise) {
  const std::vector<int> by_head{0, 2, 1, 3};
  const Variable q = transpose(project(x, s.heads, s.depth, 2), by_head);
  const Variable k = transpose(project(x, s.heads, s.depth, 3), by_head);
  const Variable v = transpose(project(x, s.heads, s.channels, 4), by_head);
  const Variable weights =
      softmax(pointwise(matmul(q, k, {.transpose_b = true})));
  return transpose(matmul(weights, v), by_head);
}

void expect_fused(const Net& net, const Shape& sample, int transposes = 0) {
  expect_same(net, sample, 0);
  const Program program = capture(net, sample);
  EXPECT_EQ(count(program, "attention"), 1);
  EXPECT_EQ(count(program, "softmax"), 0);
  EXPECT_EQ(count(program, "matmul"), 0);
  EXPECT_EQ(count(program, "transpose"), transposes);
}

TEST_P(Programs, FuseAttentionWithItsTransposes) {
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(testing::Message() << s.heads << " heads, " << s.tokens << "x"
                                    << s.depth << "x" << s.channels);
    const Shape sample{1, s.tokens, 5};
    expect_fused([=](const Variable& x) { return attention(x, s, scaled); },
                 sample);
    // Keys stored by depth, outputs by head.
    expect_fused(
        [=](const Variable& x) {
          const Variable q = project(x, s.heads, s.depth, 2);
          const Variable k = project(x, s.heads, s.depth, 3);
          const Variable v = project(x, s.heads, s.channels, 4);
          return matmul(softmax(matmul(transpose(q, {0, 2, 1, 3}),
                                       transpose(k, {0, 2, 3, 1}))),
                        transpose(v, {0, 2, 1, 3}));
        },
        sample);
  }
}

TEST_P(Programs, FuseAttentionWithoutHeads) {
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(s.tokens);
    expect_fused(
        [=](const Variable& x) {
          const Variable k = dense(x, weight({s.depth, s.depth}));
          return matmul(softmax(matmul(x, k, {.transpose_b = true})), x);
        },
        {1, s.tokens, s.depth});
  }
}

// Scores and queries whose rows would share few sets of the cache.
TEST_P(Programs, FuseAttentionOfManyKeysAndWideTokens) {
  const Sizes s{2, 9, 256, 3};
  expect_fused([=](const Variable& x) { return attention(x, s, scaled); },
               {1, s.tokens, 5});
  expect_fused(
      [=](const Variable& x) {
        const Variable q = dense(x, weight({6, 4}, 2));
        return matmul(softmax(matmul(q, q, {.transpose_b = true})), x);
      },
      {1, 1024, 6});
}

// Layouts that no product reads in place are transposed before it.
TEST_P(Programs, TransposeForAttentionWhatItCannotReadInPlace) {
  const Net net = [](const Variable& x) {  // [n,h,d,t]
    const std::vector<int> by_token{0, 1, 3, 2};
    const Variable q = transpose(x, by_token);
    return transpose(matmul(softmax(matmul(q, x)), q), by_token);
  };
  expect_same(net, {1, 3, 5, 18}, 0);
  const Program program = capture(net, {1, 3, 5, 18});
  EXPECT_EQ(count(program, "attention"), 1);
  EXPECT_EQ(count(program, "transpose"), 2);
}

TEST_P(Programs, FuseMasksIntoAttention) {
  const Sizes s{3, 19, 16, 5};
  const Shape sample{1, s.tokens, 6};
  Tensor causal = Tensor::zeros({s.tokens, s.tokens});
  for (int64_t q = 0; q < s.tokens; ++q) {
    for (int64_t k = q + 1; k < s.tokens; ++k) {
      causal.f32()[static_cast<size_t>(q * s.tokens + k)] = -kInf;
    }
  }
  const auto expect = [&](const Scores& pointwise) {
    expect_fused([=](const Variable& x) { return attention(x, s, pointwise); },
                 sample);
  };
  const Variable bias = weight({1, s.heads, s.tokens, s.tokens}, 8);
  const Variable by_key = weight({s.tokens}, 9);
  const Variable by_head = weight({1, s.heads, 1, 1}, 10);
  const Variable few = weight({1, 1, s.tokens, s.tokens}, 11);
  const Variable hidden(Tensor::scalar(-kInf));
  const Variable positive =
      compare(Comparison::less, bias, Variable(Tensor::scalar(0.9f)));
  expect([=](const Variable& x) { return scaled(x) + causal; });
  expect([=](const Variable& x) { return scaled(x + bias); });
  expect([=](const Variable& x) { return bias + scaled(x); });
  expect([=](const Variable& x) { return scale_shift(x, -2, 0.1f) + by_key; });
  expect([=](const Variable& x) { return multiply(by_head, x); });
  expect([=](const Variable& x) { return divide(x, by_head) + few; });
  expect([=](const Variable& x) {
    return multiply(x, Variable(Tensor::scalar(0.125f)));
  });
  expect([=](const Variable& x) { return where(positive, scaled(x), hidden); });
  expect([=](const Variable& x) {
    return scaled(where(few, Variable(Tensor::scalar(-9)), x)) + bias;
  });
}

// As importers express masks and keys: merged heads and rows.
TEST_P(Programs, FuseAttentionWithReshapedScores) {
  const Sizes s{3, 18, 4, 5};
  const auto net = [=](const Variable& mask) {
    return [=](const Variable& x) {
      const int64_t n = x.shape()[0];
      const Shape by_head{n, s.heads, s.tokens, s.tokens};
      const Variable q =
          transpose(project(x, s.heads, s.depth, 2), {0, 2, 1, 3});
      const Variable k = reshape(
          transpose(dense(x, weight({6, s.heads * s.depth}, 3)), {0, 2, 1}),
          {n, s.heads, s.depth, s.tokens});
      const Variable scores =
          reshape(scaled(matmul(q, k)), {n, s.heads * s.tokens, s.tokens});
      const Variable weights = reshape(softmax(scores + mask), by_head);
      const Variable v = project(x, s.heads, s.channels, 4);
      return matmul(weights, transpose(v, {0, 2, 1, 3}));
    };
  };
  const Shape sample{1, s.tokens, 6};
  expect_fused(net(weight({1, s.heads * s.tokens, s.tokens}, 8)), sample);
  expect_fused(net(weight({1, s.heads * s.tokens, 1}, 8)), sample);
  expect_fused(net(weight({1, 1, s.tokens}, 8)), sample);
}

TEST_P(Programs, FuseAttentionOfConstantQueries) {
  const Variable q = weight({1, 2, 3, 5}, 6);
  expect_fused(
      [=](const Variable& x) {
        const Variable k = transpose(project(x, 2, 5, 2), {0, 2, 1, 3});
        const Variable queries = broadcast_to(q, {x.shape()[0], 2, 3, 5});
        return matmul(softmax(matmul(queries, k, {.transpose_b = true})), k);
      },
      {1, 7, 4});
}

TEST_P(Programs, FuseComputedMasksIntoAttention) {
  const Sizes s{2, 9, 4, 4};
  expect_fused(
      [=](const Variable& x) {
        const Variable mask = reshape(dense(x, weight({6, 9}, 12)),
                                      {x.shape()[0], 1, s.tokens, s.tokens});
        return attention(x, s, [=](const Variable& scores) {
          return scaled(scores) + mask;
        });
      },
      {1, s.tokens, 6});
}

TEST_P(Programs, PropagateNanThroughAttention) {
  const Sizes s{2, 17, 5, 3};
  const Net net = [=](const Variable& x) { return attention(x, s, scaled); };
  const Program program = capture(net, {1, s.tokens, 4});
  Tensor x = noise({2, s.tokens, 4});
  x.f32()[5] = std::numeric_limits<float>::quiet_NaN();
  const NoGradGuard no_grad;
  const Tensor expected = net(Variable(x)).value();
  Tensor y(expected.shape());
  ASSERT_TRUE(program.run({&x, 1}, {&y, 1}));
  for (size_t i = 0; i < y.f32().size(); ++i) {
    const bool first = i < y.f32().size() / 2;
    EXPECT_EQ(std::isnan(y.f32()[i]), first) << i;
  }
  EXPECT_EQ(bits(y.slice(1, 1)), bits(expected.slice(1, 1)));
}

TEST_P(Programs, KeepOpsThatAreNoAttention) {
  const Sizes s{2, 7, 4, 4};
  const Shape sample{1, s.tokens, 6};
  const Variable other = weight({1, s.heads, s.tokens, s.tokens}, 8);
  const auto expect_kept = [&](const Net& net, int evaluations = 0) {
    expect_same(net, sample, evaluations);
    EXPECT_EQ(count(capture(net, sample), "attention"), 0);
  };
  expect_kept([=](const Variable& x) {  // scores with two consumers
    return attention(x, s, [](const Variable& y) { return multiply(y, y); });
  });
  expect_kept([=](const Variable& x) {  // a function of the scores
    return attention(x, s, [](const Variable& y) {
      return maximum(y, Variable(Tensor::scalar(0.1f)));
    });
  });
  expect_kept([=](const Variable& x) {  // softmax over the queries
    const Variable q = reshape(x, {x.shape()[0], 1, s.tokens, 6});
    return matmul(softmax(matmul(q, q, {.transpose_b = true}), 2), q);
  });
  expect_kept(
      [=](const Variable& x) {  // products of quantized values
        const Variable q = fake_quantize(
            reshape(x, {x.shape()[0], 1, s.tokens, 6}), qparams(0.02f));
        return matmul(softmax(matmul(q, q, {.transpose_b = true})), q);
      },
      1);
}

}  // namespace
}  // namespace octet::programs
