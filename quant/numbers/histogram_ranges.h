// Ranges that a histogram of magnitudes gives.
#pragma once

#include <cstdint>
#include <span>

#include "numbers/histogram.h"

namespace octet::quant {

/// The edge of a bin as the largest magnitude of codes 0..high that gives the
/// least square error of the bins' centres, of the last bin that of top(); the
/// largest of equals.
float mse_range(const MagnitudeHistogram& histogram, int high);

/// The edge of a bin with the least divergence() for as many levels; the
/// largest of equals.
float entropy_range(const MagnitudeHistogram& histogram, int levels);

/// KL(P||Q) for a range that ends after the first `bins` bins. P are their
/// counts, what lies beyond being added to the last. Q are their counts alone,
/// spread evenly over the occupied bins of each of `levels` groups, bin j being
/// in group floor(j * levels / bins). Where Q is empty and P is not, Q is 1e-4
/// of one count. Infinite if the bins are empty.
/// Source: NVIDIA, pytorch-quantization 2.1, calib/histogram.py, but for empty
/// bins, which are infinite there: one far outlier then makes nearly every
/// range infinite, and wins.
double divergence(std::span<const int64_t> counts, int64_t bins, int levels);

}  // namespace octet::quant
