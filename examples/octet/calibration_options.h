// How ranges are found, as the commands that calibrate are told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/unusual_samples.h>
#include <octet/runtime/dataset.h>

#include "../command_line.h"

namespace octet::program {

struct CalibrationChoice {
  std::string method = "auto";
  double percentile = 99.99;
  int64_t samples = 0;   // 0: all
  bool checked = false;  // unusual samples were separated, or are to be kept
};

/// --method, --percentile and --samples. Returns --method.
Option add_calibration_options(Command& command, CalibrationChoice& choice);

/// Throws: ValueError for a method that there is not; UnsupportedError for a
/// percentile of another.
void check_method(const CalibrationChoice& choice);

/// The samples that --samples chooses, without unusual ones, which a warning
/// names by their position and file; `files` are the files of all samples, or
/// empty. The choice is then `checked`. Throws: as quant::check_samples().
quant::CheckedSamples usual_samples(const Dataset& data,
                                    CalibrationChoice& choice,
                                    const std::vector<std::string>& files);

/// Calibrates; weights of fewer bits get scales of least square error. Returns
/// how good the scales are, as text. Throws: as check_method() and
/// quant::calibrate_auto().
std::string calibrate(Model& int8, const Dataset& data,
                      const CalibrationChoice& choice, bool few_bits);

}  // namespace octet::program
