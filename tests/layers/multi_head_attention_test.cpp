#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

/// integers() / 8: eighths of -6 to 6.
Tensor eighths(const Shape& shape, int step) {
  Tensor t = integers(shape, step);
  for (float& v : t.f32()) v /= 8;
  return t;
}

TEST(MultiHeadAttention, MatchesKeras) {
  const auto q = input({3, 6}), v = input({4, 7}), k = input({4, 8});
  const Model model({q, v, k}, {multi_head_attention(q, v, k,
                                                     {.num_heads = 2,
                                                      .key_dim = 2,
                                                      .value_dim = 3,
                                                      .output_size = 5,
                                                      .name = "mha"})});
  const auto fill = [&](const std::string& part, int kernel, int bias) {
    for (const auto& [name, step] :
         {std::pair{"kernel", kernel}, std::pair{"bias", bias}}) {
      const Variable& p = model.layer("mha/" + part).parameter(name).variable;
      p.assign(eighths(p.shape(), step));
    }
  };
  fill("query", 5, 3);
  fill("key", 7, 2);
  fill("value", 2, 7);
  fill("attention_output", 3, 5);
  const std::vector<Variable> inputs{Variable(eighths({1, 3, 6}, 7)),
                                     Variable(eighths({1, 4, 7}, 5)),
                                     Variable(eighths({1, 4, 8}, 3))};
  const NoGradGuard no_grad;
  const Tensor y = model(inputs)[0].value();
  // Source: Keras 3.15 on JAX, MultiHeadAttention with the same numbers.
  const float expected[] = {-0.2730425f, -0.4734417f, 0.5822024f,  -0.0761267f,
                            0.1236649f,  -0.2881852f, -0.4968338f, 0.5933740f,
                            -0.0207510f, 0.0146752f,  -0.2518164f, -0.5095398f,
                            0.5903454f,  0.2106299f,  -0.3209250f};
  ASSERT_EQ(y.shape(), (Shape{1, 3, 5}));
  for (size_t i = 0; i < 15; ++i) {
    // Both programs sum about 20 terms of up to 1 in float32.
    EXPECT_NEAR(y.f32()[i], expected[i], 1e-6) << i;
  }
}

TEST(MultiHeadAttention, ConsistsOfNamedLayers) {
  const auto x = input({5, 6});
  const Model model(
      x, multi_head_attention(
             x, x,
             {.num_heads = 3, .key_dim = 4, .use_bias = false, .name = "mha"}));
  EXPECT_THAT(names(model),
              ElementsAre("input_layer", "mha/query", "mha/key", "mha/value",
                          "mha/attention", "mha/attention_output"));
  EXPECT_EQ(model.outputs()[0].shape(), (Shape{Shape::kAnySize, 5, 6}));
  EXPECT_EQ(model.parameter_count(), 4 * 6 * 12);
}

TEST(MultiHeadAttention, IsNamedByTheModelIfUnnamed) {
  const auto x = input({5, 6});
  const auto y = multi_head_attention(x, x, {.num_heads = 1, .key_dim = 2});
  const Model model(x,
                    multi_head_attention(y, y, {.num_heads = 1, .key_dim = 2}));
  EXPECT_THAT(names(model), ::testing::Contains("dense_7"));
}

TEST(MultiHeadAttention, RejectsInvalidSizes) {
  const auto failure = [](const MultiHeadAttentionOptions& options) {
    const auto x = input({5, 6});
    return failure_of<ValueError>(
        [&] { (void)multi_head_attention(x, x, options); });
  };
  EXPECT_EQ(failure({.key_dim = 2}), (Failure{"out_of_range", "num_heads"}));
  EXPECT_THAT(failure({.key_dim = 2, .name = "mha"}).context,
              ElementsAre("in multi_head_attention 'mha'"));
  EXPECT_EQ(failure({.num_heads = 2}), (Failure{"out_of_range", "key_dim"}));
  EXPECT_EQ(failure({.num_heads = 2, .key_dim = 2, .value_dim = -1}),
            (Failure{"out_of_range", "value_dim"}));
}

TEST(MultiHeadAttention, RejectsKeysAndValuesOfDifferentLengths) {
  const auto q = input({3, 6}), v = input({4, 6}), k = input({5, 6});
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)multi_head_attention(q, v, k,
                                         {.num_heads = 2, .key_dim = 2});
            }),
            (Failure{"shape_mismatch", "value"}));
}

}  // namespace
}  // namespace octet
