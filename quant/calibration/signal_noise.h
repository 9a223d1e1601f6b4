// Signal-to-noise ratio of rounded values.
#pragma once

#include <string>

#include <octet/runtime/tensor.h>

namespace octet::quant {

/// Sums of squares of a signal and its error.
struct SignalNoise {
  double signal = 0;
  double noise = 0;

  /// Shapes: equal. Bit-identical for any number of threads.
  void add(const Tensor& exact, const Tensor& rounded);
  /// Returns 10 log10(signal / noise); infinite without error.
  double decibels() const;
};

/// Formats as "32.1 dB" or "exact".
std::string decibels_text(double decibels);

}  // namespace octet::quant
