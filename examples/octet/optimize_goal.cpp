#include "optimize_goal.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/error.h>

namespace octet::program {
namespace {

/// Units by lowercase name, with their factors.
using Units = std::vector<std::pair<std::string_view, double>>;

/// Parses a positive number with a unit. `plain` is the factor of a number
/// without a unit, empty if a unit is required.
double quantity(const char* option, const std::string& text, const Units& units,
                std::optional<double> plain) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  std::string unit(rest, end);
  unit.erase(0, unit.find_first_not_of(' '));
  for (char& c : unit) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  std::optional<double> factor;
  if (unit.empty()) factor = plain;
  std::vector<std::string_view> names;
  for (const auto& [name, value] : units) {
    if (name == unit) factor = value;
    names.push_back(name);
  }
  if (error != std::errc() || !factor) {
    throw ValueError("invalid_value", option,
                     fmt::format("must be a number with a unit ({}), got '{}'",
                                 fmt::join(names, ", "), text));
  }
  if (!(number > 0) || !std::isfinite(number * *factor)) {
    throw ValueError("out_of_range", option,
                     fmt::format("must be positive, got '{}'", text));
  }
  return number * *factor;
}

double drop_of(const std::string& text) {
  constexpr const char* kOption = "--accuracy-drop";
  constexpr double kLargestShare = 0.1;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  std::string unit(rest, end);
  unit.erase(0, unit.find_first_not_of(' '));
  if (error != std::errc() || (unit != "%" && !unit.empty())) {
    throw ValueError(
        "invalid_value", kOption,
        fmt::format("must be points of accuracy such as 0.5%, got '{}'", text));
  }
  if (unit.empty() && number >= kLargestShare) {
    throw ValueError(
        "ambiguous_value", kOption,
        fmt::format("{0} means {0}% or a share of {0}. Hint: write {0}%",
                    text));
  }
  const double drop = unit.empty() ? number : number / 100;
  if (!(drop >= 0 && drop < 1)) {
    throw ValueError(
        "out_of_range", kOption,
        fmt::format("must be from 0% to below 100%, got '{}'", text));
  }
  return drop;
}

}  // namespace

void add_goal_options(Command& command, GoalOptions& o) {
  command.begin_group("Goal");
  command
      .add("--accuracy-drop", o.accuracy_drop,
           "largest drop of accuracy in points; without labels, largest share "
           "of samples whose class changes (default: 0.5%)")
      .type("POINTS%");
  command
      .add("--min-sqnr", o.min_sqnr, -100, 300,
           "least output SQNR in dB, for models without classes")
      .show_default();
  command
      .add("--latency", o.latency,
           "largest latency of one sample, measured with an inference session "
           "on this machine")
      .type("MS");
  command.add("--size", o.size, "largest size of the file").type("MB");
  command
      .add("--time-budget", o.time_budget,
           "time after which no further recipe is tried")
      .type("30m|2h|90s")
      .show_default();
}

quant::OptimizeGoal goal_of(const GoalOptions& o) {
  quant::OptimizeGoal goal{.min_sqnr = o.min_sqnr};
  if (!o.accuracy_drop.empty()) goal.accuracy_drop = drop_of(o.accuracy_drop);
  if (!o.latency.empty()) {
    goal.latency = quantity("--latency", o.latency,
                            {{"ms", 1}, {"us", 1e-3}, {"s", 1e3}}, 1);
  }
  if (!o.size.empty()) {
    goal.bytes = static_cast<int64_t>(quantity("--size", o.size,
                                               {{"mb", 1e6},
                                                {"kb", 1e3},
                                                {"mib", 1048576},
                                                {"kib", 1024},
                                                {"gb", 1e9}},
                                               1e6));
    if (*goal.bytes < 1) {
      throw ValueError(
          "out_of_range", "--size",
          fmt::format("must be at least a byte, got '{}'", o.size));
    }
  }
  return goal;
}

double seconds_of(const GoalOptions& o) {
  return quantity("--time-budget", o.time_budget,
                  {{"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}}, {});
}

}  // namespace octet::program
