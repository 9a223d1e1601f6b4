#include "monitor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

namespace octet::train {
namespace {

/// Accepts an empty name: nothing is monitored.
void expect_reported(std::string_view subject, const std::string& name,
                     std::span<const std::string> names) {
  if (name.empty() || std::ranges::find(names, name) != names.end()) return;
  const bool validation = name.starts_with("val_") &&
                          std::ranges::find(names, "val_loss") == names.end();
  throw NotFoundError(
      "unknown_name", subject,
      fmt::format(
          "this fit does not report the monitored value '{}'{}; it "
          "reports '{}'{}",
          name, suggest_near(name, names), fmt::join(names, "', '"),
          validation ? ". Hint: set .validation or .validation_split" : ""));
}

}  // namespace

Monitor::Monitor(std::string subject, std::string name, Better better,
                 double min_delta)
    : subject_(std::move(subject)),
      name_(std::move(name)),
      higher_(better == Better::higher ||
              (better == Better::automatic &&
               name_.find("accuracy") != std::string::npos)),
      min_delta_(min_delta) {
  if (!(min_delta >= 0) || std::isinf(min_delta)) {
    throw ValueError(
        "out_of_range", subject_,
        fmt::format(
            "min_delta must be finite and at least 0, got {}",
            std::isnan(min_delta) ? "nan" : fmt::format("{}", min_delta)));
  }
}

void Monitor::begin(const Progress& progress) {
  expect_reported(subject_, name_, progress.training->names());
  best_ = higher_ ? -std::numeric_limits<double>::infinity()
                  : std::numeric_limits<double>::infinity();
}

bool Monitor::improves(const Progress& progress) {
  const std::vector<MetricValue> logs = progress.logs();
  const auto found = std::ranges::find(logs, name_, &MetricValue::name);
  if (found == logs.end()) {
    throw InternalError("internal", subject_,
                        fmt::format("the epoch has no value '{}'", name_));
  }
  const double value = found->value;
  // Comparisons with NaN are false.
  const bool better =
      higher_ ? value - min_delta_ > best_ : value + min_delta_ < best_;
  if (better) best_ = value;
  return better;
}

void check_monitored(const Callbacks& callbacks,
                     std::span<const std::string> names) {
  for (const auto& callback : callbacks) {
    const std::string subject = callback->state_name();
    expect_reported(subject.empty() ? "callback" : subject,
                    callback->monitored(), names);
  }
}

}  // namespace octet::train
