// Rows 1 to 41 of the toolkit's placement tests. toolkit_rows.h has rows with
// counts, which tests/io checks in exported files.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"
#include "toolkit_rows.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

Positions positions_of(const QdqPlan& plan) {
  Positions result;
  for (const QdqPoint& point : plan.points) {
    result[point.layer].push_back(to_string(point.site));
  }
  return result;
}

/// The rows of a network, which is created once.
void expect_rows(const std::vector<ToolkitRow>& rows,
                 const std::string& network) {
  const Model model = toolkit_network(network);
  int checked = 0;
  for (const ToolkitRow& row : rows) {
    if (row.network != network) continue;
    SCOPED_TRACE(fmt::format("row {}: {}", row.row, network));
    const WarningCapture warnings;
    const QdqPlan plan = plan_for(model, row.options);
    EXPECT_EQ(positions_of(plan), row.positions(model));
    const PairCount count = count_pairs(plan, model);
    EXPECT_EQ(count, row.pairs()) << count.to_string();
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

class ToolkitRows : public ::testing::TestWithParam<std::string> {};
class ToolkitFamilies : public ::testing::TestWithParam<std::string> {};

TEST_P(ToolkitRows, MatchTheTable) {
  expect_rows(toolkit_rows_of_small_networks(), GetParam());
}

TEST_P(ToolkitFamilies, MatchTheTable) {
  expect_rows(toolkit_rows_of_families(), GetParam());
}

ToolkitRow row_of(const std::string& number) {
  for (const ToolkitRow& row : toolkit_rows_of_small_networks()) {
    if (row.row == number) return row;
  }
  throw NotFoundError("unknown_name", number, "no such row");
}

std::vector<std::string> networks_of(const std::vector<ToolkitRow>& rows) {
  std::set<std::string> names;
  for (const ToolkitRow& row : rows) names.insert(row.network);
  return {names.begin(), names.end()};
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Quant, ToolkitRows,
    ::testing::ValuesIn(networks_of(toolkit_rows_of_small_networks())),
    test_name);
INSTANTIATE_TEST_SUITE_P(
    Quant, ToolkitFamilies,
    ::testing::ValuesIn(networks_of(toolkit_rows_of_families())), test_name);

/// The entries of a case as Expected; they name layers, without weights.
std::vector<Expected> entries_of(const InsertionCase& insertion_case,
                                 const Model& model) {
  std::vector<Expected> result;
  for (const SpecEntry& entry : insertion_case->case_(model, {}).entries()) {
    EXPECT_EQ(entry.target, SpecTarget::layer);
    EXPECT_TRUE(entry.request.quantize_input);
    EXPECT_FALSE(entry.request.quantize_weight);
    Expected wanted{entry.name, {}};
    for (const int index : entry.request.quantization_index) {
      wanted.sites.push_back(to_string(QdqSite::input(index)));
    }
    result.push_back(wanted);
  }
  return result;
}

int64_t count_of_class(const std::vector<Expected>& entries, const Model& model,
                       std::string_view class_name) {
  return std::ranges::count_if(entries, [&](const Expected& entry) {
    return model.layer(entry.layer_or_class).class_name() == class_name;
  });
}

QuantizeOptions strictly(QuantizeOptions options) {
  options.toolkit.strict = true;
  return options;
}

TEST_P(ToolkitRows, AreTheSameUnderStrictRules) {
  const Model model = toolkit_network(GetParam());
  for (const ToolkitRow& row : toolkit_rows_of_small_networks()) {
    if (row.network != GetParam()) continue;
    SCOPED_TRACE(fmt::format("row {}: {}", row.row, row.network));
    const WarningCapture warnings;
    const QdqPlan plan = plan_for(model, strictly(row.options));
    EXPECT_EQ(positions_of(plan), row.positions(model));
  }
}

/// A request with a deliberately different result than the toolkit's.
struct Difference {
  const char* request;
  QuantizeOptions options;
  Count toolkit;
  Count octet;
};

// Source: a run of tensorflow-quantization 0.2.0 on TensorFlow 2.8.0.
TEST(ToolkitTable, StrictRulesAreTheToolkits) {
  const Model model = zoo::frodo();
  const auto classes = [](const std::string& name, SpecOptions options) {
    options.is_keras_class = true;
    return spec_of(name, options);
  };
  const std::vector<Difference> differences{
      {"full, class Conv2D with both flags off",
       table::full(classes(
           "Conv2D", {.quantize_input = false, .quantize_weight = false})),
       {9, 9, 17},
       {2, 2, 4}},
      {"partial, class Conv2D without its weights",
       table::partial(classes("Conv2D", {.quantize_weight = false})),
       {7, 7, 13},
       {7, 0, 6}},
      {"full, class Add and a case that names the Adds",
       table::full(classes("Add", {}), {ResNetV1QDQCase()}),
       {11, 9, 18},
       {13, 9, 20}}};
  const auto counted = [&](const QuantizeOptions& options) {
    return count_pairs(plan_for(model, options), model);
  };
  for (const Difference& d : differences) {
    SCOPED_TRACE(d.request);
    const auto expected = [](const Count& c) {
      return PairCount{c.activations, c.weights, c.shared};
    };
    EXPECT_EQ(counted(strictly(d.options)), expected(d.toolkit));
    EXPECT_EQ(counted(d.options), expected(d.octet));
  }
}

// A case that ignores the user's spec, unlike the library's.
class NamesConv final : public CustomQDQInsertionCase {
 public:
  explicit NamesConv(bool weights) : weights_(weights) {}
  std::string name() const override { return "NamesConv"; }
  QuantizationSpec case_(const Model&, const QuantizationSpec&) const override {
    return spec_of("conv2d", {.quantize_weight = weights_});
  }

 private:
  bool weights_;
};

TEST(ToolkitTable, StrictRulesPreferNamesOfLaterCases) {
  const Model model = zoo::frodo();
  QuantizationSpec spec = spec_of("conv2d", {.quantize_input = false});
  spec.add("conv2d_1", {.quantize_input = false});
  const QuantizeOptions options = table::full(
      spec,
      {std::make_shared<NamesConv>(true), std::make_shared<NamesConv>(false)});
  using Sites = std::vector<std::string>;
  const auto sites = [&](const QuantizeOptions& o, const std::string& layer) {
    return positions_of(plan_for(model, o))[layer];
  };
  EXPECT_EQ(sites(options, "conv2d"), Sites{"kernel"});
  EXPECT_EQ(sites(strictly(options), "conv2d"), Sites{"input 0"});
  EXPECT_EQ(sites(strictly(options), "conv2d_1"), Sites{"kernel"});
}

TEST(ToolkitTable, StrictRulesKeepErrorsAndNeedTheToolkitPolicy) {
  const Model model = zoo::frodo();
  EXPECT_THROW((void)place(model, strictly(table::full(spec_of("conv")))),
               NotFoundError);
  EXPECT_THROW((void)place(model, strictly(table::full(spec_of(
                                      "add", {.quantization_index = {2}})))),
               ValueError);
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)place(model, {.toolkit = {.strict = true}}); }),
            (Failure{"conflicting_options", "quantize_model"}));
}

