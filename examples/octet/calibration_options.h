// How ranges are found, as the commands that calibrate are told.
#pragma once

#include <cstdint>
#include <string>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

#include "../command_line.h"

namespace octet::program {

struct CalibrationChoice {
  std::string method = "auto";
  double percentile = 99.99;
  int64_t samples = 0;  // 0: all
};

/// --method, --percentile and --samples. Returns --method.
Option add_calibration_options(Command& command, CalibrationChoice& choice);

/// Throws: ValueError for a method that there is not; UnsupportedError for a
/// percentile of another.
void check_method(const CalibrationChoice& choice);

/// Calibrates; weights of fewer bits get scales of least square error. Returns
/// how good the scales are, as text. Throws: as check_method() and
/// quant::calibrate_auto().
std::string calibrate(Model& int8, const Dataset& data,
                      const CalibrationChoice& choice, bool few_bits);

}  // namespace octet::program
