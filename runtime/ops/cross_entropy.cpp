#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops/nn.h>

#include "logits.h"
#include "loss_rows.h"

namespace octet {
namespace {

/// Writes softmax(x / temperature) - target(k) and returns
/// sum(target(k) * -log softmax(x / temperature)[k]).
template <class Target>
double cross_entropy_row(std::span<const float> x, std::span<float> d,
                         double temperature, const Target& target) {
  const double all = loss::log_sum_exp(x, temperature);
  double mass = 0;
  double loss = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    const double t = target(k);
    mass += t;
    // A target of 0 contributes nothing, even for a logit of -inf.
    if (t != 0) loss += t * (all - x[k] / temperature);
  }
  for (size_t k = 0; k < x.size(); ++k) {
    const double p = std::exp(x[k] / temperature - all);
    d[k] = static_cast<float>(mass * p - target(k));
  }
  return std::isnan(all) ? all : loss;
}

/// Smoothed one-hot targets: 1 - s for the label, plus s / classes for all.
struct SmoothLabel {
  size_t label;
  double share;
  double rest;

  SmoothLabel(int64_t right, size_t classes, double smoothing)
      : label(static_cast<size_t>(right)),
        share(1 - smoothing),
        rest(smoothing / static_cast<double>(classes)) {}
  double operator()(size_t k) const { return rest + (k == label ? share : 0); }
};

/// Averages over the `count` counted positions of a sample and scales `d`
/// accordingly. A single position is returned bit for bit.
double mean_of_places(double sum, size_t count, std::span<float> d) {
  if (count < 2) return sum;
  const auto share = static_cast<float>(1 / static_cast<double>(count));
  for (float& each : d) each *= share;
  return sum / static_cast<double>(count);
}

void refuse_ignored(std::string_view name, const CrossEntropyOptions& options) {
  if (!options.ignore_label) return;
  throw ValueError(
      "conflicting_options", name,
      fmt::format("ignore_label needs class indices as labels, got {}. Hint: "
                  "use softmax_cross_entropy; all-zero targets are ignored too",
                  *options.ignore_label));
}

}  // namespace

Variable softmax_cross_entropy(const Variable& outputs, const Tensor& labels,
                               const CrossEntropyOptions& options,
                               const LossOptions& loss_options) {
  constexpr auto kName = "softmax_cross_entropy";
  loss::check_logits(kName, outputs.shape());
  loss::check_labels(kName, outputs.shape(), labels, options.ignore_label);
  loss::check_share(kName, "label_smoothing", options.label_smoothing);
  const Variable logits = loss::logits_of(kName, "softmax", outputs,
                                          options.from_logits.value_or(true));
  const auto classes = static_cast<size_t>(logits.shape()[-1]);
  const auto values = logits.value().f32();
  const auto label = labels.data<int64_t>();
  return loss::over_rows(
      kName, logits,
      [&](size_t sample, std::span<float> d) {
        const size_t places = d.size() / classes;
        const auto own = label.subspan(sample * places, places);
        const auto counted = [&](int64_t each) {
          return each != options.ignore_label;
        };
        const auto count =
            static_cast<size_t>(std::ranges::count_if(own, counted));
        double sum = 0;
        for (size_t i = 0; i < places; ++i) {
          const auto place = d.subspan(i * classes, classes);
          if (!counted(own[i])) {
            std::ranges::fill(place, 0.0f);
            continue;
          }
          sum += cross_entropy_row(
              values.subspan((sample * places + i) * classes, classes), place,
              1, SmoothLabel(own[i], classes, options.label_smoothing));
        }
        return mean_of_places(sum, count, d);
      },
      loss_options);
}

Variable categorical_cross_entropy(const Variable& outputs,
                                   const Tensor& targets,
                                   const CrossEntropyOptions& options,
                                   const LossOptions& loss_options) {
  constexpr auto kName = "categorical_cross_entropy";
  refuse_ignored(kName, options);
  loss::check_logits(kName, outputs.shape());
  loss::check_targets(kName, outputs.shape(), targets);
  loss::check_target_range(kName, targets,
                           std::numeric_limits<float>::infinity());
  loss::check_share(kName, "label_smoothing", options.label_smoothing);
  const Variable logits = loss::logits_of(kName, "softmax", outputs,
                                          options.from_logits.value_or(true));
  const auto classes = static_cast<size_t>(logits.shape()[-1]);
  const auto values = logits.value().f32();
  const auto target = targets.f32();
  const double share = 1 - double{options.label_smoothing};
  const double rest =
      double{options.label_smoothing} / static_cast<double>(classes);
  return loss::over_rows(
      kName, logits,
      [&](size_t sample, std::span<float> d) {
        const size_t places = d.size() / classes;
        double sum = 0;
        for (size_t i = 0; i < places; ++i) {
          const size_t first = (sample * places + i) * classes;
          const auto row = target.subspan(first, classes);
          sum += cross_entropy_row(
              values.subspan(first, classes), d.subspan(i * classes, classes),
              1, [&](size_t k) { return share * row[k] + rest; });
        }
        return mean_of_places(sum, places, d);
      },
      loss_options);
}

