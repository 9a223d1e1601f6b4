#include <cstring>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "../support.h"

namespace octet {
namespace {

TEST(Matmul, ComputesAHandCheckedExample) {
  const Variable a(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Variable b(Tensor::of<float>({3, 2}, {1, 0, 0, 1, 2, -1}));
  const Tensor y = matmul(a, b).value();
  EXPECT_EQ(y.shape(), (Shape{2, 2}));
  const float expected[] = {7, -1, 16, -1};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(y.f32()[i], expected[i]);
}

TEST(Matmul, BroadcastsBatchesLikeNumPy) {
  const auto shape = [](const Shape& a, const Shape& b) {
    return matmul(Variable(noise(a)), Variable(noise(b))).shape();
  };
  EXPECT_EQ(shape({2, 1, 3, 4}, {5, 4, 7}), (Shape{2, 5, 3, 7}));
  EXPECT_EQ(shape({3, 4}, {5, 4, 7}), (Shape{5, 3, 7}));
  EXPECT_EQ(shape({6, 5, 3, 4}, {4, 7}), (Shape{6, 5, 3, 7}));
}

TEST(Matmul, AcceptsEmptyOperands) {
  const auto y = [](const Shape& a, const Shape& b) {
    return matmul(Variable(noise(a)), Variable(noise(b))).value();
  };
  EXPECT_EQ(y({0, 3, 4}, {0, 4, 5}).shape(), (Shape{0, 3, 5}));
  EXPECT_EQ(y({0, 3, 4}, {4, 5}).shape(), (Shape{0, 3, 5}));
  EXPECT_EQ(y({0, 4}, {4, 5}).shape(), (Shape{0, 5}));
  const Tensor empty_sums = y({2, 0}, {0, 3});
  for (const float v : empty_sums.f32()) EXPECT_EQ(v, 0);
  const Variable w(noise({4, 5}), true);
  sum(matmul(Variable(noise({0, 4}), true), w)).backward();
  for (const float v : w.grad().f32()) EXPECT_EQ(v, 0);
}

TEST(Matmul, SkipsTheGradientOfAConstant) {
  const Variable a(noise({3, 4}));
  const Variable b(noise({4, 5}), true);
  sum(matmul(a, b)).backward();
  EXPECT_FALSE(b.grad().empty());
}

TEST(Matmul, IsBitIdenticalForAnyNumberOfThreads) {
  const ThreadCountGuard threads_restored;
  const auto run = [](int threads, const MatmulOptions& o) {
    set_num_threads(threads);
    return matmul(Variable(noise({3, 130, 130})),
                  Variable(noise({3, 130, 130})), o)
        .value();
  };
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const Tensor one = run(1, {ta, tb});
      const Tensor three = run(3, {ta, tb});
      EXPECT_EQ(
          std::memcmp(one.raw(), three.raw(), static_cast<size_t>(one.bytes())),
          0);
    }
  }
}

TEST(Matmul, RejectsIncompatibleShapes) {
  const auto multiply = [](const Shape& a, const Shape& b,
                           const MatmulOptions& o = {}) {
    (void)matmul(Variable(noise(a)), Variable(noise(b)), o);
  };
  EXPECT_EQ(failure_of<ShapeError>([&] {
              multiply({3, 4}, {5, 4});
            }),
            (Failure{"shape_mismatch", "matmul"}));
  EXPECT_NO_THROW(multiply({3, 4}, {5, 4}, {.transpose_b = true}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              multiply({2, 3, 4}, {5, 4});
            }),
            (Failure{"shape_mismatch", "matmul"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              multiply({4}, {4, 5});
            }),
            (Failure{"shape_mismatch", "matmul"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              multiply({3, 4}, {4});
            }),
            (Failure{"shape_mismatch", "matmul"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              multiply({2, 3, 4}, {3, 4, 5});
            }),
            (Failure{"shape_mismatch", "matmul"}));
}

}  // namespace
}  // namespace octet
