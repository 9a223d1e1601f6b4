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

}  // namespace
}  // namespace octet::io
