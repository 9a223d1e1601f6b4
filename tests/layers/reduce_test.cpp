// Reduce beyond the golden files: indices of extrema.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>

#include "../support.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

TEST(Reduce, FindsTheFirstExtremum) {
  const auto x = input({4}, "x");
  const Model model(
      {x},
      {Reduce({.operation = "argmax", .axes = {1}, .keepdims = true})(x),
       Reduce({.operation = "argmin", .axes = {-1}, .keepdims = true})(x)});
  const auto y = model.predict(
      std::vector<Tensor>{Tensor::of<float>({1, 4}, {2, 7, -1, 7})});
  EXPECT_THAT(y[0].f32(), ElementsAre(1));
  EXPECT_THAT(y[1].f32(), ElementsAre(2));
  EXPECT_EQ(failure_of<ValueError>([] {
              Reduce({.operation = "argmax", .axes = {1, 2}});
            }),
            (Failure{"invalid_value", "axes"}));
}

}  // namespace
}  // namespace octet
