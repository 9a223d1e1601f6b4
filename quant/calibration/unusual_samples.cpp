#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/calibrate.h>
#include <octet/runtime/error.h>
#include <octet/runtime/tensor.h>

namespace octet::quant {
namespace {

constexpr int64_t kBatch = 256;
constexpr size_t kFewest = 4;
constexpr double kLargestShare = 0.05;
constexpr double kLeastRatio = 64;

/// A subset of a dataset, by positions.
class ChosenSource final : public SampleSource {
 public:
  ChosenSource(Dataset data, std::vector<int64_t> chosen)
      : data_(std::move(data)), chosen_(std::move(chosen)) {}

  int64_t size() const override { return std::ssize(chosen_); }
  std::vector<TensorSpec> input_specs() const override {
    return data_.input_specs();
  }
  std::vector<TensorSpec> label_specs() const override {
    return data_.label_specs();
  }
  Batch read(std::span<const int64_t> indices) const override {
    std::vector<int64_t> positions;
    positions.reserve(indices.size());
    for (const int64_t i : indices) {
      positions.push_back(chosen_[static_cast<size_t>(i)]);
    }
    return data_.batch(positions);
  }
  std::vector<Tensor> known_labels() const override {
    std::vector<Tensor> result;
    for (const Tensor& all : data_.known_labels()) {
      Tensor some(all.shape().with(0, size()), all.dtype());
      const auto bytes = static_cast<size_t>(all.bytes() / all.shape()[0]);
      const auto* from = static_cast<const std::byte*>(all.raw());
      auto* to = static_cast<std::byte*>(some.raw());
      for (const int64_t position : chosen_) {
        to = std::copy_n(from + static_cast<size_t>(position) * bytes, bytes,
                         to);
      }
      result.push_back(std::move(some));
    }
    return result;
  }

 private:
  Dataset data_;
  std::vector<int64_t> chosen_;
};

// Returns the largest magnitude of each sample; NaN if any value is not finite.
std::vector<double> magnitudes_of(const Tensor& values) {
  const auto count = static_cast<size_t>(values.shape()[0]);
  const size_t size = values.f32().size() / std::max<size_t>(1, count);
  std::vector<double> result(count);
  for (size_t n = 0; n < count; ++n) {
    float top = 0;
    for (const float v : values.f32().subspan(n * size, size)) {
      const float magnitude = std::fabs(v);
      // False for NaN, which would be lost in a maximum.
      if (magnitude <= top) continue;
      top = magnitude;
      if (!(magnitude <= std::numeric_limits<float>::max())) break;
    }
    result[n] = std::isfinite(top) ? double{top}
                                   : std::numeric_limits<double>::quiet_NaN();
  }
  return result;
}

// [input][sample]
std::vector<std::vector<double>> all_magnitudes(const Dataset& data) {
  std::vector<std::vector<double>> result(data.input_specs().size());
  for (int64_t at = 0; at < data.size(); at += kBatch) {
    const Batch batch = data.batch(at, std::min(kBatch, data.size() - at));
    for (size_t i = 0; i < result.size(); ++i) {
      const auto some = magnitudes_of(batch.inputs[i]);
      result[i].insert(result[i].end(), some.begin(), some.end());
    }
  }
  return result;
}

double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share *
                                    static_cast<double>(sorted.size() - 1))];
}

// Largest usual magnitude, and the median of the positive ones.
struct Limit {
  double usual = std::numeric_limits<double>::infinity();
  double median = 0;
};

Limit limit_of(const std::vector<double>& magnitudes) {
  std::vector<double> logs;
  for (const double magnitude : magnitudes) {
    if (magnitude > 0) logs.push_back(std::log(magnitude));
  }
  if (logs.size() < kFewest) return {};
  std::ranges::sort(logs);
  const double median = quantile(logs, 0.5);
  std::vector<double> deviations;
  for (const double log : logs) deviations.push_back(std::fabs(log - median));
  std::ranges::sort(deviations);
  // Exponential distribution: median absolute deviation relative to the scale;
  // below, percentiles relative to the median.
  constexpr double kDeviation = 0.4812;
  const double scale =
      std::max({quantile(deviations, 0.5) / kDeviation,
                (quantile(logs, 0.90) - median) / std::log(5.0),
                (quantile(logs, 0.95) - median) / std::log(10.0)});
  const double count = static_cast<double>(logs.size());
  const double above =
      std::max(std::log(kLeastRatio), scale * std::log(500 * count));
  return {std::exp(median + above), std::exp(median)};
}

/// Describes two groups of magnitudes with a factor of kLeastRatio between
/// them; empty if there are none of at least kLargestShare each. Zeros are left
/// out.
std::string groups_of(const std::vector<double>& magnitudes) {
  std::vector<double> sorted;
  for (const double magnitude : magnitudes) {
    if (magnitude > 0) sorted.push_back(magnitude);
  }
  std::ranges::sort(sorted);
  const auto least = static_cast<size_t>(
      std::ceil(kLargestShare * static_cast<double>(sorted.size())));
  if (least < 2) return "";
  for (size_t i = least; i + least <= sorted.size(); ++i) {
    if (sorted[i] < kLeastRatio * sorted[i - 1]) continue;
    const auto first = std::ranges::find_if(
        magnitudes, [&](double magnitude) { return magnitude >= sorted[i]; });
    return fmt::format(
        "{} samples have largest magnitudes up to {:.4g}, {} others from "
        "{:.4g}, the first is sample {}",
        i, sorted[i - 1], sorted.size() - i, sorted[i],
        first - magnitudes.begin());
  }
  return "";
}

