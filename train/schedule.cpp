#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/schedule.h>

namespace octet::train {

Schedule constant() {
  return [](int64_t, int64_t) { return 1.0f; };
}

Schedule cosine(const CosineOptions& options) {
  // Written so that NaN fails, too.
  if (!(options.floor >= 0.0f && options.floor <= 1.0f)) {
    throw ValueError(fmt::format("cosine: expected a floor in [0,1], got {}",
                                 options.floor));
  }
  return [floor = double{options.floor}](int64_t step, int64_t total) {
    const double angle = std::numbers::pi * static_cast<double>(step) /
                         static_cast<double>(total);
    return static_cast<float>(floor +
                              (1.0 - floor) * (1.0 + std::cos(angle)) / 2.0);
  };
}

}  // namespace octet::train
