// Parts of a report that no command produces.
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/report.h>

namespace octet::io {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportPage, ListsWeightsThatOscillate) {
  Report report{.title = "int4"};
  EXPECT_THAT(to_html(report), Not(HasSubstr("id=\"oscillations\"")));
  report.oscillations = {{.quantizer = "<conv>/kernel",
                          .weights = 400,
                          .oscillating = 50,
                          .frozen = 3}};
  EXPECT_THAT(to_html(report), AllOf(HasSubstr("id=\"oscillations\""),
                                     HasSubstr("&lt;conv&gt;/kernel"),
                                     HasSubstr("12.5 %"), HasSubstr("0.75 %")));
}

/// Report of a model with an accuracy of `percent`; 80 % is the reference's.
Report report_of(double percent) {
  return {.title = "a.onnx",
          .model = "a.onnx",
          .reference = "<b>.h5",
          .scores = {{"accuracy", percent / 100, 0.8, true}},
          .score_samples = 10000};
}

TEST(ReportPage, JudgesByAccuracy) {
  EXPECT_THAT(
      to_html(report_of(79.5)),
      HasSubstr("<p class=\"verdict good\"><b>Good:</b>a.onnx keeps the "
                "accuracy of &lt;b&gt;.h5: 79.50 % (-0.50 points) on 10,000 "
                "samples.</p>"));
  // 99 % and 97 % of 80 %.
  EXPECT_THAT(to_html(report_of(79.21)), HasSubstr("\"verdict good\""));
  EXPECT_THAT(to_html(report_of(79.19)),
              HasSubstr("\"verdict fair\"><b>Fair:</b>a.onnx loses 0.81 points "
                        "of accuracy: 79.19 % instead of 80.00 %"));
  EXPECT_THAT(to_html(report_of(77.61)), HasSubstr("\"verdict fair\""));
  EXPECT_THAT(to_html(report_of(77.59)), HasSubstr("\"verdict poor\""));
  EXPECT_THAT(to_html(report_of(NAN)), HasSubstr("\"verdict poor\""));
}

TEST(ReportPage, DoesNotJudgeByARandomGuess) {
  Report report = report_of(10);
  report.scores[0].reference = 0.1;
  report.confusion = train::ConfusionMatrix(10);
  EXPECT_THAT(to_html(report),
              AllOf(HasSubstr("\"verdict open\"><b>No verdict:</b>"),
                    HasSubstr("no better than a random guess")));
}

TEST(ReportPage, DoesNotJudgeByFewSamples) {
  Report report = report_of(80);
  report.score_samples = 29;
  EXPECT_THAT(to_html(report), AllOf(HasSubstr("\"verdict open\""),
                                     HasSubstr("29 samples, too few")));
  report.score_samples = 30;
  EXPECT_THAT(to_html(report), HasSubstr("\"verdict good\""));
}

TEST(ReportPage, DoesNotPraiseNanOutputs) {
  Report report = report_of(80);
  report.scores.push_back({"loss", NAN, NAN});
  EXPECT_THAT(to_html(report), AllOf(HasSubstr("\"verdict poor\""),
                                     HasSubstr("; the loss is nan")));
}

TEST(ReportPage, JudgesByOutputsWithoutLabels) {
  Report report{.title = "a.onnx", .model = "a.onnx"};
  EXPECT_THAT(to_html(report), HasSubstr("compared with no other model"));
  report.comparison = ModelComparison{.samples = 64, .agreement = 0.98};
  EXPECT_THAT(
      to_html(report),
      HasSubstr("\"verdict fair\"><b>Fair:</b>a.onnx agrees with "
                "reference in 98.00 % of the predictions on 64 samples"));
  report.comparison->agreement.reset();
  ValueDifference output{.name = "y", .op = "Dense", .is_output = true};
  for (const auto& [noise, level] :
       {std::pair{0.0009, "good"}, {0.0011, "fair"}, {0.011, "poor"}}) {
    output.noise = noise;
    report.comparison->values = {output};
    EXPECT_THAT(to_html(report),
                HasSubstr(fmt::format("\"verdict {}\"", level)))
        << noise;
  }
}

TEST(ReportPage, LintFindingsReduceTheVerdict) {
  Report report = report_of(80);
  report.lint = LintReport{};
  EXPECT_THAT(to_html(report), HasSubstr("; 0 errors and 0 warnings of lint"));
  report.lint->findings = {{"E01", LintSeverity::warning, "", "", ""}};
  EXPECT_THAT(to_html(report), HasSubstr("\"verdict fair\""));
  report.lint->findings.push_back({"E01", LintSeverity::error, "", "", ""});
  EXPECT_THAT(to_html(report), AllOf(HasSubstr("\"verdict poor\""),
                                     HasSubstr("1 error and 1 warning")));
}

TEST(ReportPage, ComparesSpeedPerSample) {
  Report report = report_of(80);
  report.speeds = {
      {.name = "a", .batch = 2, .median_ms = 1, .weight_bytes = 1},
      {.name = "b", .batch = 1, .median_ms = 1, .weight_bytes = 4}};
  EXPECT_THAT(to_html(report),
              HasSubstr("; 2.00x as fast, weights 4.0x smaller."));
}

TEST(ReportPage, ChartsOfDegenerateDataHaveNoNan) {
  Report report{.title = "odd"};
  report.curves = {{"loss", {NAN, NAN}}, {"accuracy", {0.5}}};
  report.activations = {{.name = "zero", .codes = "", .bins = {0, 0}},
                        {.name = "one",
                         .codes = "",
                         .lowest = 0,
                         .highest = 1e-30,
                         .clip_low = -1e-30,
                         .clip_high = 1e-30,
                         .bins = {1, 3}}};
  report.comparison =
      ModelComparison{.samples = 3, .values = {{"same", "ReLU"}}};
  const std::string html = to_html(report);
  EXPECT_THAT(html.substr(html.find("<main>")),
              AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf,")),
                    HasSubstr("epoch"), HasSubstr("count (log scale)")));
}

TEST(ReportPage, DoesWithoutAPictureOfTooManyLongEdges) {
  Report report{.title = "skips", .graph = Drawing()};
  constexpr size_t kNodes = 1000;
  report.graph->boxes.resize(kNodes, {.layers = {{"a", "ReLU", ""}}});
  for (size_t i = 1; i < kNodes; ++i) {
    report.graph->edges.push_back({.from = i - 1, .to = i});
    report.graph->edges.push_back({.from = 0, .to = i});
  }
  EXPECT_THAT(to_html(report), HasSubstr("octet graph --dot"));
}

}  // namespace
}  // namespace octet::io