Variable binary_cross_entropy(const Variable& outputs, const Tensor& targets,
                              const CrossEntropyOptions& options,
                              const LossOptions& loss_options) {
  constexpr auto kName = "binary_cross_entropy";
  refuse_ignored(kName, options);
  loss::check_targets(kName, outputs.shape(), targets);
  loss::check_target_range(kName, targets, 1);
  loss::check_share(kName, "label_smoothing", options.label_smoothing);
  const Variable logits = loss::logits_of(kName, "sigmoid", outputs,
                                          options.from_logits.value_or(true));
  const auto length =
      static_cast<size_t>(logits.shape().size() / logits.shape()[0]);
  const auto values = logits.value().f32();
  const auto target = targets.f32();
  const double share = 1 - double{options.label_smoothing};
  const double rest = 0.5 * double{options.label_smoothing};
  return loss::over_rows(
      kName, logits,
      [&](size_t i, std::span<float> d) {
        double sum = 0;
        for (size_t k = 0; k < length; ++k) {
          const double x = values[i * length + k];
          const double t = share * target[i * length + k] + rest;
          // log(1 + exp(x)) without overflow.
          const double tail = std::exp(-std::fabs(x));
          sum += std::max(x, 0.0) - x * t + std::log1p(tail);
          const double sigmoid = x >= 0 ? 1 / (1 + tail) : tail / (1 + tail);
          d[k] =
              static_cast<float>((sigmoid - t) / static_cast<double>(length));
        }
        return sum / static_cast<double>(length);
      },
      loss_options);
}

// KL(p || q) = sum(p log p) - sum(p log q): the cross-entropy with the
// teacher's p as target, minus the entropy of p. The gradient of a logit is
// alpha * T^2 * (q - p) / T.
Variable distillation_loss(const Variable& outputs, const Tensor& teacher,
                           const Tensor& labels,
                           const DistillationOptions& options,
                           const LossOptions& loss_options) {
  constexpr auto kName = "distillation_loss";
  loss::check_logits(kName, outputs.shape());
  if (outputs.shape().rank() != 2) {
    throw ShapeError("invalid_shape", kName,
                     fmt::format("logits must be [n,classes], got {}",
                                 outputs.shape().to_string()));
  }
  loss::check_labels(kName, outputs.shape(), labels);
  loss::check_targets(kName, outputs.shape(), teacher);
  loss::check_share(kName, "alpha", options.alpha);
  loss::check_share(kName, "label_smoothing", options.label_smoothing);
  if (!(options.temperature > 0.0f) || std::isinf(options.temperature)) {
    throw ValueError(
        "out_of_range", kName,
        fmt::format("temperature must be finite and positive, got {}",
                    std::isnan(options.temperature)
                        ? "nan"
                        : fmt::format("{}", options.temperature)));
  }
  const Variable logits = loss::logits_of(kName, "softmax", outputs,
                                          options.from_logits.value_or(true));
  const Variable taught =
      loss::logits_of(kName, "softmax", Variable(teacher),
                      options.teacher_from_logits.value_or(true));
  const auto classes = static_cast<size_t>(logits.shape()[1]);
  const auto values = logits.value().f32();
  const auto from = taught.value().f32();
  const auto label = labels.data<int64_t>();
  const double t = options.temperature;
  const double alpha = options.alpha;
  return loss::over_rows(
      kName, logits,
      [&](size_t i, std::span<float> d) {
        const auto x = values.subspan(i * classes, classes);
        const double hard = cross_entropy_row(
            x, d, 1, SmoothLabel(label[i], classes, options.label_smoothing));
        const auto y = from.subspan(i * classes, classes);
        const double all = loss::log_sum_exp(x, t);
        const double teacher_all = loss::log_sum_exp(y, t);
        double divergence = 0;
        for (size_t k = 0; k < classes; ++k) {
          const double log_q = x[k] / t - all;
          const double log_p = y[k] / t - teacher_all;
          const double p = std::exp(log_p);
          if (p != 0) divergence += p * (log_p - log_q);
          d[k] = static_cast<float>((1 - alpha) * d[k] +
                                    alpha * t * (std::exp(log_q) - p));
        }
        return (1 - alpha) * hard + alpha * t * t * divergence;
      },
      loss_options);
}

}  // namespace octet
