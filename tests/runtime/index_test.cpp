#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/detail/tensor_parts.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/tensor.h>

#include "../support.h"

namespace octet {
namespace {

std::vector<int64_t> entries(const AxisPart& part) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < part.count; ++i) {
    result.push_back(part.first + i * part.step);
  }
  return result;
}

// Expected: list(range(5))[start:stop:step] in Python.
TEST(Index, SlicesLikePython) {
  struct Case {
    Slice slice;
    std::vector<int64_t> entries;
  };
  const std::vector<Case> cases = {
      {Slice(), {0, 1, 2, 3, 4}},
      {Slice(1), {1, 2, 3, 4}},
      {Slice({}, 3), {0, 1, 2}},
      {Slice(-3, -1), {2, 3}},
      {Slice(1, 4, 2), {1, 3}},
      {Slice({}, {}, 2), {0, 2, 4}},
      {Slice({}, {}, -1), {4, 3, 2, 1, 0}},
      {Slice(3, 0, -1), {3, 2, 1}},
      {Slice({}, 1, -2), {4, 2}},
      {Slice(-1, -4, -1), {4, 3, 2}},
      {Slice(2, 2), {}},
      {Slice(4, 1), {}},
      {Slice(-9, 9), {0, 1, 2, 3, 4}},
      {Slice(9, -9, -1), {4, 3, 2, 1, 0}},
      {Slice(7), {}},
      {Slice({}, {}, 100), {0}},
      {Slice(4, {}, -100), {4}},
      {Slice({}, -6, -1), {4, 3, 2, 1, 0}},
      {Slice(INT64_MIN, INT64_MAX, INT64_MAX), {0}},
      {Slice(INT64_MAX, INT64_MIN, INT64_MIN), {4}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::vector<Index> indices{cases[i].slice};
    EXPECT_EQ(entries(parts_of({5}, indices)[0]), cases[i].entries) << i;
  }
}

TEST(Index, OfAVariableDropsAxesWithOneEntry) {
  Tensor numbers({2, 3, 4});
  for (size_t i = 0; i < 24; ++i) numbers.f32()[i] = static_cast<float>(i);
  const Variable x(numbers);
  const auto floats = [](const Variable& v) {
    const Tensor value = v.value();
    return std::vector<float>(value.f32().begin(), value.f32().end());
  };
  EXPECT_EQ(x.index({Slice(), 1}).shape(), Shape({2, 4}));
  EXPECT_EQ(floats(x.index({1, Slice({}, {}, -2), -1})),
            (std::vector<float>{23, 15}));
  EXPECT_EQ(floats(x.index({"...", 0})),
            (std::vector<float>{0, 4, 8, 12, 16, 20}));
  EXPECT_EQ(x.index({0, 0, 0}).shape(), Shape());
  EXPECT_EQ(floats(x.index({})), floats(x));
  EXPECT_EQ(x.index({Slice(2)}).shape(), Shape({0, 3, 4}));
}

TEST(Index, PassesGradientsToSelectedEntries) {
  const Variable x(Tensor::full({2, 3}, 1), true);
  sum(x.index({Slice(), Slice({}, {}, -2)}) * 3).backward();
  EXPECT_THAT(x.grad().f32(), ::testing::ElementsAre(3, 0, 3, 3, 0, 3));
}

TEST(Index, RejectsEntriesOutOfRange) {
  const Variable x(Tensor::full({2, 3}, 1));
  const auto refusal = [&](const std::vector<Index>& indices) {
    return failure_of<ShapeError>([&] { (void)x.index(indices); });
  };
  EXPECT_EQ(refusal({0, 3}), (Failure{"out_of_range", "index"}));
  EXPECT_EQ(refusal({0, 0, 0}), (Failure{"count_mismatch", "index"}));
  EXPECT_EQ(refusal({0, INT64_MIN}), (Failure{"out_of_range", "index"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)x.index({"...", "..."});
            }),
            (Failure{"invalid_value", "index"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)x.index({":"}); }),
            (Failure{"invalid_value", "Index"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)Slice(0, 1, 0); }),
            (Failure{"invalid_value", "Slice"}));
}

}  // namespace
}  // namespace octet
