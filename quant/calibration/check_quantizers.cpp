#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/calibrate.h>
#include <octet/quant/detail/calibration_steps.h>
#include <octet/quant/sensitivity.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

#include "calibration/steps.h"

namespace octet::quant {
namespace {

// Statistics of values relative to their quantization range.
struct Count {
  int64_t values = 0, not_finite = 0, nonzero = 0, coded = 0, clipped = 0;

  void add(float v, float scale, const QuantParams& qparams) {
    ++values;
    if (!std::isfinite(v)) {
      ++not_finite;
      return;
    }
    const float steps = v / scale;
    nonzero += std::fabs(v) >= kSmallestRange ? 1 : 0;
    coded += quantize(v, scale, qparams) != 0 ? 1 : 0;
    clipped += steps < static_cast<float>(qparams.low) - 0.5f ||
                       steps > static_cast<float>(qparams.high) + 0.5f
                   ? 1
                   : 0;
  }
};

double share_of(int64_t part, int64_t all) {
  return static_cast<double>(part) /
         static_cast<double>(std::max<int64_t>(1, all));
}

// Counts the input values of an activation quantizer.
class Counter final : public RangeObserver {
 public:
  explicit Counter(const Quantizer& quantizer)
      : qparams_(quantizer.qparams({}, -1)), scale_(qparams_.scale.item()) {}
  void observe(const Tensor& x) override {
    for (const float v : x.f32()) count_.add(v, scale_, qparams_);
  }
  std::optional<float> range() const override { return {}; }
  const Count& count() const { return count_; }

 private:
  QuantParams qparams_;
  float scale_;
  Count count_;
};

class Check {
 public:
  explicit Check(const QuantizerCheckOptions& options) : options_(options) {}

  bool found(QuantizerFault fault) const {
    return std::ranges::count(findings_, fault, &QuantizerFinding::fault) > 0;
  }

  // Returns whether all scales are valid numbers.
  bool look_at_scales(const Quantizer& q) {
    const std::vector<float> scales = q.scales();
    const auto bad = std::ranges::count_if(
        scales, [](float s) { return !(s > 0) || std::isinf(s); });
    if (bad > 0) {
      add(q, QuantizerFault::not_finite, share_of(bad, std::ssize(scales)),
          fmt::format("{} of {} scales are not finite and positive. Hint: a "
                      "smaller learning rate",
                      bad, scales.size()));
      return false;
    }
    const int64_t fallen = q.scales_at_floor();
    if (fallen > 0) {
      add(q, QuantizerFault::collapsed, share_of(fallen, std::ssize(scales)),
          fmt::format("{} of {} scales fell to 1/100 of their initial value. "
                      "Hint: a smaller learning rate, or scale_rate with SGD",
                      fallen, scales.size()));
    }
    return true;
  }

  void look_at_weight(const Quantizer& q, const Parameter& parameter) {
    const Tensor& value = parameter.variable.value();
    const bool finite = std::ranges::all_of(
        value.f32(), [](float v) { return std::isfinite(v); });
    if (!finite) return not_finite(q, value);
    if (!look_at_scales(q)) return;
    const QuantParams qparams = q.qparams(value, parameter.channel_axis);
    const ElementScales scales(value.shape(), qparams);
    std::vector<Count> channels(static_cast<size_t>(qparams.scale.size()));
    const auto values = value.f32();
    for (size_t i = 0; i < values.size(); ++i) {
      channels[scales.index(i)].add(values[i], scales[i], qparams);
    }
    int64_t zeros = 0, zero_codes = 0;
    Count all;
    for (const Count& c : channels) {
      zeros += c.nonzero == 0 ? 1 : 0;
      zero_codes += c.nonzero > 0 && c.coded == 0 ? 1 : 0;
      all.clipped += c.clipped;
      all.values += c.values;
    }
    const auto count = std::ssize(channels);
    const char* what = qparams.per_channel() ? "channels" : "tensors";
    if (zeros > 0) {
      add(q, QuantizerFault::zeros, share_of(zeros, count),
          fmt::format(
              "{} of {} {} are all zero; behind a ReLU, training cannot change "
              "them. Hint: fewer channels, or restore earlier weights",
              zeros, count, what));
    }
    if (zero_codes > 0) {
      add(q, QuantizerFault::zero_codes, share_of(zero_codes, count),
          fmt::format("all weights of {} of {} {} round to 0. Hint: "
                      "calibrate the weights, or use more bits",
                      zero_codes, count, what));
    }
    look_at_clipped(q, all, "weights");
  }

  void look_at_activation(const Quantizer& q, const Count& count) {
    if (count.values == 0) {
      return add(q, QuantizerFault::never_ran, 1,
                 "not computed for the samples. Hint: no output "
                 "depends on it");
    }
    if (count.not_finite > 0) {
      return add(q, QuantizerFault::not_finite,
                 share_of(count.not_finite, count.values),
                 fmt::format("{} of {} values are NaN or infinite. Hint: a "
                             "smaller learning rate",
                             group_digits(count.not_finite),
                             group_digits(count.values)));
    }
    if (count.nonzero == 0) {
      return add(q, QuantizerFault::zeros, 1,
                 "its tensor is all zero. Hint: the preceding layer is dead, "
                 "or the samples are zero");
    }
    if (count.coded == 0) {
      return add(q, QuantizerFault::zero_codes, 1,
                 "all its values round to 0. Hint: calibrate again");
    }
    look_at_clipped(q, count, "values");
  }

