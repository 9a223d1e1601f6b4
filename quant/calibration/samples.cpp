// Selection of calibration samples.
#include <fmt/format.h>

#include <octet/quant/detail/calibration_steps.h>
#include <octet/runtime/error.h>

#include "calibration/steps.h"

namespace octet::quant {
namespace {

void warn_of_missing_classes(const Dataset& chosen) {
  const std::vector<int64_t> missing = missing_classes(chosen, chosen.source());
  if (missing.empty()) return;
  warn("missing_classes", "calibrate",
       fmt::format("the samples lack {} classes, the first {}. Hint: .samples "
                   "and data.sample(n) select at random, data.sample(n, "
                   "{{.stratified = true}}) from every class",
                   missing.size(), missing[0]));
}

}  // namespace

CheckedSamples checked_samples(const Dataset& data, int64_t samples,
                               uint64_t seed, SampleCheck check) {
  if (samples < 0) {
    throw ValueError("out_of_range", "calibrate",
                     fmt::format("samples must be >= 0, got {}", samples));
  }
  const Dataset chosen =
      samples == 0 ? data : data.sample(samples, {.seed = seed});
  warn_of_missing_classes(chosen);
  if (check == SampleCheck::all) return {.usual = chosen};
  CheckedSamples result =
      check_samples("calibrate", data, {.samples = samples, .seed = seed});
  warn_of_unusual("calibrate", result);
  return result;
}

Dataset calibration_samples(const Dataset& data, int64_t samples, uint64_t seed,
                            SampleCheck check) {
  return checked_samples(data, samples, seed, check).usual;
}

HeldOut hold_out(std::string_view subject, const Dataset& data, double share,
                 uint64_t seed) {
  constexpr int64_t kFewest = 4;
  if (data.size() < kFewest) {
    warn("too_few_samples", subject,
         fmt::format(
             "{} sample{} too few for a held-out part; the same samples set "
             "ranges and evaluate them. Hint: use a few hundred samples",
             data.size(), data.size() == 1 ? " is" : "s are"));
    return {data, data, true};
  }
  auto [samples, held_out] = data.hold_out(share, {.seed = seed});
  return {std::move(samples), std::move(held_out)};
}

}  // namespace octet::quant
