#include <gtest/gtest.h>

#include <octet/runtime/config.h>
#include <octet/runtime/error.h>
#include <octet/runtime/near_names.h>

namespace octet {
namespace {

TEST(Config, KeepsEntriesInTheirOrder) {
  Config c;
  c.set("b", 1).set("a", "x").set("b", 2);
  ASSERT_EQ(c.as_object().size(), 2u);
  EXPECT_EQ(c.as_object()[0].first, "b");
  EXPECT_EQ(c.at("b").as_int(), 2);
  EXPECT_EQ(c.at("a").as_string(), "x");
  EXPECT_EQ(c.find("c"), nullptr);
}

TEST(Config, SaysWhatItIsWhenAskedForSomethingElse) {
  EXPECT_THROW((void)Config("text").as_int(), ValueError);
  EXPECT_THROW((void)Config(1).as_bool(), ValueError);
  EXPECT_THROW((void)Config(1.5).as_int(), ValueError);
  EXPECT_EQ(Config(2).as_number(), 2.0);
  EXPECT_THROW((void)Config().at("x"), ValueError);
  EXPECT_THROW((void)Config(Config::List()).as_object(), ValueError);
}

TEST(Config, SuggestsNearNames) {
  Config c;
  c.set("filters", 1).set("strides", 2);
  try {
    (void)c.at("filter");
    FAIL() << "expected an error";
  } catch (const NotFoundError& error) {
    EXPECT_NE(std::string(error.what()).find("'filters'"), std::string::npos);
  }
}

TEST(Config, ComparesByValue) {
  EXPECT_EQ(Config().set("a", Config::List{1, "b", Config()}),
            Config().set("a", Config::List{1, "b", Config()}));
  EXPECT_NE(Config(1), Config(1.0));
}

TEST(EditDistance, CountsSingleChanges) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("conv1", "conv2"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(SuggestNames, OffersTheNearestOrTheFirst) {
  const std::vector<std::string> names = {"conv1", "conv2", "dense"};
  EXPECT_EQ(suggest_names("conv", names), "; did you mean 'conv1' or 'conv2'?");
  EXPECT_EQ(suggest_names("zzzzzzzz", names),
            "; there are 'conv1', 'conv2', 'dense'");
  EXPECT_EQ(suggest_names("x", {}), "; there are none");
}

TEST(SuggestNear, SaysNothingWhereNothingIsNear) {
  const std::vector<std::string> names = {"conv1", "conv2", "dense"};
  EXPECT_EQ(suggest_near("conv", names), "; did you mean 'conv1' or 'conv2'?");
  EXPECT_EQ(suggest_near("zzzzzzzz", names), "");
  EXPECT_EQ(suggest_near("x", {}), "");
}

}  // namespace
}  // namespace octet
