#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The text of the ValueError with which add() refuses, after which the spec
/// must be as before.
template <class... Arguments>
std::string refused(const Arguments&... arguments) {
  QuantizationSpec spec;
  spec.add("kept", {.quantization_index = {1}});
  const QuantizationSpec before = spec;
  const std::string text =
      error_of<ValueError>([&] { spec.add(arguments...); });
  EXPECT_EQ(spec, before);
  return text;
}

using Names = std::vector<std::string>;
const Names kFour{"a", "b", "c", "d"};

TEST(Spec, TakesEntriesOneByOne) {
  QuantizationSpec spec;
  EXPECT_TRUE(spec.empty());
  spec.add("conv1");
  spec.add("Add", {.is_keras_class = true, .quantization_index = {1, 0}});
  spec.add("block._.*", {.is_regex = true, .quantize_weight = false});
  spec.add("conv1", {.quantize_input = false});
  EXPECT_THAT(
      spec.entries(),
      ElementsAre(SpecEntry{"conv1", SpecTarget::layer, {}},
                  SpecEntry{"Add", SpecTarget::class_, {true, true, {1, 0}}},
                  SpecEntry{"block._.*", SpecTarget::pattern, {true, false}},
                  SpecEntry{"conv1", SpecTarget::layer, {false, true}}));
  EXPECT_FALSE(spec.empty());
}

TEST(Spec, TakesABatchWithValuesForAllAndListsForEach) {
  QuantizationSpec spec;
  spec.add({"conv", "Dense", "add", "re_.*"},
           {.is_keras_class = {false, true, false, false},
            .is_regex = {false, false, false, true},
            .quantize_input = {true},
            .quantize_weight = {true, false, true, false},
            .quantization_index = {{}, {}, {0, 1}, {}}});
  EXPECT_THAT(
      spec.entries(),
      ElementsAre(SpecEntry{"conv", SpecTarget::layer, {}},
                  SpecEntry{"Dense", SpecTarget::class_, {true, false}},
                  SpecEntry{"add", SpecTarget::layer, {true, true, {0, 1}}},
                  SpecEntry{"re_.*", SpecTarget::pattern, {true, false}}));
}

TEST(Spec, GivesOneListOfIndicesToAllNames) {
  QuantizationSpec spec;
  spec.add({"add", "add_1"}, {.quantization_index = {{0}}});
  EXPECT_THAT(spec.entries(),
              ElementsAre(SpecEntry{"add", {}, {true, true, {0}}},
                          SpecEntry{"add_1", {}, {true, true, {0}}}));
}

TEST(Spec, AddsBatchesTo) {
  QuantizationSpec spec;
  spec.add("first");
  spec.add(kFour);
  spec.add(Names{});
  EXPECT_EQ(spec.entries().size(), 5u);
}

TEST(Spec, RefusesAListOfAnotherLengthAndNamesIt) {
  const std::string three = " to hold one value, or 4 as there are names, got ";
  const std::vector<bool> flags{true, false, true};
  EXPECT_EQ(refused(kFour, SpecLists{.is_keras_class = flags}),
            "spec: expected is_keras_class" + three + "3");
  EXPECT_EQ(refused(kFour, SpecLists{.is_regex = flags}),
            "spec: expected is_regex" + three + "3");
  EXPECT_EQ(refused(kFour, SpecLists{.quantize_input = flags}),
            "spec: expected quantize_input" + three + "3");
  EXPECT_EQ(refused(kFour, SpecLists{.quantize_weight = flags}),
            "spec: expected quantize_weight" + three + "3");
  EXPECT_EQ(
      refused(kFour, SpecLists{.quantization_index = {{0}, {}, {}, {}, {}}}),
      "spec: expected quantization_index" + three + "5");
}

TEST(Spec, RefusesAnEntryThatCannotBe) {
  EXPECT_EQ(refused(std::string()),
            "spec: expected the name of a layer or class, got ''");
  EXPECT_EQ(refused("x", SpecOptions{.is_keras_class = true, .is_regex = true}),
            "spec: expected 'x' to be a class or a regular expression, got "
            "both");
  EXPECT_THAT(refused("conv(", SpecOptions{.is_regex = true}),
              HasSubstr("spec: expected a regular expression, got 'conv('"));
  EXPECT_EQ(refused("add", SpecOptions{.quantization_index = {0, -1}}),
            "spec: expected quantization_index of 'add' to hold different "
            "indices >= 0, got -1");
  EXPECT_THAT(refused("add", SpecOptions{.quantization_index = {2, 1, 2}}),
              HasSubstr("got 2 twice"));
}

