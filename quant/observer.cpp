#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <octet/quant/observer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/grid.h>

namespace octet::quant {
namespace {

float finite_absmax(const Tensor& x) {
  const float top = absmax(x);
  if (!std::isfinite(top)) {
    throw ValueError(
        fmt::format("calibration: expected finite values, got {}", top));
  }
  return top;
}

class MaxObserver final : public RangeObserver {
 public:
  void observe(const Tensor& x) override {
    range_ = std::max(range_.value_or(0), finite_absmax(x));
  }
  std::optional<float> range() const override { return range_; }

 private:
  std::optional<float> range_;
};

// The first batch assigns, later ones move the range.
class EmaObserver final : public RangeObserver {
 public:
  explicit EmaObserver(float rate) : rate_(rate) {}
  void observe(const Tensor& x) override {
    const float top = finite_absmax(x);
    range_ = range_ ? *range_ + rate_ * (top - *range_) : top;
  }
  std::optional<float> range() const override { return range_; }

 private:
  float rate_;
  std::optional<float> range_;
};

// A histogram of magnitudes with logarithmic bins: the exponent and the first
// eight bits of the mantissa, 0.4 % wide. One outlier, however large, takes
// nothing from the resolution of the rest, and the order of batches is no
// matter.
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

  // The upper edge of the first bin at which the share is reached.
  std::optional<float> range() const override {
    if (counts_.empty()) return std::nullopt;
    const double wanted = static_cast<double>(total_) * percentile_ / 100.0;
    int64_t below = 0;
    for (uint32_t bin = 0; bin < kBins; ++bin) {
      below += counts_[bin];
      if (static_cast<double>(below) >= wanted) {
        const auto edge = std::bit_cast<float>((bin + 1) << kDropped);
        return std::min(edge, top_);
      }
    }
    return top_;
  }

 private:
  static constexpr uint32_t kDropped = 15;  // of the mantissa's 23 bits
  static constexpr uint32_t kBins = uint32_t{1} << (31 - kDropped);

  double percentile_;
  float top_ = 0;
  int64_t total_ = 0;
  std::vector<int64_t> counts_;
};

}  // namespace

std::unique_ptr<RangeObserver> make_observer(const ObserverOptions& options) {
  switch (options.method) {
    case Calibration::max:
      return std::make_unique<MaxObserver>();
    case Calibration::ema:
      if (!(options.ema_rate > 0 && options.ema_rate <= 1)) {
        throw ValueError(
            fmt::format("calibration: expected ema_rate in (0,1], got {}",
                        options.ema_rate));
      }
      return std::make_unique<EmaObserver>(options.ema_rate);
    case Calibration::percentile:
      if (!(options.percentile > 0 && options.percentile <= 100)) {
        throw ValueError(
            fmt::format("calibration: expected percentile in (0,100], got {}",
                        options.percentile));
      }
      return std::make_unique<PercentileObserver>(options.percentile);
  }
  throw InternalError("make_observer: unknown method");
}

}  // namespace octet::quant
