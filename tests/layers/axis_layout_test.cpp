// AxisLayout against transposes and reshapes of tensors.
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/detail/axis_layout.h>
#include <octet/runtime/tensor.h>

namespace octet {
namespace {

using ::testing::ElementsAre;
using Dims = std::vector<Dim>;
using Order = std::vector<int>;

constexpr Dim kBatch{1, true};

Dims sizes(const std::vector<int64_t>& factors) {
  Dims dims;
  for (const int64_t factor : factors) dims.push_back({factor, false});
  return dims;
}

/// [2,3,...] with the elements 0, 1, 2, ...
Tensor counted(const std::vector<int64_t>& dims) {
  Tensor result = Tensor::zeros(Shape(dims));
  const auto values = result.f32();
  std::iota(values.begin(), values.end(), 0.0f);
  return result;
}

Shape shape_of(const Dims& dims) {
  std::vector<int64_t> result;
  for (const Dim& dim : dims) result.push_back(dim.factor);
  return Shape(result);
}

Tensor rearranged(const Tensor& stored, const Rearrangement& moves) {
  Tensor result = stored;
  if (!moves.split.empty()) result = result.reshaped(shape_of(moves.split));
  if (!moves.order.empty()) result = result.transposed(moves.order);
  if (!moves.joined.empty()) result = result.reshaped(shape_of(moves.joined));
  return result;
}

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  const std::vector<float> left(a.f32().begin(), a.f32().end());
  const std::vector<float> right(b.f32().begin(), b.f32().end());
  EXPECT_EQ(left, right);
}

TEST(AxisLayout, RearrangesAsTheTransposesAndReshapesInTurn) {
  const Tensor stored = counted({2, 3, 4, 5});
  const AxisLayout layout = *AxisLayout(sizes({2, 3, 4, 5}))
                                 .transposed(Order{0, 2, 3, 1})
                                 .reshaped(sizes({2, 2, 2, 15}))
                                 ->transposed(Order{1, 0, 3, 2})
                                 .reshaped(sizes({4, 30}));
  expect_equal(rearranged(stored, layout.rearrangement()),
               stored.transposed({0, 2, 3, 1})
                   .reshaped({2, 2, 2, 15})
                   .transposed({1, 0, 3, 2})
                   .reshaped({4, 30}));
}

TEST(AxisLayout, StoresAxesInAnOrder) {
  // A logical [2,3,4] that is stored as [4,2,3].
  const AxisLayout layout(sizes({2, 3, 4}), Order{2, 0, 1});
  EXPECT_EQ(layout.stored(), sizes({4, 2, 3}));
  EXPECT_EQ(layout.dims(), sizes({2, 3, 4}));
  const Tensor logical = counted({2, 3, 4});
  expect_equal(
      rearranged(logical.transposed({2, 0, 1}), layout.rearrangement()),
      logical);
}

TEST(AxisLayout, InverseTransposesCancel) {
  const AxisLayout layout = AxisLayout(sizes({2, 3, 4, 5}))
                                .transposed(Order{0, 2, 3, 1})
                                .transposed(Order{0, 3, 1, 2});
  EXPECT_TRUE(layout.in_order());
  EXPECT_EQ(layout.rearrangement(), Rearrangement());
}

TEST(AxisLayout, TransposesOfSizeOneAreReshapes) {
  const AxisLayout layout =
      AxisLayout(sizes({2, 3, 1, 1})).transposed(Order{0, 2, 3, 1});
  EXPECT_TRUE(layout.in_order());
  const Rearrangement moves = layout.rearrangement();
  EXPECT_THAT(moves.order, ElementsAre());
  EXPECT_EQ(moves.joined, sizes({2, 1, 1, 3}));
}

TEST(AxisLayout, MergesTheBatchWithAnAxisAndSplitsThemAgain) {
  const AxisLayout layout(Dims{kBatch, {6, false}, {4, false}});
  const auto merged = layout.reshaped(Dims{{6, true}, {4, false}});
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->dims(), (Dims{{6, true}, {4, false}}));
  const auto split =
      merged->reshaped(Dims{kBatch, {2, false}, {3, false}, {4, false}});
  ASSERT_TRUE(split);
  EXPECT_TRUE(split->in_order());
  EXPECT_FALSE(layout.reshaped(Dims{{24, false}, kBatch}));
}

