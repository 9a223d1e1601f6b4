#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/quant/quantizer.h>
#include <octet/runtime/error.h>

#include "numbers/histogram.h"
#include "numbers/histogram_ranges.h"

namespace octet::quant {
namespace {

struct Method {
  Calibration method;
  std::string_view name;
};
constexpr Method kMethods[] = {{Calibration::max, "max"},
                               {Calibration::ema, "ema"},
                               {Calibration::percentile, "percentile"},
                               {Calibration::last_value, "last_value"},
                               {Calibration::mse, "mse"},
                               {Calibration::entropy, "entropy"}};

std::string_view name_of(Calibration method) {
  return std::ranges::find(kMethods, method, &Method::method)->name;
}

Config to_config(const std::optional<float>& range) {
  return Config().set("range", range ? Config(*range) : Config());
}

std::optional<float> range_from(const Config& state) {
  const Config& range = state.at("range");
  if (range.is_null()) return std::nullopt;
  return magnitude_from(range);
}

[[noreturn]] void refuse_state() {
  throw UnsupportedError("unsupported_type", "observer",
                         "custom observers cannot be saved or merged. Hint: "
                         "override state(), restore() and merge()");
}

// Largest magnitude.
class MaxObserver final : public RangeObserver {
 public:
  void observe(const Tensor& x) override {
    range_ = std::max(range_.value_or(0), finite_absmax(x));
  }
  std::optional<float> range() const override { return range_; }
  Config state() const override { return to_config(range_); }
  void restore(const Config& state) override { range_ = range_from(state); }
  void merge(const Config& later) override {
    const std::optional<float> other = range_from(later);
    if (other) range_ = std::max(range_.value_or(0), *other);
  }

 private:
  std::optional<float> range_;
};

// Moving average, initialized by the first batch. With a rate of 1: the last
// batch.
class EmaObserver final : public RangeObserver {
 public:
  explicit EmaObserver(float rate) : rate_(rate) {}
  void observe(const Tensor& x) override { add(finite_absmax(x)); }
  std::optional<float> range() const override { return range_; }
  Config state() const override {
    return to_config(range_).set("tops",
                                 Config::List(tops_.begin(), tops_.end()));
  }
  void restore(const Config& state) override {
    const std::optional<float> range = range_from(state);
    tops_ = tops_from(state);
    range_ = range;
  }
  void merge(const Config& later) override {
    for (const float top : tops_from(later)) add(top);
  }

 private:
  void add(float top) {
    range_ = range_ && rate_ < 1 ? *range_ + rate_ * (top - *range_) : top;
    tops_.push_back(top);
  }
  static std::vector<float> tops_from(const Config& state) {
    std::vector<float> tops;
    // Absent in older files.
    const Config* list = state.find("tops");
    if (list == nullptr) return tops;
    for (const Config& top : list->as_list()) {
      tops.push_back(magnitude_from(top));
    }
    return tops;
  }

  float rate_;
  std::optional<float> range_;
  std::vector<float> tops_;  // batch maxima, for merge()
};

// Range computed from a histogram by `choose`.
class HistogramObserver final : public RangeObserver {
 public:
  using Choose = std::function<float(const MagnitudeHistogram& histogram)>;
  explicit HistogramObserver(Choose choose) : choose_(std::move(choose)) {}

  void observe(const Tensor& x) override { histogram_.add(x); }
  std::optional<float> range() const override {
    if (histogram_.empty()) return std::nullopt;
    return choose_(histogram_);
  }
  Config state() const override { return histogram_.state(); }
  void restore(const Config& state) override { histogram_.restore(state); }
  void merge(const Config& later) override {
    MagnitudeHistogram other;
    other.restore(later);
    histogram_.add(other);
  }

 private:
  Choose choose_;
  MagnitudeHistogram histogram_;
};

// Histogram with logarithmic bins, 0.4 % wide: the exponent and the first eight
// bits of the mantissa. Outliers do not reduce the resolution, and the order of
// batches does not matter.
class PercentileObserver final : public RangeObserver {
 public:
  explicit PercentileObserver(float percentile) : percentile_(percentile) {}

