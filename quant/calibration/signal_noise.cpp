#include "calibration/signal_noise.h"

#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/parallel.h>

namespace octet::quant {

void SignalNoise::add(const Tensor& exact, const Tensor& rounded) {
  const auto x = exact.f32();
  const auto y = rounded.f32();
  std::vector<SignalNoise> parts(
      static_cast<size_t>(chunk_count(exact.size())));
  parallel_chunks(exact.size(),
                  [&](int64_t first, int64_t last, int64_t chunk) {
                    SignalNoise sum;
                    for (auto i = static_cast<size_t>(first);
                         i < static_cast<size_t>(last); ++i) {
                      const double e = double{y[i]} - x[i];
                      sum.signal += double{x[i]} * x[i];
                      sum.noise += e * e;
                    }
                    parts[static_cast<size_t>(chunk)] = sum;
                  });
  for (const SignalNoise& part : parts) {
    signal += part.signal;
    noise += part.noise;
  }
}

double SignalNoise::decibels() const {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

std::string decibels_text(double decibels) {
  return std::isinf(decibels) && decibels > 0
             ? "exact"
             : fmt::format("{:.1f} dB", decibels);
}

}  // namespace octet::quant
