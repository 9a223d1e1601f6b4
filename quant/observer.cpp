#include <algorithm>
#include <cmath>
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

// A histogram of magnitudes on [0, width * bins). A larger value appends bins
// of the same width; at kMostBins the width doubles and pairs merge. A first
// batch of zeros postpones the choice of the width.
class PercentileObserver final : public RangeObserver {
 public:
  explicit PercentileObserver(float percentile) : percentile_(percentile) {}

  void observe(const Tensor& x) override {
    const float top = finite_absmax(x);
    seen_ = true;
    if (top == 0 && counts_.empty()) {
      zeros_ += x.size();
      return;
    }
    if (counts_.empty()) {
      width_ = std::max(top / kFirstBins, 0x1p-140f);
      counts_.assign(kFirstBins, 0);
    }
    top_ = std::max(top_, top);
    while (static_cast<double>(top) > width_ * kMostBins) merge_pairs();
    const double last = std::floor(static_cast<double>(top) / width_);
    const size_t bins =
        std::min<size_t>(kMostBins, static_cast<size_t>(last) + 1);
    if (bins > counts_.size()) counts_.resize(bins, 0);
    for (const float v : x.f32()) {
      const size_t bin = static_cast<size_t>(std::fabs(v) / width_);
      ++counts_[std::min(bin, counts_.size() - 1)];
    }
  }

  // The upper edge of the first bin at which the share is reached.
  std::optional<float> range() const override {
    if (!seen_) return std::nullopt;
    if (counts_.empty()) return 0.0f;
    int64_t total = zeros_;
    for (const int64_t count : counts_) total += count;
    const double wanted = static_cast<double>(total) * percentile_ / 100.0;
    int64_t below = zeros_;
    for (size_t i = 0; i < counts_.size(); ++i) {
      below += counts_[i];
      if (static_cast<double>(below) >= wanted) {
        const double edge = width_ * static_cast<double>(i + 1);
        return std::min(static_cast<float>(edge), top_);
      }
    }
    return top_;
  }

 private:
  static constexpr int kFirstBins = 2048;
  static constexpr int kMostBins = 8192;

  void merge_pairs() {
    const size_t half = (counts_.size() + 1) / 2;
    for (size_t i = 0; i < half; ++i) {
      const int64_t second =
          2 * i + 1 < counts_.size() ? counts_[2 * i + 1] : 0;
      counts_[i] = counts_[2 * i] + second;
    }
    counts_.resize(half);
    width_ *= 2;
  }

  double percentile_;
  double width_ = 0;
  float top_ = 0;
  bool seen_ = false;
  int64_t zeros_ = 0;
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