  void observe(const Tensor& x) override {
    top_ = std::max(top_, finite_absmax(x));
    if (counts_.empty()) counts_.assign(kBins, 0);
    for (const float v : x.f32()) {
      ++counts_[std::bit_cast<uint32_t>(std::fabs(v)) >> kDropped];
    }
    total_ += x.size();
  }

  // Upper edge of the bin that reaches the percentile. If that is the bin of
  // zeros, the largest magnitude.
  std::optional<float> range() const override {
    if (counts_.empty()) return std::nullopt;
    const double wanted = static_cast<double>(total_) * percentile_ / 100.0;
    int64_t below = 0;
    for (uint32_t bin = 0; bin < kBins; ++bin) {
      below += counts_[bin];
      if (static_cast<double>(below) >= wanted) {
        const auto edge = std::bit_cast<float>((bin + 1) << kDropped);
        return bin == 0 ? top_ : std::min(edge, top_);
      }
    }
    return top_;
  }

  Config state() const override {
    return Config().set("top", top_).set("bins", bins_of(counts_));
  }
  void restore(const Config& state) override {
    const float top = magnitude_from(state.at("top"));
    std::vector<int64_t> counts = counts_of(state);
    top_ = top;
    total_ = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    counts_ = std::move(counts);
  }
  void merge(const Config& later) override {
    const float top = magnitude_from(later.at("top"));
    const std::vector<int64_t> counts = counts_of(later);
    if (counts.empty()) return;
    top_ = std::max(top_, top);
    if (counts_.empty()) counts_.assign(kBins, 0);
    for (size_t bin = 0; bin < kBins; ++bin) counts_[bin] += counts[bin];
    total_ += std::accumulate(counts.begin(), counts.end(), int64_t{0});
  }

 private:
  static constexpr uint32_t kDropped = 15;  // of 23 mantissa bits
  static constexpr uint32_t kBins = uint32_t{1} << (31 - kDropped);

  static std::vector<int64_t> counts_of(const Config& state) {
    const Config::List& bins = state.at("bins").as_list();
    return counts_from(bins, bins.empty() ? 0 : int64_t{kBins});
  }

  double percentile_;
  float top_ = 0;
  int64_t total_ = 0;
  std::vector<int64_t> counts_;
};

std::unique_ptr<RangeObserver> make_range_observer(
    const CalibrationOptions& options, const QuantParams& qparams);

// Observes the two ends of a range separately, each by one observer.
class TwoEndsObserver final : public RangeObserver {
 public:
  TwoEndsObserver(const CalibrationOptions& options, const QuantParams& qparams)
      : low_(make_range_observer(options, qparams)),
        high_(make_range_observer(options, qparams)) {}

  void observe(const Tensor& x) override {
    Tensor end = Tensor::zeros(x.shape());
    const auto fill = [&](float sign) {
      const auto from = x.f32();
      const auto to = end.f32();
      // NaN reaches the observer, which rejects it.
      for (size_t i = 0; i < from.size(); ++i) {
        const float v = sign * from[i];
        to[i] = v < 0 ? 0.0f : v;
      }
    };
    fill(1);
    high_->observe(end);
    fill(-1);
    low_->observe(end);
  }
  std::optional<float> range() const override {
    const auto ends = interval();
    return ends ? std::optional(ends->magnitude()) : std::nullopt;
  }
  std::optional<ValueRange> interval() const override {
    const std::optional<float> low = low_->range();
    const std::optional<float> high = high_->range();
    if (!low || !high) return std::nullopt;
    return ValueRange{-*low, *high};
  }
  Config state() const override {
    return Config().set("low", low_->state()).set("high", high_->state());
  }
  void restore(const Config& state) override {
    low_->restore(state.at("low"));
    high_->restore(state.at("high"));
  }
  void merge(const Config& later) override {
    low_->merge(later.at("low"));
    high_->merge(later.at("high"));
  }