TEST(ToolkitTable, Row29TheCaseNamesBothAddsOfPippin) {
  EXPECT_THAT(entries_of(ResNetV1QDQCase(), zoo::pippin()),
              ElementsAre(Expected{"add", {"input 1"}},
                          Expected{"add_1", {"input 1"}}));
}

TEST(ToolkitTable, Row30TheCaseNamesTheAddsOfResNet50) {
  const Model model = toolkit_network("resnet50");
  EXPECT_THAT(entries_of(ResNetV1QDQCase(), model),
              ElementsAreArray(table::adds(table::kBlocks50, "add")));
}

// The toolkit's assertion on indices looks for names with "add", which this
// network's Adds lack.
TEST(ToolkitTable, Row33TheCaseNamesAddsNormsAndPoolsOfResNet50V2) {
  const Model model = toolkit_network("resnet50_v2");
  std::vector<Expected> entries = entries_of(ResNetV2QDQCase(), model);
  ASSERT_EQ(entries.size(), 37u);
  EXPECT_EQ(count_of_class(entries, model, "BatchNormalization"), 17);
  EXPECT_EQ(count_of_class(entries, model, "MaxPooling2D"), 4);
  entries.resize(16);
  EXPECT_THAT(entries, ElementsAreArray(table::adds(table::kBlocks50, "out")));
}

TEST(ToolkitTable, Row20IsAnErrorOrAWarning) {
  const Model model = zoo::pippin();
  QuantizeOptions options = row_of("20").options;
  const WarningCapture warnings;
  (void)place(model, options);
  ASSERT_THAT(warnings.messages,
              ElementsAre(Failure{"unknown_name", "user spec"}));
  EXPECT_EQ(quoted_names(warnings.messages[0].text()).at(0), "wrong_layer");
  options.on_unknown = OnUnknown::error;
  EXPECT_EQ(failure_of<NotFoundError>([&] { (void)place(model, options); }),
            (Failure{"unknown_name", "user spec"}));
}

TEST(ToolkitTable, Row21IsAnErrorOrAWarning) {
  const Model model = zoo::pippin();
  QuantizeOptions options = row_of("21").options;
  const WarningCapture warnings;
  (void)place(model, options);
  EXPECT_THAT(warnings.messages,
              ElementsAre(Failure{"out_of_range", "user spec"}));
  options.on_unknown = OnUnknown::error;
  EXPECT_EQ(failure_of<ValueError>([&] { (void)place(model, options); }),
            (Failure{"out_of_range", "user spec"}));
}

}  // namespace
}  // namespace octet::quant