  std::vector<QuantizerFinding> take() { return std::move(findings_); }

 private:
  void look_at_clipped(const Quantizer& q, const Count& count,
                       const char* what) {
    const double share = share_of(count.clipped, count.values);
    if (share <= options_.clipped) return;
    add(q, QuantizerFault::clipped, share,
        fmt::format("{:.1f} % of its {} are clipped. Hint: calibrate "
                    "again, with Calibration::max or mse",
                    100 * share, what));
  }
  void not_finite(const Quantizer& q, const Tensor& value) {
    const auto bad = std::ranges::count_if(
        value.f32(), [](float v) { return !std::isfinite(v); });
    add(q, QuantizerFault::not_finite, share_of(bad, value.size()),
        fmt::format("{} of {} weights are NaN or infinite. Hint: a smaller "
                    "learning rate",
                    group_digits(bad), group_digits(value.size())));
  }
  void add(const Quantizer& q, QuantizerFault fault, double share,
           const std::string& text) {
    findings_.push_back({.quantizer = q.name(),
                         .fault = fault,
                         .share = share,
                         .text = fmt::format("'{}': {}", q.name(), text)});
  }

  QuantizerCheckOptions options_;
  std::vector<QuantizerFinding> findings_;
};

// Counts values of each enabled, calibrated activation quantizer on the
// samples.
std::map<const Quantizer*, Count> counts_of(Model& model,
                                            const Dataset& samples,
                                            int64_t batch_size) {
  std::map<const Quantizer*, Counter*> counters;
  const Quantizers activations = activation_ranges(model);
  for (const auto& each : activations) {
    if (!each->enabled()) continue;
    // Training will set its scale.
    if (!each->calibrated()) {
      each->set_enabled(false);
      continue;
    }
    Counter*& counter = counters[each.get()];
    // Owned by the quantizer.
    each->start_observing({.observer = [&counter, q = each.get()] {
      auto made = std::make_unique<Counter>(*q);
      counter = made.get();
      return made;
    }});
  }
  const NoGradGuard no_grad;
  for (int64_t at = 0; at < samples.size(); at += batch_size) {
    const Batch batch =
        samples.batch(at, std::min(batch_size, samples.size() - at));
    (void)model(
        std::vector<Variable>(batch.inputs.begin(), batch.inputs.end()));
  }
  std::map<const Quantizer*, Count> result;
  for (const auto& [quantizer, counter] : counters) {
    result[quantizer] = counter->count();
  }
  for (const auto& each : activations) each->cancel_observing();
  return result;
}

}  // namespace

std::string_view to_string(QuantizerFault fault) {
  switch (fault) {
    case QuantizerFault::not_finite:
      return "not finite";
    case QuantizerFault::zeros:
      return "zeros";
    case QuantizerFault::zero_codes:
      return "zero codes";
    case QuantizerFault::collapsed:
      return "collapsed";
    case QuantizerFault::clipped:
      return "clipped";
    case QuantizerFault::never_ran:
      return "never ran";
  }
  throw InternalError("internal", "to_string", "unknown QuantizerFault");
}

std::vector<QuantizerFinding> check_quantizers(
    const Model& given, const Dataset& data,
    const QuantizerCheckOptions& options) {
  if (!is_quantized(given)) {
    throw ValueError(
        "not_quantized", "check_quantizers",
        fmt::format(
            "model '{}' has no quantizers. Hint: run quantize_model first",
            given.name()));
  }
  if (!(options.clipped > 0 && options.clipped <= 1)) {
    throw ValueError(
        "out_of_range", "check_quantizers",
        fmt::format("clipped must be in (0,1], got {}. "
                    "Hint: it is a share; 0.05 allows one value in 20",
                    options.clipped));
  }
  if (options.batch_size < 1) {
    throw ValueError(
        "out_of_range", "check_quantizers",
        fmt::format("batch_size must be >= 1, got {}", options.batch_size));
  }
  expect_calibrated("check_quantizers", given);
  Model model = given.clone();
  const Dataset samples =
      calibration_samples(data, options.samples, options.seed);
  Check check(options);
  std::vector<const Quantizer*> activations;
  std::set<const Quantizer*> seen;
  for (const auto& layer : std::as_const(model).layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    for (const PlacedQuantizer& placed : wrapper->quantizers()) {
      const Quantizer& q = *placed.quantizer;
      if (!q.enabled() || !seen.insert(&q).second) continue;
      if (placed.site.kind == SiteKind::weight) {
        check.look_at_weight(q,
                             wrapper->inner().parameter(placed.site.parameter));
      } else {
        check.look_at_scales(q);
        if (q.calibrated()) activations.push_back(&q);
      }
    }
  }
  // Such a model cannot run.
  if (check.found(QuantizerFault::not_finite)) return check.take();
  const auto counts = counts_of(model, samples, options.batch_size);
  for (const Quantizer* q : activations) {
    const auto found = counts.find(q);
    if (found != counts.end()) check.look_at_activation(*q, found->second);
  }
  return check.take();
}

}  // namespace octet::quant