std::string name_of(const std::vector<TensorSpec>& specs, size_t input) {
  if (!specs[input].name.empty() || specs.size() == 1) return specs[input].name;
  return fmt::format("input {}", input);
}

std::string text_of(const UnusualSample& sample) {
  return sample.input.empty()
             ? sample.reason
             : fmt::format("{}: {}", sample.input, sample.reason);
}

Dataset without(const Dataset& data,
                const std::map<int64_t, UnusualSample>& some) {
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < data.size(); ++i) {
    if (!some.contains(i)) kept.push_back(i);
  }
  return Dataset(std::make_shared<ChosenSource>(data, std::move(kept)));
}

// Returns the positions that Dataset::sample() selects; they depend only on
// size and seed.
std::vector<int64_t> positions(const Dataset& data,
                               const SampleCheckOptions& options) {
  Tensor all(Shape{data.size()}, DType::i64);
  const auto values = all.data<int64_t>();
  std::iota(values.begin(), values.end(), int64_t{0});
  const Tensor chosen = Dataset(Tensor(Shape{data.size(), 1}), all)
                            .sample(options.samples, {.seed = options.seed})
                            .labels();
  const auto result = chosen.data<int64_t>();
  return {result.begin(), result.end()};
}

CheckedSamples compare(std::string_view subject, const Dataset& data) {
  if (data.size() == 0) {
    throw ValueError("missing_value", std::string(subject),
                     "the data has no samples");
  }
  std::vector<std::vector<double>> all = all_magnitudes(data);
  const std::vector<TensorSpec> specs = data.input_specs();
  const int64_t most = std::max<int64_t>(
      1,
      static_cast<int64_t>(kLargestShare * static_cast<double>(data.size())));
  std::map<int64_t, UnusualSample> broken, large;
  for (size_t input = 0; input < all.size(); ++input) {
    const Limit limit = limit_of(all[input]);
    for (size_t n = 0; n < all[input].size(); ++n) {
      const double magnitude = all[input][n];
      const auto index = static_cast<int64_t>(n);
      if (std::isnan(magnitude)) {
        broken.try_emplace(index, UnusualSample{index, name_of(specs, input),
                                                "NaN or infinity"});
      } else if (magnitude > limit.usual) {
        large.try_emplace(
            index,
            UnusualSample{index, name_of(specs, input),
                          fmt::format("largest magnitude {:.4g}, median {:.4g}",
                                      magnitude, limit.median)});
      }
    }
  }
  if (std::ssize(broken) > most || std::ssize(broken) == data.size()) {
    throw ValueError(
        "not_finite", std::string(subject),
        fmt::format(
            "{} of {} samples are unusable, the first is sample {} ({}). Hint: "
            "repair the data",
            broken.size(), data.size(), broken.begin()->first,
            text_of(broken.begin()->second)));
  }
  if (std::ssize(large) > most) large.clear();
  std::map<int64_t, UnusualSample> unusual = std::move(broken);
  unusual.merge(large);
  std::string mixed;
  for (size_t input = 0; input < all.size() && mixed.empty(); ++input) {
    for (const auto& [index, sample] : unusual) {
      all[input][static_cast<size_t>(index)] = 0;
    }
    mixed = groups_of(all[input]);
    const std::string name = name_of(specs, input);
    if (!mixed.empty() && !name.empty()) mixed = name + ": " + mixed;
  }
  if (unusual.empty() || std::ssize(unusual) == data.size()) {
    return {.usual = data, .mixed = mixed};
  }
  CheckedSamples result{.usual = without(data, unusual), .mixed = mixed};
  for (auto& [index, sample] : unusual) {
    result.unusual.push_back(std::move(sample));
  }
  return result;
}

}  // namespace

CheckedSamples check_samples(std::string_view subject, const Dataset& data,
                             const SampleCheckOptions& options) {
  if (options.samples < 0) {
    throw ValueError(
        "out_of_range", std::string(subject),
        fmt::format("samples must be >= 0, got {}", options.samples));
  }
  if (options.samples == 0 || options.samples >= data.size()) {
    return compare(subject, data);
  }
  CheckedSamples result =
      compare(subject, data.sample(options.samples, {.seed = options.seed}));
  if (result.unusual.empty()) return result;
  const std::vector<int64_t> at = positions(data, options);
  for (UnusualSample& sample : result.unusual) {
    sample.index = at[static_cast<size_t>(sample.index)];
  }
  return result;
}

void warn_of_unusual(std::string_view subject, const CheckedSamples& checked,
                     std::span<const std::string> names) {
  constexpr size_t kNamed = 5;
  if (!checked.mixed.empty()) {
    warn("mixed_scales", subject,
         fmt::format("two scales in one dataset: {}. Ranges cover both, and "
                     "the smaller values lose most of their levels. Hint: "
                     "preprocess all samples alike",
                     checked.mixed));
  }
  if (checked.unusual.empty()) return;
  std::string text;
  for (size_t i = 0; i < std::min(kNamed, checked.unusual.size()); ++i) {
    const UnusualSample& sample = checked.unusual[i];
    const auto index = static_cast<size_t>(sample.index);
    text += fmt::format("{}sample {}{} ({})", i == 0 ? "" : ", ", sample.index,
                        index < names.size() && !names[index].empty()
                            ? fmt::format(" '{}'", names[index])
                            : "",
                        text_of(sample));
  }
  if (checked.unusual.size() > kNamed) {
    text += fmt::format(" and {} more", checked.unusual.size() - kNamed);
  }
  const auto count = std::ssize(checked.unusual);
  warn("unusual_samples", subject,
       fmt::format("ignored {} of {} samples as unusual: {}", count,
                   count + checked.usual.size(), text));
}

}  // namespace octet::quant