TEST(AxisLayout, RejectsReshapesThatSplitAFactorUnevenly) {
  const AxisLayout layout = AxisLayout(sizes({4, 6})).transposed(Order{1, 0});
  EXPECT_TRUE(layout.reshaped(sizes({3, 8})));
  EXPECT_FALSE(layout.reshaped(sizes({8, 3})));
  EXPECT_FALSE(AxisLayout(sizes({4, 6})).reshaped(sizes({4, 5})));
  EXPECT_FALSE(AxisLayout(sizes({4, 6})).reshaped(sizes({4, 6, 2})));
}

TEST(AxisLayout, StoredOrderMakesALayoutOrdered) {
  const AxisLayout layout(sizes({2, 3, 4, 5}), Order{0, 2, 3, 1});
  EXPECT_FALSE(layout.in_order());
  EXPECT_THAT(*layout.stored_order(), ElementsAre(0, 2, 3, 1));
  EXPECT_TRUE(layout.transposed(*layout.stored_order()).in_order());
  // Two axes that are interleaved have no order.
  const auto interleaved = AxisLayout(sizes({2, 3, 2}))
                               .transposed(Order{0, 2, 1})
                               .reshaped(sizes({4, 3}));
  EXPECT_FALSE(interleaved->stored_order());
}

TEST(AxisLayout, FactorsOfAnAxisAndOtherStoredSizes) {
  const auto layout =
      AxisLayout(sizes({2, 3, 4}), Order{0, 2, 1}).reshaped(sizes({2, 12}));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->factors(1), sizes({3, 4}));
  const AxisLayout flat = layout->stored_as(sizes({2, 12}));
  EXPECT_EQ(flat.stored(), sizes({2, 12}));
  EXPECT_EQ(flat.rearrangement().split, sizes({2, 4, 3}));
}

TEST(AxisLayout, RequiredOrderOfTheStoredAxes) {
  const Dims dims = sizes({2, 3, 4, 1});
  const auto layout =
      AxisLayout(dims).transposed(Order{0, 2, 3, 1}).reshaped(sizes({2, 12}));
  ASSERT_TRUE(layout);
  const auto order = layout->required_order();
  ASSERT_TRUE(order);
  EXPECT_TRUE(AxisLayout(dims, *order)
                  .transposed(Order{0, 2, 3, 1})
                  .reshaped(sizes({2, 12}))
                  ->in_order());
  // Parts of an axis that move apart.
  EXPECT_FALSE(AxisLayout(sizes({6, 5}))
                   .reshaped(sizes({2, 3, 5}))
                   ->transposed(Order{0, 2, 1})
                   .required_order());
}

TEST(AxisLayout, ABatchOfOneIsASizeOfOne) {
  const AxisLayout layout(Dims{kBatch, {6, false}, {4, false}});
  const AxisLayout shared =
      *layout.reshaped(Dims{kBatch, {2, false}, {12, false}})
           ->transposed(Order{1, 0, 2})
           .reshaped(Dims{{2, true}, {12, false}});
  EXPECT_EQ(shared.batch_axis(), 0u);
  EXPECT_EQ(shared.before_batch(), 2);
  const AxisLayout one = shared.without_batch();
  EXPECT_EQ(one.dims(), sizes({2, 12}));
  EXPECT_EQ(one.stored(), sizes({1, 6, 4}));
  EXPECT_FALSE(one.batch_axis().has_value());
  EXPECT_EQ(layout.without_batch().with_batch(0), layout);
  EXPECT_EQ(one.with_batch(0).dims(), (Dims{{2, true}, {12, false}}));
  EXPECT_EQ(one.with_batch(0).before_batch(), 1);
  EXPECT_TRUE(layout.is_stored_in(Order{0, 1, 2}));
  EXPECT_FALSE(layout.is_stored_in(Order{0, 2, 1}));
  EXPECT_TRUE(layout.stored_as(Dims{kBatch, {24, false}}).in_order());
}

}  // namespace
}  // namespace octet
