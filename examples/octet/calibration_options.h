// Calibration options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/optimize.h>
#include <octet/runtime/dataset.h>

#include "../common/command_line.h"

namespace octet::program {

struct CalibrationChoice {
  std::string method = "auto";
  double percentile = 99.99;
  int64_t samples = 0;   // 0: all samples
  bool checked = false;  // unusual samples are removed or accepted
};

/// Adds --method, --percentile and --samples. Returns --method. `preset` is the
/// help text's default of --method if `choice.method` is "".
Option add_calibration_options(Command& command, CalibrationChoice& choice,
                               const char* preset = nullptr);

/// Throws: ValueError for an unknown method; UnsupportedError for --percentile
/// with another method.
void check_method(const CalibrationChoice& choice);

/// Returns the recipe of the calibration method.
/// Throws: as check_method().
quant::Recipe recipe_of(const CalibrationChoice& choice);

/// Describes the calibration of a model. `found`: the result of
/// quant::auto_calibrate(), if it selected the method.
std::string calibration_text(const Model& int8,
                             const std::optional<quant::AutoCalibration>& found,
                             const CalibrationChoice& choice, int64_t samples,
                             bool few_bits);

/// Returns the samples selected by --samples, without unusual samples, and sets
/// `choice.checked`. Warns of each unusual sample with its index and file;
/// `files` are the files of all samples, or empty.
/// Throws: as quant::check_samples().
quant::CheckedSamples usual_samples(const Dataset& data,
                                    CalibrationChoice& choice,
                                    const std::vector<std::string>& files);

/// Calibrates `int8`. Weights of fewer bits get scales of minimal squared
/// error. Returns the result as text.
/// Throws: as check_method() and quant::auto_calibrate().
std::string calibrate(Model& int8, const Dataset& data,
                      const CalibrationChoice& choice, bool few_bits);

}  // namespace octet::program
