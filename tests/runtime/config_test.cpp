#include <gtest/gtest.h>

#include <octet/runtime/config.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

#include "../support.h"

namespace octet {
namespace {

TEST(Config, PreservesTheOrderOfEntries) {
  Config c;
  c.set("b", 1).set("a", "x").set("b", 2);
  ASSERT_EQ(c.as_object().size(), 2u);
  EXPECT_EQ(c.as_object()[0].first, "b");
  EXPECT_EQ(c.at("b").as_int(), 2);
  EXPECT_EQ(c.at("a").as_string(), "x");
  EXPECT_EQ(c.find("c"), nullptr);
}

TEST(Config, RejectsAccessByTheWrongType) {
  EXPECT_EQ(failure_of<ValueError>([&] { (void)Config("text").as_int(); }),
            (Failure{"invalid_value", "configuration"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)Config(1).as_bool(); }),
            (Failure{"invalid_value", "configuration"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)Config(1.5).as_int(); }),
            (Failure{"invalid_value", "configuration"}));
  EXPECT_EQ(Config(2).as_number(), 2.0);
  EXPECT_EQ(failure_of<ValueError>([&] { (void)Config().at("x"); }),
            (Failure{"invalid_value", "configuration"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)Config(Config::List()).as_object(); }),
      (Failure{"invalid_value", "configuration"}));
}

TEST(Config, SuggestsNearNames) {
  Config c;
  c.set("filters", 1).set("strides", 2);
  const Failure failure =
      failure_of<NotFoundError>([&] { (void)c.at("filter"); });
  EXPECT_EQ(failure, (Failure{"unknown_name", "configuration"}));
  EXPECT_NE(failure.message.find("'filters'"), std::string::npos);
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

TEST(SuggestNames, SuggestsTheNearestOrTheFirst) {
  const std::vector<std::string> names = {"conv1", "conv2", "dense"};
  EXPECT_EQ(suggest_names("conv", names), "; did you mean 'conv1' or 'conv2'?");
  EXPECT_EQ(suggest_names("zzzzzzzz", names),
            "; available: 'conv1', 'conv2', 'dense'");
  EXPECT_EQ(suggest_names("x", {}), "; none are available");
}

TEST(SuggestNear, IsEmptyWithoutSimilarNames) {
  const std::vector<std::string> names = {"conv1", "conv2", "dense"};
  EXPECT_EQ(suggest_near("conv", names), "; did you mean 'conv1' or 'conv2'?");
  EXPECT_EQ(suggest_near("zzzzzzzz", names), "");
  EXPECT_EQ(suggest_near("x", {}), "");
}

}  // namespace
}  // namespace octet
