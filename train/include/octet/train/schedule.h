// Learning-rate schedules: factors on the optimizer's rate.
#pragma once

#include <cstdint>
#include <functional>

namespace octet::train {

/// The factor at `step` of `total` steps, 0 <= step < total.
using Schedule = std::function<float(int64_t step, int64_t total)>;

Schedule constant();

struct CosineOptions {
  float floor = 0.0f;  ///< the factor at the end, [0, 1]
};
/// floor + (1 - floor) * (1 + cos(pi * step / total)) / 2.
/// Source: Loshchilov and Hutter, SGDR, arXiv 1608.03983, eq. 5.
/// Throws: ValueError for a floor outside [0, 1].
Schedule cosine(const CosineOptions& options = {});

}  // namespace octet::train
