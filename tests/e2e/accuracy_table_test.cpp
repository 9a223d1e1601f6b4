// Accuracy gates of qat_accuracy.
#include "../../examples/qat_accuracy/accuracy_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/json.h>

namespace octet::program {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AccuracyTable table(const Accuracy& accuracy) {
  return {.columns = {"INT8"}, .rows = {{"net", {accuracy}}}};
}

TEST(AccuracyTable, ChecksTheMeanAgainstALowerGate) {
  const AccuracyTable met = table({.seeds = {90, 92}, .least = 91});
  EXPECT_THAT(met.missed(), IsEmpty());
  EXPECT_THAT(met.to_string(), HasSubstr("91.00 [90.00, 92.00] (>= 91.00)"));
  const AccuracyTable missed = table({.seeds = {90.5}, .least = 91});
  EXPECT_THAT(missed.missed(),
              ElementsAre(AllOf(HasSubstr("net, INT8"), HasSubstr("91.00"),
                                HasSubstr("90.50"))));
  EXPECT_THAT(missed.to_string(), HasSubstr("90.50 (MISSED, < 91.00)"));
}

// An upper gate shows that a variant fails.
TEST(AccuracyTable, ChecksTheMeanAgainstAnUpperGate) {
  const AccuracyTable met = table({.seeds = {80, 84}, .most = 82});
  EXPECT_THAT(met.missed(), IsEmpty());
  EXPECT_THAT(met.to_string(), HasSubstr("(<= 82.00)"));
  const AccuracyTable missed = table({.seeds = {83}, .most = 82});
  EXPECT_THAT(missed.missed(),
              ElementsAre(AllOf(HasSubstr("net, INT8"), HasSubstr("82.00"),
                                HasSubstr("83.00"))));
  EXPECT_THAT(missed.to_string(), HasSubstr("83.00 (MISSED, > 82.00)"));
}

TEST(AccuracyTable, OmitsColumnsThatWereNotMeasured) {
  AccuracyTable measured{.columns = {"FP32", "INT8"}};
  AccuracyRow row{"net"};
  row.add_seed(std::vector<std::optional<double>>{90.0, std::nullopt});
  row.accuracies[1].least = 99;
  measured.rows.push_back(row);
  EXPECT_THAT(measured.missed(), IsEmpty());
  EXPECT_THAT(io::to_json(measured.to_config()),
              ::testing::Not(HasSubstr("INT8")));
}

}  // namespace
}  // namespace octet::program
