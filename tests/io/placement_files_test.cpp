#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/placement_files.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/file.h>

#include "support.h"

namespace octet::io {
namespace {

using quant::QdqPlan;
using quant::QuantizationSpec;
using ::testing::AllOf;
using ::testing::HasSubstr;

QuantizationSpec a_spec() {
  QuantizationSpec spec;
  spec.add("conv1", {.quantize_weight = false});
  spec.add("add", {.quantize_input = true, .quantization_index = {1, 0}});
  spec.add("block_[0-9]+\\.\"x\"", {.is_regex = true, .quantize_input = false});
  spec.add("MaxPooling2D", {.is_keras_class = true});
  return spec;
}

Model a_model() {
  const SymbolicTensor image = input({6, 5, 3}, "image");
  const SymbolicTensor a =
      Conv2D({.filters = 3, .padding = Padding::same, .name = "a"})(image);
  const SymbolicTensor sum = Add({.name = "add"})({a, image});
  return Model(image, Dense({.units = 2, .name = "b"})(Flatten()(sum)),
               {.name = "small"});
}

QdqPlan a_plan() {
  QuantizationSpec spec;
  spec.add("add", {.quantization_index = {1}});
  return quant::place(a_model(),
                      {.spec = spec, .policy = quant::Policy::toolkit})
      .plan;
}

/// Returns load_spec()'s error for a file with this text.
std::string spec_refusal(const std::string& text) {
  const TempFolder folder;
  write_file(folder / "spec.json", text);
  return error_of<Error>([&] { (void)load_spec(folder / "spec.json"); });
}

/// Returns load_plan()'s error for the saved plan with `from` replaced by `to`.
std::string plan_refusal(const std::string& from, const std::string& to) {
  const TempFolder folder;
  save_plan(a_plan(), folder / "plan.json");
  std::string text = read_file(folder / "plan.json");
  const size_t at = text.find(from);
  if (at == text.npos) return "the test's text is not there: " + from;
  write_file(folder / "plan.json", text.replace(at, from.size(), to));
  return error_of<Error>([&] { (void)load_plan(folder / "plan.json"); });
}

TEST(SpecFile, RoundTrips) {
  const TempFolder folder;
  save_spec(a_spec(), folder / "spec.json");
  EXPECT_EQ(load_spec(folder / "spec.json"), a_spec());
  save_spec({}, folder / "spec.json");
  EXPECT_TRUE(load_spec(folder / "spec.json").empty());
}

TEST(SpecFile, IsEasyToWriteByHand) {
  const TempFolder folder;
  write_file(folder / "spec.json",
             R"({"spec": [{"name": "conv1", "quantize_weight": false},
                          {"name": "Add", "target": "class",
                           "quantization_index": [0]}]})");
  QuantizationSpec expected;
  expected.add("conv1", {.quantize_weight = false});
  expected.add("Add", {.is_keras_class = true, .quantization_index = {0}});
  EXPECT_EQ(load_spec(folder / "spec.json"), expected);
}

TEST(SpecFile, ReportsLineAndColumnOfInvalidJson) {
  EXPECT_THAT(
      spec_refusal("{\"spec\": [\n  {\"name\" \"conv1\"}]}"),
      AllOf(HasSubstr("JSON, line 2, column 17"), HasSubstr("spec.json'")));
  EXPECT_THAT(spec_refusal("words"), HasSubstr("JSON, line 1"));
  EXPECT_THAT(spec_refusal("{\"spec\": []} more"), HasSubstr("JSON, line 1"));
}

TEST(SpecFile, ReportsTheEntryAndTheKey) {
  EXPECT_THAT(
      spec_refusal(R"({"spec": [{"name": "a"},
                               {"name": "b", "quantize_input": "no"}]})"),
      AllOf(HasSubstr("expected a boolean, got a string"),
            HasSubstr("at 'quantize_input'"),
            HasSubstr("in entry 1 of the spec"), HasSubstr("spec.json'")));
  EXPECT_THAT(spec_refusal(R"({"spec": [{"name": "a", "target": "layers"}]})"),
              AllOf(HasSubstr("expected layer, pattern or class, got 'layers'"),
                    HasSubstr("at 'target'")));
  EXPECT_THAT(spec_refusal(R"({"spec": [{"name": "a", "quantise": true}]})"),
              HasSubstr("at 'quantise'"));
  EXPECT_THAT(
      spec_refusal(R"({"spec": [{"name": "a", "quantization_index": [-1]}]})"),
      HasSubstr("expected indices in [0,1048576], got -1"));
  EXPECT_THAT(spec_refusal(R"({"spec": [{"target": "class"}]})"),
              HasSubstr("expected an entry 'name'"));
  EXPECT_THAT(spec_refusal(R"({"spec": [{"name": "(", "target": "pattern"}]})"),
              AllOf(HasSubstr("expected a regular expression, got '('"),
                    HasSubstr("in entry 0 of the spec")));
}

