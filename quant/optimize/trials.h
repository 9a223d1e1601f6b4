// Order of trials and their distance from a goal. Internal to quant.
#pragma once

#include <string>

#include <octet/quant/optimize.h>

namespace octet::quant {

/// Returns whether a trial misses the latency or size of the goal. A value that
/// was not measured misses.
bool misses_cost(const OptimizeTrial& trial, const OptimizeGoal& goal);

/// Returns whether the outputs of a trial are as good as the goal requires.
bool has_quality(const OptimizeTrial& trial, const OptimizeGoal& goal);

/// Returns whether `a` is closer to the goal than `b`. Compares, in this order:
/// completeness on all samples, the whole goal, latency and size, the drop of
/// the score, the output SQNR.
bool is_closer(const OptimizeTrial& a, const OptimizeTrial& b,
               const OptimizeGoal& goal);

/// Describes how a trial misses the goal; empty if it meets the goal.
std::string shortfall_of(const OptimizeTrial& trial, const OptimizeGoal& goal,
                         const std::string& score_name);

}  // namespace octet::quant
