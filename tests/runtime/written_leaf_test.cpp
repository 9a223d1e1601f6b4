// Leaves that are written between a forward pass and a later use.
#include <functional>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/ops.h>

#include "../support.h"

namespace octet {
namespace {

using ::testing::Contains;

using Op = std::function<Variable(const Variable& x, const Variable& w)>;

struct Case {
  const char* name;
  Shape x, w;
  Op op;
};

Variable leaf(const Shape& shape, uint64_t seed) {
  Tensor value = noise(shape, seed);
  for (float& v : value.f32()) v = 1.5f + v;  // for log and sqrt
  return Variable(value, true);
}

QuantParams qparams(Tensor scale, int axis = -1) {
  QuantParams qparams;
  qparams.scale = std::move(scale);
  qparams.axis = axis;
  return qparams;
}

// Selects the function of Variables.
auto of_variables(Variable (*f)(const Variable&, const Variable&)) { return f; }

// Gradients of x that need w.
std::vector<Case> readers() {
  const Shape row{2, 3};
  const auto unary = [](Variable (*f)(const Variable&)) {
    return [f](const Variable& x, const Variable& w) { return add(x, f(w)); };
  };
  return {
      {"multiply", row, row, of_variables(multiply)},
      {"divide", row, row, of_variables(divide)},
      {"maximum", row, row, of_variables(maximum)},
      {"minimum", row, row, of_variables(minimum)},
      {"matmul",
       row,
       {3, 2},
       [](const Variable& x, const Variable& w) { return matmul(x, w); }},
      {"dense", row, {3, 4}, of_variables(dense)},
      {"conv2d",
       {1, 3, 3, 2},
       {2, 2, 2, 3},
       [](const Variable& x, const Variable& w) { return conv2d(x, w); }},
      {"conv2d_transpose",
       {1, 2, 2, 3},
       {2, 2, 2, 3},
       [](const Variable& x, const Variable& w) {
         return conv2d_transpose(x, w, {3, 3});
       }},
      {"depthwise_conv2d",
       {1, 3, 3, 2},
       {2, 2, 2, 1},
       [](const Variable& x, const Variable& w) {
         return depthwise_conv2d(x, w);
       }},
      {"prelu",
       row,
       {3},
       [](const Variable& x, const Variable& w) {
         return prelu(negate(x), w);
       }},
      {"layer_norm",
       row,
       {3},
       [](const Variable& x, const Variable& w) {
         return layer_norm(x, w, {}, 1e-3f);
       }},
      {"square", row, row, unary(square)},
      {"sqrt", row, row, unary(octet::sqrt)},
      {"log", row, row, unary(octet::log)},
      {"absolute", row, row, unary(absolute)},
      {"sigmoid", row, row, unary(sigmoid)},
      {"relu", row, row, unary(relu)},
      {"max", row, row,
       [](const Variable& x, const Variable& w) { return add(x, max(w)); }},
      {"regularization_loss", row, row,
       [](const Variable& x, const Variable& w) {
         return add(x, regularization_loss(w, 0.5f, 0.5f));
       }},
      {"fake_quantize", row, row,
       [](const Variable& x, const Variable& w) {
         return add(x, fake_quantize(w, qparams(Tensor::scalar(0.01f))));
       }},
      {"fake_quantize", row, row,
       [](const Variable& x, const Variable& w) {
         return add(x, fake_quantize(w, qparams(Tensor::full({3}, 0.01f), 1)));
       }},
      {"batch_norm", row, row,
       [](const Variable& x, const Variable& w) {
         std::vector<float> mean(3), variance(3);
         return add(
             x, batch_norm_training(w, {}, {}, mean, variance, 0.9f, 1e-3f));
       }},
      {"mine", row, row,
       [](const Variable& x, const Variable& w) {
         return record("mine", {x, w}, x.value().clone(),
                       [w](const Tensor& dy) {
                         (void)w.value();
                         return std::vector{dy, dy};
                       });
       }},
  };
}

// Gradients of x that do not need w.
std::vector<Case> others() {
  const Shape row{2, 3};
  return {
      {"add", row, row, of_variables(add)},
      {"add, broadcast", row, {3}, of_variables(add)},
      {"subtract", row, row, of_variables(subtract)},
      {"bias_add", row, {3}, of_variables(bias_add)},
      {"softmax", row, row,
       [](const Variable& x, const Variable& w) {
         return multiply(x, softmax(w, -1));
       }},
      {"scale_shift", row, row,
       [](const Variable& x, const Variable& w) {
         return add(x, scale_shift(w, 2, 1));
       }},
      {"reshape",
       {6},
       row,
       [](const Variable& x, const Variable& w) {
         return add(x, reshape(w, {6}));
       }},
      {"a weight of constant inputs",
       row,
       {3, 4},
       [](const Variable& x, const Variable& w) {
         const Variable y = dense(x.detach(), w);
         return add(sum(x), sum(y));
       }},
      {"mean", row, row,
       [](const Variable& x, const Variable& w) { return add(x, mean(w)); }},
  };
}

void write(const Variable& w) {
  for (float& v : w.mutable_value()) v += 1;
}

// Deferred and eager evaluation.
template <class Body>
void each_way(const Body& body) {
  for (const bool eager : {false, true}) {
    SCOPED_TRACE(eager ? "op by op" : "deferred");
    std::optional<EagerGuard> guard;
    if (eager) guard.emplace();
    body();
  }
}

TEST(WrittenLeaf, IsDetectedByBackwardIfItsValueIsNeeded) {
  each_way([] {
    for (const Case& c : readers()) {
      SCOPED_TRACE(c.name);
      const Variable x = leaf(c.x, 1);
      const Variable w = leaf(c.w, 2);
      const Variable y = sum(c.op(x, w));
      (void)y.value();
      write(w);
      const Failure failure = failure_of<ValueError>([&] { y.backward(); });
      EXPECT_EQ(failure, (Failure{"invalid_state", "variable"}));
      EXPECT_THAT(failure.context,
                  Contains(std::string("in the gradient of ") + c.name));
    }
  });
}

TEST(WrittenLeaf, DoesNotAffectGradientsThatDoNotNeedIt) {
  each_way([] {
    for (const Case& c : others()) {
      SCOPED_TRACE(c.name);
      const auto gradients = [&](bool written) {
        const Variable x = leaf(c.x, 1);
        const Variable w = leaf(c.w, 2);
        const Variable y = sum(c.op(x, w));
        (void)y.value();
        if (written) write(w);
        y.backward();
        return std::pair(values(x.grad()), values(w.grad()));
      };
      EXPECT_EQ(gradients(true), gradients(false));
    }
  });
}

TEST(WrittenLeaf, IsDetectedAfterAssignAndThroughOtherHandles) {
  const auto refused = [](const std::function<void(const Variable&)>& change) {
    const Variable w = leaf({2, 3}, 1);
    const Variable y = sum(square(reshape(w, {6})));
    change(w);
    return failure_of<ValueError>([&] { y.backward(); });
  };
  EXPECT_EQ(refused([](const Variable& w) { w.assign(w.value().clone()); }),
            (Failure{"invalid_state", "variable"}));
  EXPECT_EQ(refused([](const Variable& w) { write(w.detach()); }),
            (Failure{"invalid_state", "variable"}));
  EXPECT_EQ(
      refused([](const Variable& w) { write(Variable(w.value().clone())); }),
      (Failure{"no error", ""}));
}

TEST(WrittenLeaf, IsDetectedForConstants) {
  const Variable x = leaf({3}, 1);
  const Variable constant(noise({3}, 2));
  const Variable y = sum(multiply(x, constant));
  write(constant);
  EXPECT_EQ(failure_of<ValueError>([&] { y.backward(); }),
            (Failure{"invalid_state", "variable"}));
}

TEST(WrittenLeaf, IsDetectedByDeferredValues) {
  for (const bool recording : {true, false}) {
    std::optional<NoGradGuard> guard;
    if (!recording) guard.emplace();
    const Variable w = leaf({2, 3}, 1);
    const Variable y = relu(negate(w));
    const Variable z = relu(w);
    const Variable known = relu(w);
    const auto before = values(known);
    write(w);
    EXPECT_EQ(failure_of<ValueError>([&] { (void)z.value(); }),
              (Failure{"invalid_state", "variable"}));
    EXPECT_EQ(values(known), before);
    EXPECT_NO_THROW((void)y.value());  // negate has been computed
  }
}

TEST(WrittenLeaf, DoesNotAffectABias) {
  const Variable x(noise({2, 3}));
  const Variable b = leaf({3}, 1);
  const Variable y = bias_add(x, b);
  const auto expected = values(add(x, Variable(b.value().clone())));
  write(b);
  EXPECT_EQ(values(y), expected);
}

TEST(WrittenLeaf, IsPermittedBetweenGraphs) {
  const Variable x(noise({4, 3}));
  const Variable w = leaf({3, 1}, 1);
  for (int step = 0; step < 3; ++step) {
    mean(square(dense(x, w))).backward();
    const std::vector<float> g = values(w.grad());
    const auto to = w.mutable_value();
    for (size_t i = 0; i < g.size(); ++i) to[i] -= 0.1f * g[i];
    w.zero_grad();
  }
  // Two graphs recorded before a step: the second does not use w again.
  const Variable first = sum(dense(x, w));
  const Variable second = mean(square(dense(x, w)));
  first.backward();
  write(w);
  EXPECT_NO_THROW(second.backward());
}

TEST(WrittenLeaf, InvalidatesPackedWeights) {
  const NoGradGuard guard;
  const Variable x(Tensor::full({1, 2}, 1));
  const Variable w(Tensor::full({2, 1}, 1), true);
  const Variable alias = w.detach();
  EXPECT_EQ(dense(x, w).value().item(), 2);
  write(alias);
  EXPECT_EQ(dense(x, w).value().item(), 4);
  EXPECT_GT(w.version(), 0u);
}

// As in finite differences: one span, several writes, a model in between.
TEST(WrittenLeaf, IsNotCachedWhileASpanExists) {
  const NoGradGuard guard;
  const Variable x(Tensor::full({1, 2}, 1));
  const Variable w(Tensor::full({2, 1}, 1), true);
  {
    const auto elements = w.mutable_value();
    for (const float value : {2.0f, 3.0f, 4.0f}) {
      elements[0] = value;
      EXPECT_EQ(dense(x, w).value().item(), value + 1);
    }
    elements[0] = 5;
  }
  EXPECT_EQ(dense(x, w).value().item(), 6);
}

TEST(WrittenLeaf, IsDetectedForWritesThroughASpan) {
  const Variable x(Tensor::full({1, 2}, 1), true);
  const Variable w(Tensor::full({2, 1}, 1), true);
  Variable y;
  {
    const auto elements = w.mutable_value();
    y = sum(square(dense(x, w)));
    elements[0] = 5;
  }
  EXPECT_EQ(failure_of<ValueError>([&] { y.backward(); }),
            (Failure{"invalid_state", "variable"}));
}

}  // namespace
}  // namespace octet
