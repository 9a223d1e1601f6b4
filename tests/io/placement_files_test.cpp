#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/json.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/file.h>

#include "support.h"

namespace octet::io {
namespace {

using quant::QdqPlan;
using quant::QuantizationSpec;

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
Failure spec_refusal(const std::string& text) {
  const TempFolder folder;
  write_file(folder / "spec.json", text);
  return failure_of<Error>([&] { (void)load_spec(folder / "spec.json"); });
}

/// Returns load_plan()'s error for the saved plan with `from` replaced by `to`.
Failure plan_refusal(const std::string& from, const std::string& to) {
  const TempFolder folder;
  save_plan(a_plan(), folder / "plan.json");
  std::string text = read_file(folder / "plan.json");
  const size_t at = text.find(from);
  if (at == text.npos) return {"no such text", from};
  write_file(folder / "plan.json", text.replace(at, from.size(), to));
  return failure_of<Error>([&] { (void)load_plan(folder / "plan.json"); });
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
  EXPECT_EQ(spec_refusal("{\"spec\": [\n  {\"name\" \"conv1\"}]}"),
            (Failure{"malformed_file", "JSON"}));
  EXPECT_EQ(spec_refusal("words"), (Failure{"malformed_file", "JSON"}));
  EXPECT_EQ(spec_refusal("{\"spec\": []} more"),
            (Failure{"malformed_file", "JSON"}));
}

TEST(SpecFile, ReportsTheEntryAndTheKey) {
  EXPECT_EQ(spec_refusal(R"({"spec": [{"name": "a"},
                               {"name": "b", "quantize_input": "no"}]})"),
            (Failure{"invalid_value", "configuration"}));
  EXPECT_EQ(spec_refusal(R"({"spec": [{"name": "a", "target": "layers"}]})"),
            (Failure{"invalid_value", "spec entry"}));
  EXPECT_EQ(spec_refusal(R"({"spec": [{"name": "a", "quantise": true}]})"),
            (Failure{"unknown_option", "spec entry"}));
  EXPECT_EQ(
      spec_refusal(R"({"spec": [{"name": "a", "quantization_index": [-1]}]})"),
      (Failure{"out_of_range", "spec entry"}));
  EXPECT_EQ(spec_refusal(R"({"spec": [{"target": "class"}]})"),
            (Failure{"unknown_name", "configuration"}));
  EXPECT_EQ(spec_refusal(R"({"spec": [{"name": "(", "target": "pattern"}]})"),
            (Failure{"invalid_value", "regular expression"}));
}

TEST(SpecFile, RejectsOtherDocuments) {
  EXPECT_EQ(spec_refusal("[]"), (Failure{"invalid_value", "configuration"}));
  EXPECT_EQ(spec_refusal("{\"plan\": []}"),
            (Failure{"unknown_name", "configuration"}));
  EXPECT_EQ(spec_refusal("{\"spec\": {}}"),
            (Failure{"invalid_value", "configuration"}));
  EXPECT_EQ(spec_refusal("{\"spec\": [3]}"),
            (Failure{"invalid_value", "configuration"}));
}

TEST(SpecFile, NamesAMissingOrTooLargeFile) {
  const TempFolder folder;
  EXPECT_EQ(failure_of<IoError>([&] { (void)load_spec(folder / "none.json"); }),
            (Failure{"file_not_found", (folder / "none.json").string()}));
  write_file(folder / "large.json", std::string((16 << 20) + 1, ' '));
  EXPECT_EQ(
      failure_of<IoError>([&] { (void)load_spec(folder / "large.json"); }),
      (Failure{"size_limit", (folder / "large.json").string()}));
  EXPECT_EQ(failure_of<IoError>([&] { (void)load_spec(folder.path()); }),
            (Failure{"unsupported_format", folder.path().string()}));
}

TEST(SpecFile, KeepsTheOldFileWhenANameIsNotUtf8) {
  const TempFolder folder;
  save_spec(a_spec(), folder / "spec.json");
  QuantizationSpec other;
  other.add("conv\xff");
  EXPECT_EQ(
      failure_of<ValueError>([&] { save_spec(other, folder / "spec.json"); }),
      (Failure{"invalid_value", "JSON"}));
  EXPECT_EQ(load_spec(folder / "spec.json"), a_spec());
}

TEST(SpecFile, ReportsAnUnwritablePath) {
  const TempFolder folder;
  EXPECT_EQ(failure_of<IoError>(
                [&] { save_spec(a_spec(), folder / "none/spec.json"); }),
            (Failure{"file_not_found", (folder / "none/spec.json").string()}));
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
  EXPECT_EQ(plan_refusal("\"bits\": 8", "\"bits\": 9"),
            (Failure{"out_of_range", "plan point"}));
  EXPECT_EQ(plan_refusal("\"weight\"", "\"weights\""),
            (Failure{"invalid_value", "plan point"}));
  EXPECT_EQ(plan_refusal("\"index\": 0", "\"index\": -1"),
            (Failure{"out_of_range", "plan point"}));
  EXPECT_EQ(plan_refusal("\"scale\": \"live\"", "\"scale\": \"alive\""),
            (Failure{"invalid_value", "scale rule"}));
  EXPECT_EQ(plan_refusal("\"group\"", "\"groups\""),
            (Failure{"unknown_name", "configuration"}));
  EXPECT_EQ(plan_refusal("\"bits\": 8", "\"bits\": 8, \"zero_point\": 3"),
            (Failure{"out_of_range", "plan point"}));
  EXPECT_EQ(plan_refusal("\"per_channel\": false", "\"per_channel\": 0"),
            (Failure{"invalid_value", "configuration"}));
}

TEST(PlanFile, IsNotConfusedWithASpec) {
  const TempFolder folder;
  save_plan(a_plan(), folder / "plan.json");
  save_spec(a_spec(), folder / "spec.json");
  EXPECT_TRUE(failed(
      failure_of<Error>([&] { (void)load_spec(folder / "plan.json"); })));
  EXPECT_TRUE(failed(
      failure_of<Error>([&] { (void)load_plan(folder / "spec.json"); })));
}

}  // namespace
}  // namespace octet::io
