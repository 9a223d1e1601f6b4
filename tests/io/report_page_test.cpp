// Parts of a report that no command produces.
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
