#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;

/// Returns the failure of add(), after which the spec must be unchanged.
template <class... Arguments>
Failure refused(const Arguments&... arguments) {
  QuantizationSpec spec;
  spec.add("kept", {.quantization_index = {1}});
  const QuantizationSpec before = spec;
  const Failure failure =
      failure_of<ValueError>([&] { spec.add(arguments...); });
  EXPECT_EQ(spec, before);
  return failure;
}

using Names = std::vector<std::string>;
const Names kFour{"a", "b", "c", "d"};

TEST(Spec, AddsSingleEntries) {
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

TEST(Spec, AddsABatchWithCommonAndSeparateValues) {
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

TEST(Spec, AppliesASingleListOfIndicesToAllNames) {
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

TEST(Spec, RefusesAListOfWrongLength) {
  const auto count_mismatch = [](const char* list) {
    return Failure{"count_mismatch", list};
  };
  const std::vector<bool> flags{true, false, true};
  EXPECT_EQ(refused(kFour, SpecLists{.is_keras_class = flags}),
            count_mismatch("SpecLists.is_keras_class"));
  EXPECT_EQ(refused(kFour, SpecLists{.is_regex = flags}),
            count_mismatch("SpecLists.is_regex"));
  EXPECT_EQ(refused(kFour, SpecLists{.quantize_input = flags}),
            count_mismatch("SpecLists.quantize_input"));
  EXPECT_EQ(refused(kFour, SpecLists{.quantize_weight = flags}),
            count_mismatch("SpecLists.quantize_weight"));
  EXPECT_EQ(
      refused(kFour, SpecLists{.quantization_index = {{0}, {}, {}, {}, {}}}),
      count_mismatch("SpecLists.quantization_index"));
}

TEST(Spec, RefusesAnInvalidEntry) {
  EXPECT_EQ(refused(std::string()), (Failure{"missing_value", "spec"}));
  EXPECT_EQ(refused("x", SpecOptions{.is_keras_class = true, .is_regex = true}),
            (Failure{"conflicting_options", "spec entry 'x'"}));
  EXPECT_EQ(refused("conv(", SpecOptions{.is_regex = true}),
            (Failure{"invalid_value", "regular expression"}));
  const Failure index{"invalid_value", "spec entry 'add'"};
  EXPECT_EQ(refused("add", SpecOptions{.quantization_index = {0, -1}}), index);
  EXPECT_EQ(refused("add", SpecOptions{.quantization_index = {2, 1, 2}}),
            index);
}

TEST(Spec, RefusesAWholeBatchForASingleEntry) {
  EXPECT_EQ(refused(Names{"a", "", "c"}), (Failure{"missing_value", "spec"}));
  EXPECT_EQ(refused(kFour, SpecLists{.quantization_index = {{}, {}, {}, {-3}}}),
            (Failure{"invalid_value", "spec entry 'd'"}));
}

/// Returns the weight flag of the applicable entry, as an identifier.
std::string found(const QuantizationSpec& spec, std::string_view layer,
                  std::string_view layer_class) {
  const SpecEntry* entry = spec.find(layer, layer_class);
  return entry == nullptr ? "none" : entry->name;
}

TEST(Spec, PrefersANameToAPatternToAClass) {
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

TEST(Spec, SupportsKerasAliasesOfClasses) {
  QuantizationSpec spec;
  spec.add("MaxPool2D", {.is_keras_class = true});
  spec.add("AveragePooling2D", {.is_keras_class = true});
  EXPECT_EQ(found(spec, "pool", "MaxPooling2D"), "MaxPool2D");
  EXPECT_EQ(found(spec, "pool", "AvgPool2D"), "AveragePooling2D");
  EXPECT_EQ(found(spec, "pool", "GlobalMaxPooling2D"), "none");
}

TEST(Spec, MatchesWholeNamesByPatterns) {
  QuantizationSpec spec;
  spec.add("block[1-3]_add", {.is_regex = true});
  EXPECT_EQ(found(spec, "block2_add", "Add"), "block[1-3]_add");
  EXPECT_EQ(found(spec, "block2_add_1", "Add"), "none");
  EXPECT_EQ(found(spec, "my_block2_add", "Add"), "none");
  EXPECT_EQ(found(spec, "block4_add", "Add"), "none");
  // Names are not interpreted as patterns.
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

TEST(Spec, MovesTheEntriesOfATemporary) {
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

TEST(SpecConfig, RoundTrips) {
  for (const QuantizationSpec& spec : {of_every_kind(), QuantizationSpec()}) {
    EXPECT_EQ(spec_from_config(to_config(spec)), spec);
  }
}

TEST(SpecConfig, ContainsEveryPartOfAnEntry) {
  const Config config = to_config(of_every_kind());
  const Config& add = config.at("spec").as_list().at(1);
  EXPECT_EQ(add.at("name").as_string(), "Add");
  EXPECT_EQ(add.at("target").as_string(), "class");
  EXPECT_TRUE(add.at("quantize_input").as_bool());
  EXPECT_TRUE(add.at("quantize_weight").as_bool());
  EXPECT_EQ(add.at("quantization_index").as_list().at(0).as_int(), 1);
}

TEST(SpecConfig, HasDefaultsForMissingKeys) {
  const Config config =
      Config().set("spec", Config::List{Config().set("name", "conv1")});
  QuantizationSpec spec;
  spec.add("conv1");
  EXPECT_EQ(spec_from_config(config), spec);
}

/// Returns the failure of a spec with a good entry and this entry.
template <class E = ValueError>
Failure refusal(const Config& entry) {
  const Config config =
      Config().set("spec", Config::List{Config().set("name", "good"), entry});
  return failure_of<E>([&] { (void)spec_from_config(config); });
}

TEST(SpecConfig, RefusesABadEntryAndLocatesIt) {
  const auto with = [](std::string_view key, Config value) {
    return Config().set("name", "conv1").set(key, std::move(value));
  };
  const Failure target = refusal(with("target", "klass"));
  EXPECT_EQ(target, (Failure{"invalid_value", "spec entry"}));
  EXPECT_THAT(target.context,
              ElementsAre("at 'target'", "in entry 1 of the spec"));
  EXPECT_EQ(refusal(with("quantize_inputs", true)),
            (Failure{"unknown_option", "spec entry"}));
  for (const Config& other :
       {with("quantize_weight", 1), with("quantization_index", 1),
        with("quantization_index", Config::List{0.5}), Config().set("name", 3),
        Config("conv1")}) {
    EXPECT_THROW(
        (void)spec_from_config(Config().set("spec", Config::List{other})),
        ValueError);
  }
  EXPECT_EQ(refusal(with("quantization_index", Config::List{int64_t{1} << 40})),
            (Failure{"out_of_range", "spec entry"}));
  EXPECT_EQ(refusal(with("quantization_index", Config::List{1, 1})),
            (Failure{"invalid_value", "spec entry 'conv1'"}));
  EXPECT_EQ(refusal(with("target", "pattern").set("name", "*")),
            (Failure{"invalid_value", "regular expression"}));
  EXPECT_EQ(refusal(Config().set("name", "")),
            (Failure{"missing_value", "spec"}));
  EXPECT_THAT(refusal<NotFoundError>(Config().set("target", "layer")).context,
              ElementsAre("in entry 1 of the spec"));
}

TEST(SpecConfig, RefusesOtherConfigurations) {
  EXPECT_THROW((void)spec_from_config(Config::List{}), ValueError);
  EXPECT_THROW((void)spec_from_config(Config().set("spec", "conv1")),
               ValueError);
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)spec_from_config(to_config(of_every_kind()).set("spek", 1));
            }),
            (Failure{"unknown_option", "spec"}));
  EXPECT_THROW((void)spec_from_config(Config::Object()), NotFoundError);
}

}  // namespace
}  // namespace octet::quant
