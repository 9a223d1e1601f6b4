// Post-training methods as switches.
#pragma once

#include <vector>

#include <octet/quant/optimize.h>

#include "../common/command_line.h"
#include "calibration_options.h"

namespace octet::program {

struct RecipeSwitches {
  bool equalize = false;
  bool no_equalize = false;
  bool bias_correction = false;
  bool second_order = false;
  bool adaround = false;
  bool reconstruct = false;

  /// Whether any method is chosen.
  bool any() const {
    return equalize || bias_correction || second_order || adaround ||
           reconstruct;
  }
};

/// Adds the switches and returns their options. The rounding methods exclude
/// each other.
std::vector<Option> add_recipe_switches(Command& command,
                                        RecipeSwitches& switches);

/// Returns the recipe of the switches and the calibration method.
/// Throws: as check_method().
quant::Recipe recipe_of(const RecipeSwitches& switches,
                        const CalibrationChoice& calibration);

}  // namespace octet::program
