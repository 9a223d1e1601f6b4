// Chart of a search.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/report.h>
#include <octet/layers/layers.h>

#include "../layers/support.h"

namespace octet::io {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

size_t occurrences(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != text.npos;
       at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

/// A search of three complete trials, the second beaten by the first.
quant::Optimized three_trials() {
  const SymbolicTensor x = input({2}, "x");
  quant::Optimized found{.model = Model(x, ReLU()(x))};
  const auto add = [&](double score, double latency, int64_t bytes) {
    found.trials.push_back({.recipe = {.float_layers = {"<a>"}},
                            .samples = 100,
                            .complete = true,
                            .score = score,
                            .drop = 0.9 - score,
                            .sqnr = 30,
                            .latency = latency,
                            .bytes = bytes});
  };
  add(0.88, 1.0, 1000);
  add(0.87, 1.1, 1000);
  add(0.89, 1.5, 2000);
  found.trials.push_back({.samples = 64, .sqnr = 20});
  found.selected = 2;
  found.goal = {.accuracy_drop = 0.01, .latency = 2};
  found.score_name = "accuracy";
  found.float_score = 0.9;
  found.float_latency = 3;
  return found;
}

TEST(TradeoffChart, ShowsCompleteTrialsAgainstLatencyAndSize) {
  const std::string svg = to_svg(three_trials());
  EXPECT_THAT(svg,
              AllOf(HasSubstr("latency in ms"), HasSubstr("file size in MB"),
                    HasSubstr("accuracy in %"), Not(HasSubstr("<a>"))));
  EXPECT_EQ(occurrences(svg, "class=\"selected\""), 2u);
  EXPECT_EQ(occurrences(svg, "class=\"front\""), 2u);
  EXPECT_EQ(occurrences(svg, "class=\"trial\""), 2u);
  EXPECT_EQ(occurrences(svg, "class=\"goal\""), 1u);
  EXPECT_EQ(occurrences(svg, "class=\"float\""), 1u);
}

TEST(TradeoffChart, OmitsCostsThatWereNotMeasured) {
  quant::Optimized found = three_trials();
  for (quant::OptimizeTrial& trial : found.trials) trial.latency = {};
  const std::string svg = to_svg(found);
  EXPECT_THAT(svg, Not(HasSubstr("latency in ms")));
  EXPECT_THAT(svg, HasSubstr("file size in MB"));
}

}  // namespace
}  // namespace octet::io
