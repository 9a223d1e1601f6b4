#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops/nn.h>

#include "loss_rows.h"

namespace octet {
namespace {

struct ErrorLoss {
  double value;
  double slope;
};

/// Mean of `term(e)` over the errors e = output - target of a sample.
template <class Function>
Variable mean_of_errors(std::string_view name, const Variable& outputs,
                        const Tensor& targets, const LossOptions& loss_options,
                        const Function& term) {
  loss::check_targets(name, outputs.shape(), targets);
  const auto length =
      static_cast<size_t>(outputs.shape().size() / outputs.shape()[0]);
  const auto values = outputs.value().f32();
  const auto target = targets.f32();
  return loss::over_rows(
      name, outputs,
      [&](size_t i, std::span<float> d) {
        double sum = 0;
        for (size_t k = 0; k < length; ++k) {
          const size_t at = i * length + k;
          const ErrorLoss each = term(double{values[at]} - double{target[at]});
          sum += each.value;
          d[k] = static_cast<float>(each.slope / static_cast<double>(length));
        }
        return sum / static_cast<double>(length);
      },
      loss_options);
}

/// -1, 0 or 1; NaN for NaN.
double sign(double e) { return e > 0 ? 1 : e < 0 ? -1 : e; }

}  // namespace

Variable mean_squared_error(const Variable& outputs, const Tensor& targets,
                            const LossOptions& loss_options) {
  return mean_of_errors("mean_squared_error", outputs, targets, loss_options,
                        [](double e) {
                          return ErrorLoss{e * e, 2 * e};
                        });
}

Variable mean_absolute_error(const Variable& outputs, const Tensor& targets,
                             const LossOptions& loss_options) {
  return mean_of_errors("mean_absolute_error", outputs, targets, loss_options,
                        [](double e) {
                          return ErrorLoss{std::fabs(e), sign(e)};
                        });
}

Variable huber(const Variable& outputs, const Tensor& targets,
               const HuberOptions& options, const LossOptions& loss_options) {
  if (!(options.delta > 0.0f) || std::isinf(options.delta)) {
    throw ValueError("out_of_range", "huber",
                     fmt::format("delta must be finite and positive, got {}",
                                 std::isnan(options.delta)
                                     ? "nan"
                                     : fmt::format("{}", options.delta)));
  }
  const double delta = options.delta;
  return mean_of_errors(
      "huber", outputs, targets, loss_options, [delta](double e) {
        const double size = std::fabs(e);
        // In this form NaN takes the first branch and propagates.
        if (!(size > delta)) return ErrorLoss{0.5 * e * e, e};
        return ErrorLoss{delta * size - 0.5 * delta * delta, delta * sign(e)};
      });
}

}  // namespace octet