TEST(Spec, RefusesAWholeBatchForOneEntry) {
  EXPECT_THAT(refused(Names{"a", "", "c"}), HasSubstr("got ''"));
  EXPECT_THAT(
      refused(kFour, SpecLists{.quantization_index = {{}, {}, {}, {-3}}}),
      HasSubstr("quantization_index of 'd'"));
}

/// The weight flag of the entry that holds, as a mark of which it is.
std::string found(const QuantizationSpec& spec, std::string_view layer,
                  std::string_view layer_class) {
  const SpecEntry* entry = spec.find(layer, layer_class);
  return entry == nullptr ? "none" : entry->name;
}

TEST(Spec, FindsANameBeforeAPatternBeforeAClass) {
  QuantizationSpec spec;
  spec.add("conv_1");
  spec.add("conv_.*", {.is_regex = true});
  spec.add("Conv2D", {.is_keras_class = true});
  EXPECT_EQ(found(spec, "conv_1", "Conv2D"), "conv_1");
  EXPECT_EQ(found(spec, "conv_2", "Conv2D"), "conv_.*");
  EXPECT_EQ(found(spec, "stem", "Conv2D"), "Conv2D");
  EXPECT_EQ(found(spec, "dense", "Dense"), "none");
}

TEST(Spec, FindsTheLastOfEachKind) {
  QuantizationSpec spec;
  const auto last = [&] { return spec.find("conv_1", "Conv2D"); };
  spec.add("Conv2D", {.is_keras_class = true});
  spec.add("Conv2D", {.is_keras_class = true, .quantize_weight = false});
  EXPECT_FALSE(last()->request.quantize_weight);
  spec.add("conv_.", {.is_regex = true});
  spec.add(".*_1", {.is_regex = true});
  EXPECT_EQ(last()->name, ".*_1");
  spec.add("conv_1");
  spec.add("conv_1", {.quantize_input = false});
  spec.add("conv_.*", {.is_regex = true});
  EXPECT_EQ(last()->name, "conv_1");
  EXPECT_FALSE(last()->request.quantize_input);
}

TEST(Spec, KnowsTheOtherNamesThatKerasHasForAClass) {
  QuantizationSpec spec;
  spec.add("MaxPool2D", {.is_keras_class = true});
  spec.add("AveragePooling2D", {.is_keras_class = true});
  EXPECT_EQ(found(spec, "pool", "MaxPooling2D"), "MaxPool2D");
  EXPECT_EQ(found(spec, "pool", "AvgPool2D"), "AveragePooling2D");
  EXPECT_EQ(found(spec, "pool", "GlobalMaxPooling2D"), "none");
}

TEST(Spec, MatchesPatternsWithWholeNames) {
  QuantizationSpec spec;
  spec.add("block[1-3]_add", {.is_regex = true});
  EXPECT_EQ(found(spec, "block2_add", "Add"), "block[1-3]_add");
  EXPECT_EQ(found(spec, "block2_add_1", "Add"), "none");
  EXPECT_EQ(found(spec, "my_block2_add", "Add"), "none");
  EXPECT_EQ(found(spec, "block4_add", "Add"), "none");
  // A name is a name, whatever stands in it.
  QuantizationSpec plain;
  plain.add("a.c");
  EXPECT_EQ(found(plain, "abc", "Add"), "none");
  EXPECT_EQ(found(plain, "a.c", "Add"), "a.c");
}

TEST(Spec, NamesALayerOnlyByItsName) {
  QuantizationSpec spec;
  spec.add("Add", {.is_keras_class = true});
  spec.add("add.*", {.is_regex = true});
  EXPECT_FALSE(spec.names_layer("add"));
  EXPECT_TRUE(check_is_quantizable_by_layer_name(spec, "add"));
  spec.add("add", {.quantize_input = false, .quantize_weight = false});
  EXPECT_TRUE(spec.names_layer("add"));
  EXPECT_FALSE(check_is_quantizable_by_layer_name(spec, "add"));
  EXPECT_FALSE(spec.names_layer("add_1"));
}

TEST(Spec, GivesAwayTheEntriesOfATemporary) {
  const auto make = [] {
    QuantizationSpec spec;
    spec.add("a name too long to be kept in place");
    return spec;
  };
  for (const SpecEntry& entry : make().entries()) {
    EXPECT_EQ(entry.name, "a name too long to be kept in place");
  }
}