TEST(SpecFile, RejectsOtherDocuments) {
  EXPECT_THAT(spec_refusal("[]"), HasSubstr("expected an object, got a list"));
  EXPECT_THAT(spec_refusal("{\"plan\": []}"),
              HasSubstr("expected an entry 'spec'"));
  EXPECT_THAT(spec_refusal("{\"spec\": {}}"),
              HasSubstr("expected a list, got an object"));
  EXPECT_THAT(spec_refusal("{\"spec\": [3]}"),
              HasSubstr("in entry 0 of the spec"));
}

TEST(SpecFile, NamesAMissingOrTooLargeFile) {
  const TempFolder folder;
  EXPECT_THAT(error_of<IoError>([&] { (void)load_spec(folder / "none.json"); }),
              HasSubstr("none.json: cannot open"));
  write_file(folder / "large.json", std::string((16 << 20) + 1, ' '));
  EXPECT_THAT(
      error_of<IoError>([&] { (void)load_spec(folder / "large.json"); }),
      HasSubstr("large.json"));
  EXPECT_THAT(error_of<IoError>([&] { (void)load_spec(folder.path()); }),
              HasSubstr("got a folder"));
}

TEST(SpecFile, KeepsTheOldFileWhenANameIsNotUtf8) {
  const TempFolder folder;
  save_spec(a_spec(), folder / "spec.json");
  QuantizationSpec other;
  other.add("conv\xff");
  EXPECT_THAT(
      error_of<ValueError>([&] { save_spec(other, folder / "spec.json"); }),
      AllOf(HasSubstr("UTF-8"), HasSubstr("spec.json'")));
  EXPECT_EQ(load_spec(folder / "spec.json"), a_spec());
}

TEST(SpecFile, ReportsAnUnwritablePath) {
  const TempFolder folder;
  EXPECT_THAT(error_of<IoError>(
                  [&] { save_spec(a_spec(), folder / "none/spec.json"); }),
              HasSubstr("none/spec.json"));
  EXPECT_TRUE(folder.empty());
}

TEST(PlanFile, RoundTrips) {
  const TempFolder folder;
  QdqPlan plan = a_plan();
  plan.points[0].site = quant::QdqSite::output();
  plan.points[1].config = {.bits = 4,
                           .narrow_range = true,
                           .per_channel = true,
                           .rule = quant::ScaleRule::live};
  plan.points[2].reason = "\"quoted\", a \\ and \xC3\xA4\n";
  save_plan(plan, folder / "plan.json");
  EXPECT_EQ(load_plan(folder / "plan.json"), plan);
}

TEST(PlanFile, QuantizesAModelAsThePlanItself) {
  const TempFolder folder;
  const Model model = a_model();
  save_plan(a_plan(), folder / "plan.json");
  const Model quantized = quant::apply(load_plan(folder / "plan.json"), model);
  EXPECT_EQ(quant::plan_of(quantized), a_plan());
  EXPECT_EQ(quant::quantizers(quantized).size(), 4u);  // one shared
}

TEST(PlanFile, ReportsThePointAndTheKey) {
  EXPECT_THAT(plan_refusal("\"bits\": 8", "\"bits\": 9"),
              AllOf(HasSubstr("expected an integer in [2,8], got 9"),
                    HasSubstr("at 'bits'"), HasSubstr("in point 0 of the plan"),
                    HasSubstr("plan.json'")));
  EXPECT_THAT(plan_refusal("\"weight\"", "\"weights\""),
              AllOf(HasSubstr("expected input, inner, weight or output"),
                    HasSubstr("at 'site'"), HasSubstr("in point 1")));
  EXPECT_THAT(plan_refusal("\"index\": 0", "\"index\": -1"),
              HasSubstr("at 'index'"));
  EXPECT_THAT(
      plan_refusal("\"scale\": \"live\"", "\"scale\": \"alive\""),
      HasSubstr(
          "expected fixed, live, ema, last_value, learned (LSQ), learned_log2 "
          "(TQT) or learned_clip (PACT), got 'alive'"));
  EXPECT_THAT(plan_refusal("\"group\"", "\"groups\""),
              HasSubstr("expected an entry 'group'"));
  EXPECT_THAT(plan_refusal("\"bits\": 8", "\"bits\": 8, \"zero_point\": 3"),
              AllOf(HasSubstr("expected an integer in [0,0], got 3"),
                    HasSubstr("at 'zero_point'"), HasSubstr("in point 0")));
  EXPECT_THAT(plan_refusal("\"per_channel\": false", "\"per_channel\": 0"),
              HasSubstr("expected a boolean, got an integer"));
}

TEST(PlanFile, IsNotConfusedWithASpec) {
  const TempFolder folder;
  save_plan(a_plan(), folder / "plan.json");
  save_spec(a_spec(), folder / "spec.json");
  EXPECT_NE(error_of<Error>([&] { (void)load_spec(folder / "plan.json"); }),
            "");
  EXPECT_NE(error_of<Error>([&] { (void)load_plan(folder / "spec.json"); }),
            "");
}

}  // namespace
}  // namespace octet::io