 private:
  std::unique_ptr<RangeObserver> low_, high_;
};

std::unique_ptr<RangeObserver> make_range_observer(
    const CalibrationOptions& options, const QuantParams& qparams) {
  if (options.observer) {
    auto made = options.observer();
    if (made != nullptr) return made;
    throw ValueError("missing_value", "CalibrationOptions.observer",
                     "factory returned null");
  }
  switch (options.method) {
    case Calibration::max:
      return std::make_unique<MaxObserver>();
    case Calibration::ema:
      if (!(options.ema_rate > 0 && options.ema_rate <= 1)) {
        throw ValueError(
            "out_of_range", "CalibrationOptions.ema_rate",
            fmt::format("must be in (0,1], got {}", options.ema_rate));
      }
      return std::make_unique<EmaObserver>(options.ema_rate);
    case Calibration::percentile:
      if (!(options.percentile >= 50 && options.percentile <= 100)) {
        throw ValueError(
            "out_of_range", "CalibrationOptions.percentile",
            fmt::format("must be in [50,100], got {}. Hint: a percentage; "
                        "99.99 clips one value in 10,000",
                        options.percentile));
      }
      return std::make_unique<PercentileObserver>(options.percentile);
    case Calibration::last_value:
      return std::make_unique<EmaObserver>(1.0f);
    case Calibration::mse:
      return std::make_unique<HistogramObserver>(
          [levels = magnitudes(qparams)](const MagnitudeHistogram& histogram) {
            return mse_range(histogram, levels);
          });
    case Calibration::entropy:
      if (qparams.format != NumberFormat::integer) {
        throw ValueError(
            "unsupported_value", "CalibrationOptions.method",
            fmt::format("entropy requires integers, got {}. Hint: max, "
                        "percentile or mse",
                        to_string(qparams.format)));
      }
      return std::make_unique<HistogramObserver>(
          [levels = qparams.high + 1](const MagnitudeHistogram& histogram) {
            return entropy_range(histogram, levels);
          });
  }
  throw InternalError("internal", "make_observer", "unknown method");
}

}  // namespace

std::optional<ValueRange> RangeObserver::interval() const {
  const std::optional<float> magnitude = range();
  if (!magnitude) return std::nullopt;
  return ValueRange{-*magnitude, *magnitude};
}

Config RangeObserver::state() const { refuse_state(); }
void RangeObserver::restore(const Config&) { refuse_state(); }
void RangeObserver::merge(const Config&) { refuse_state(); }

std::unique_ptr<RangeObserver> make_observer(const CalibrationOptions& options,
                                             int high) {
  return make_range_observer(options, {.low = -high, .high = high});
}

std::unique_ptr<RangeObserver> make_observer(const CalibrationOptions& options,
                                             const QuantizerConfig& config) {
  if (!config.asymmetric) {
    return make_range_observer(options, config.qparams());
  }
  const QuantParams all{.low = 0, .high = (1 << config.bits) - 1};
  if (options.observer) return make_range_observer(options, all);
  return std::make_unique<TwoEndsObserver>(options, all);
}

std::string to_string(const CalibrationOptions& options) {
  if (options.observer) return "custom";
  const std::string_view name = name_of(options.method);
  return options.method == Calibration::percentile
             ? fmt::format("{} {:.6g}", name, options.percentile)
             : std::string(name);
}

Config to_config(const CalibrationOptions& options) {
  if (options.observer) {
    throw UnsupportedError(
        "unsupported_type", "CalibrationOptions.observer",
        "custom observers cannot be saved. Hint: finish calibration first");
  }
  return Config()
      .set("method", name_of(options.method))
      .set("percentile", options.percentile)
      .set("ema_rate", options.ema_rate);
}

CalibrationOptions calibration_options_from_config(const Config& config) {
  const std::string& wanted = config.at("method").as_string();
  const auto* found = std::ranges::find(kMethods, wanted, &Method::name);
  if (found == std::end(kMethods)) {
    throw ValueError("invalid_value", "calibration method",
                     fmt::format("unknown method '{}', expected max, ema, "
                                 "percentile, last_value, mse or entropy",
                                 wanted));
  }
  return {.method = found->method,
          .percentile = static_cast<float>(config.at("percentile").as_number()),
          .ema_rate = static_cast<float>(config.at("ema_rate").as_number())};
}

}  // namespace octet::quant
