// How far rounded values are from exact ones.
#pragma once

#include <string>

#include <octet/runtime/tensor.h>

namespace octet::quant {

/// Sums of squares of a signal and of its error.
struct SignalNoise {
  double signal = 0;
  double noise = 0;

  /// Shapes: equal. The same bits for any number of threads.
  void add(const Tensor& exact, const Tensor& rounded);
  /// 10 log10(signal / noise); infinite without an error.
  double decibels() const;
};

/// "32.1 dB", "exact".
std::string decibels_text(double decibels);

}  // namespace octet::quant
