// Calibration ranges from a histogram of magnitudes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <octet/runtime/quantization.h>

#include "numbers/histogram.h"

namespace octet::quant {

/// Returns the representable magnitudes in units of the scale, ascending.
std::vector<float> magnitudes(const QuantParams& qparams);

/// Returns the bin edge that, as the range of the ascending magnitudes
/// `levels`, minimizes the square error of the bin centers (of the last bin:
/// top()). Ties: the largest.
float mse_range(const MagnitudeHistogram& histogram,
                std::span<const float> levels);

/// Returns the bin edge with the least divergence() for `levels` levels. Ties:
/// the largest.
float entropy_range(const MagnitudeHistogram& histogram, int levels);

/// Returns KL(P||Q) for a range of the first `bins` bins. P: their counts,
/// clipped values added to the last. Q: their counts alone, spread evenly over
/// the occupied bins of each of `levels` groups; bin j is in group floor(j *
/// levels / bins). If Q is empty and P is not, Q is 1e-4 counts. Infinite if
/// all bins are empty.
/// Source: NVIDIA, pytorch-quantization 2.1, calib/histogram.py, except for
/// empty bins: their infinite divergence there lets a far outlier make nearly
/// every range infinite, and win.
double divergence(std::span<const int64_t> counts, int64_t bins, int levels);

}  // namespace octet::quant
