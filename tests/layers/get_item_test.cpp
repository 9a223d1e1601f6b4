#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/model.h>

#include "support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;

TEST(GetItem, IsCreatedByIndex) {
  const SymbolicTensor x = input({4, 6, 3}, "x");
  const SymbolicTensor y = x.index({Slice(), Slice(1), 0});
  EXPECT_EQ(y.shape(), Shape({Shape::kAnySize, 3, 3}));
  EXPECT_EQ(y.node->layer->class_name(), "GetItem");
  const Tensor tokens = Tensor::of<float>({1, 2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(values(infer(GetItem({.index = {Slice(), -1}}), tokens)),
            (Floats{3, 4, 5}));
}

TEST(GetItem, RoundTripsItsIndexThroughAFile) {
  const SymbolicTensor x = input({4, 6, 3}, "x");
  const std::vector<Index> index = {"...", Slice(-1, {}, -2), 0};
  const Model model(x, x.index(index));
  const Model read = model_from_config(to_config(model));
  EXPECT_EQ(read.layers()[1]->config(), GetItem({.index = index})->config());
  const Tensor some = noise({2, 4, 6, 3});
  EXPECT_EQ(bits(read.predict(some)), bits(model.predict(some)));
}

TEST(GetItem, RejectsSlicingTheBatch) {
  const SymbolicTensor x = input({4, 3}, "x");
  EXPECT_EQ(failure_of<ValueError>([&] { (void)x.index({0}); }),
            (Failure{"invalid_value", "index"}));
  EXPECT_THROW((void)x.index({Slice(1)}), ValueError);
}

TEST(GetItem, RejectsEmptyResults) {
  const SymbolicTensor x = input({4, 3}, "x");
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)x.index({Slice(), Slice(4)});
            }),
            (Failure{"out_of_range", "index"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)x.index({"...", 0, 0});
            }),
            (Failure{"out_of_range", "index"}));
  EXPECT_THROW((void)x.index({Slice(), 0, 0, 0}), ShapeError);
  EXPECT_THROW((void)x.index({Slice(), 4}), ShapeError);
}

}  // namespace
}  // namespace octet
