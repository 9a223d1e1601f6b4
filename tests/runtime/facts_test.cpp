// The facts that tests read in messages.
#include "../facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Facts, NamesAreInSingleQuotes) {
  EXPECT_THAT(
      quoted_names("model's 'conv 1', layers' 'it's' and '' (Keras' 'a')"),
      ElementsAre("conv 1", "it's", "", "a"));
  EXPECT_THAT(quoted_names("the toolkit's 'open"), IsEmpty());
}

TEST(Facts, NumbersAreNoPartsOfWords) {
  EXPECT_THAT(
      numbers_in("2 of 6 int8 values of conv_3 in [-6,6.5], 1.5e-06 dB"),
      ElementsAre(2, 6, -6, 6.5, 1.5e-6));
  EXPECT_THAT(numbers_in("no-8bit"), IsEmpty());
}

TEST(Facts, CallsHaveAnObject) {
  EXPECT_THAT(calls_in("Hint: (NHWC) x.transposed({0,2,3,1}) or equalize()"),
              ElementsAre("x.transposed({0,2,3,1})"));
}

TEST(Facts, LinesHaveNoEnds) {
  EXPECT_THAT(lines_of("a\n\nb\n"), ElementsAre("a", "", "b"));
  EXPECT_EQ(without_hint("bad. Hint: x"), "bad. ");
  EXPECT_EQ(without_hint("bad"), "bad");
}

}  // namespace
}  // namespace octet
