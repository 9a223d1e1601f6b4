// Goals of octet optimize: numbers with units.
#pragma once

#include <string>

#include <octet/quant/optimize.h>

#include "../common/command_line.h"

namespace octet::program {

struct GoalOptions {
  std::string accuracy_drop;  // "": 0.5%
  double min_sqnr = 30;
  std::string latency;  // "2ms"
  std::string size;     // "1.5MB"
  std::string time_budget = "30m";
};

void add_goal_options(Command& command, GoalOptions& options);

/// Returns the goal of the options.
/// Throws: ValueError that names the option for an invalid value, such as 0 ms
/// or a drop of 200 %.
quant::OptimizeGoal goal_of(const GoalOptions& options);
/// Returns --time-budget in seconds. Throws: as goal_of().
double seconds_of(const GoalOptions& options);

}  // namespace octet::program