QuantizationSpec of_every_kind() {
  QuantizationSpec spec;
  spec.add("conv1", {.quantize_weight = false});
  spec.add("Add", {.is_keras_class = true, .quantization_index = {1, 0}});
  spec.add("b.*", {.is_regex = true, .quantize_input = false});
  return spec;
}

TEST(SpecConfig, ReadsBackWhatItWrites) {
  for (const QuantizationSpec& spec : {of_every_kind(), QuantizationSpec()}) {
    EXPECT_EQ(spec_from_config(to_config(spec)), spec);
  }
}

TEST(SpecConfig, HoldsEveryPartOfAnEntry) {
  const Config config = to_config(of_every_kind());
  const Config& add = config.at("spec").as_list().at(1);
  EXPECT_EQ(add.at("name").as_string(), "Add");
  EXPECT_EQ(add.at("target").as_string(), "class");
  EXPECT_TRUE(add.at("quantize_input").as_bool());
  EXPECT_TRUE(add.at("quantize_weight").as_bool());
  EXPECT_EQ(add.at("quantization_index").as_list().at(0).as_int(), 1);
}

TEST(SpecConfig, HasDefaultsForWhatIsLeftOut) {
  const Config config =
      Config().set("spec", Config::List{Config().set("name", "conv1")});
  QuantizationSpec spec;
  spec.add("conv1");
  EXPECT_EQ(spec_from_config(config), spec);
}

/// What is said of a spec of a good entry and this one.
template <class E = ValueError>
std::string refusal(const Config& entry) {
  const Config config =
      Config().set("spec", Config::List{Config().set("name", "good"), entry});
  return error_of<E>([&] { (void)spec_from_config(config); });
}

TEST(SpecConfig, RefusesABadEntryAndSaysWhichAndWhere) {
  const auto with = [](std::string_view key, Config value) {
    return Config().set("name", "conv1").set(key, std::move(value));
  };
  EXPECT_THAT(
      refusal(with("target", "klass")),
      AllOf(HasSubstr("in entry 1 of the spec"), HasSubstr("at 'target'"),
            HasSubstr("expected layer, pattern or class, got 'klass'")));
  EXPECT_THAT(refusal(with("quantize_inputs", true)),
              AllOf(HasSubstr("at 'quantize_inputs'"),
                    HasSubstr("expected name, target, quantize_input")));
  EXPECT_THAT(refusal(with("quantize_weight", 1)),
              AllOf(HasSubstr("at 'quantize_weight'"),
                    HasSubstr("expected a boolean, got an integer")));
  EXPECT_THAT(refusal(with("quantization_index", 1)),
              HasSubstr("expected a list, got an integer"));
  EXPECT_THAT(refusal(with("quantization_index", Config::List{0.5})),
              HasSubstr("expected an integer, got a number"));
  EXPECT_THAT(
      refusal(with("quantization_index", Config::List{int64_t{1} << 40})),
      HasSubstr("expected indices in [0,1048576]"));
  EXPECT_THAT(refusal(with("quantization_index", Config::List{1, 1})),
              HasSubstr("got 1 twice"));
  EXPECT_THAT(refusal(with("target", "pattern").set("name", "*")),
              HasSubstr("expected a regular expression, got '*'"));
  EXPECT_THAT(refusal(Config().set("name", 3)),
              HasSubstr("expected a string, got an integer"));
  EXPECT_THAT(refusal(Config().set("name", "")), HasSubstr("got ''"));
  EXPECT_THAT(refusal("conv1"), HasSubstr("expected an object, got a string"));
  EXPECT_THAT(refusal<NotFoundError>(Config().set("target", "layer")),
              AllOf(HasSubstr("expected an entry 'name'"),
                    HasSubstr("in entry 1 of the spec")));
}

TEST(SpecConfig, RefusesWhatIsNoSpec) {
  const auto text = [](const Config& config) {
    return error_of<ValueError>([&] { (void)spec_from_config(config); });
  };
  EXPECT_THAT(text(Config::List{}), HasSubstr("expected an object"));
  EXPECT_THAT(text(Config().set("spec", "conv1")),
              HasSubstr("expected a list"));
  EXPECT_THAT(text(to_config(of_every_kind()).set("spek", 1)),
              HasSubstr("expected an object of 'spec' alone, got 'spek'"));
  EXPECT_THROW((void)spec_from_config(Config::Object()), NotFoundError);
}

}  // namespace
}  // namespace octet::quant
