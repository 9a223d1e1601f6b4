// compare_models(): accumulates differences of all values, batch by batch.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <octet/io/compare.h>
#include <octet/runtime/error.h>

#include "arranged.h"
#include "match.h"
#include "samples.h"

namespace octet::io {
namespace {

/// Sums over all batches.
struct Sums {
  bool comparable = true;
  double signal = 0;
  double noise = 0;
  double max_error = 0;
  double largest = 0;
  int64_t elements = 0;
  int64_t codes = 0;
  int64_t flips = 0;
};

float code_of(float value, const TensorQuantParams& qparams) {
  return std::clamp(std::nearbyint(value / qparams.scale) + qparams.zero_point,
                    qparams.lowest, qparams.highest);
}

/// The value as its consumers see it, except rounding.
float as_read(float value, const std::optional<TensorQuantParams>& qparams) {
  if (!qparams || !qparams->rectifies) return value;
  const float end = qparams->scale * (qparams->highest - qparams->zero_point);
  const bool ends_at_six = std::abs(end - 6) < 1e-5f;
  if (value < 0) return 0;  // NaN stays
  return ends_at_six && value > 6 ? 6.0f : value;
}

void add(Sums& sums, std::span<const float> a, std::span<const float> b,
         const std::optional<TensorQuantParams>& qparams) {
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = as_read(a[i], qparams), y = as_read(b[i], qparams);
    // Equal infinities and NaN count as equal.
    const bool same = x == y || (std::isnan(x) && std::isnan(y));
    const double error = same ? 0 : std::abs(y - x);
    if (std::isnan(error)) {
      sums.max_error = sums.noise = std::numeric_limits<double>::quiet_NaN();
    } else {
      sums.max_error = std::isnan(sums.max_error)
                           ? sums.max_error
                           : std::max(sums.max_error, error);
      sums.noise += error * error;
    }
    if (std::isfinite(x)) {
      sums.signal += x * x;
      sums.largest = std::max(sums.largest, std::abs(x));
    }
    if (qparams && code_of(a[i], *qparams) != code_of(b[i], *qparams))
      ++sums.flips;
  }
  sums.elements += static_cast<int64_t>(a.size());
  if (qparams) sums.codes += static_cast<int64_t>(a.size());
}

double share(const Sums& sums) {
  if (sums.noise == 0) return 0;
  return sums.signal == 0 ? std::numeric_limits<double>::infinity()
                          : sums.noise / sums.signal;
}

/// Returns each sample's argmax; -1 if a score is NaN.
std::vector<int64_t> classes_of(const Tensor& scores) {
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < scores.shape()[0]; ++i) {
    const Tensor row = scores.slice(i, 1);
    const auto all = row.f32();
    const bool number =
        std::ranges::none_of(all, [](float s) { return std::isnan(s); });
    classes.push_back(number ? std::ranges::max_element(all) - all.begin()
                             : -1);
  }
  return classes;
}

class Comparer {
 public:
  Comparer(const TracedModel& a, const TracedModel& b,
           const ModelComparisonOptions& options)
      : a_(a),
        b_(b),
        labels_(options.labels),
        matches_(match_values(a, b)),
        sums_(matches_.size()) {}

  void compare(const Tensor& x, const Tensor& z, int64_t first) {
    const std::vector<Tensor> ours = a_.run(x), theirs = b_.run(z);
    const bool turns = a_.channels_first() != b_.channels_first();
    const auto mixed_a = has_permuted_features(a_, ranks_of(ours));
    const auto mixed_b = has_permuted_features(b_, ranks_of(theirs));
    for (size_t m = 0; m < matches_.size(); ++m) {
      const ValueMatch& match = matches_[m];
      const bool mixed =
          turns && (mixed_a[match.a] || mixed_b[match.b]) && !match.is_output;
      // Inputs are the same samples, each in its model's axis order.
      const bool input = match.a == 0 && match.b == 0;
      add_match(m, ours[match.a], input ? ours[0] : theirs[match.b],
                turns && !input, mixed && !input);
    }
    count_classes(ours[a_.outputs()[0]], theirs[b_.outputs()[0]], first);
  }

  ModelComparison finish(int64_t samples) const {
    ModelComparison result{.samples = samples};
    // Noise of all values; that of a value without match is the largest of its
    // inputs.
    std::vector<double> noise(a_.values().size(), -1);
    size_t known = 0;
    for (size_t m = 0; m < matches_.size(); ++m) {
      const ValueMatch& match = matches_[m];
      const Sums& sums = sums_[m];
      if (!sums.comparable) continue;
      const TracedValue& value = a_.values()[match.a];
      // Matches and values are in topological order.
      for (; known < match.a; ++known) {
        if (noise[known] == -1) noise[known] = noise_read(known, noise);
      }
      ValueDifference difference{.name = value.name,
                                 .op = value.op,
                                 .elements = sums.elements,
                                 .max_error = sums.max_error,
                                 .largest = sums.largest,
                                 .noise = share(sums),
                                 .noise_read = noise_read(match.a, noise),
                                 .codes = sums.codes,
                                 .flips = sums.flips,
                                 .is_output = match.is_output};
      noise[match.a] = difference.noise;
      result.values.push_back(std::move(difference));
    }
    const auto found = static_cast<int64_t>(result.values.size());
    result.only_in_a = static_cast<int64_t>(a_.values().size()) - found;
    result.only_in_b = static_cast<int64_t>(b_.values().size()) - found;
    const auto share_of_rows = [&](int64_t count) {
      return static_cast<double>(count) / static_cast<double>(rows_);
    };
    if (rows_ > 0) {
      result.agreement = share_of_rows(agree_);
      if (!labels_.empty()) {
        result.accuracy_a = share_of_rows(right_a_);
        result.accuracy_b = share_of_rows(right_b_);
      }
    }
    return result;
  }

 private:
  static std::vector<int> ranks_of(const std::vector<Tensor>& values) {
    std::vector<int> ranks;
    for (const Tensor& value : values) {
      ranks.push_back(static_cast<int>(value.shape().rank()));
    }
    return ranks;
  }

  void add_match(size_t m, const Tensor& ours, const Tensor& theirs, bool turns,
                 bool mixed) {
    const ValueMatch& match = matches_[m];
    Sums& sums = sums_[m];
    const auto& qparams_b = b_.values()[match.b].qparams;
    const auto& qparams = qparams_b ? qparams_b : a_.values()[match.a].qparams;
    if (match.is_output) {
      const Tensor theirs_as_ours = output_as(match, ours, theirs);
      return add(sums, ours.f32(), theirs_as_ours.f32(), qparams);
    }
    Tensor mine = ours, other = theirs;
    const int rank = static_cast<int>(mine.shape().rank());
    if (turns && rank == other.shape().rank() && has_channels(mine.shape())) {
      Tensor& first = a_.channels_first() ? mine : other;
      const Shape& last = a_.channels_first() ? other.shape() : mine.shape();
      const Tensor turned = to_channels_last(first);
      // Tokens have the same order in model and file; if both sizes are equal,
      // the order is ambiguous.
      const bool as_is = first.shape() == last;
      if (rank == 3 && as_is && turned.shape() == last) mixed = true;
      if (rank == 4 || !as_is) first = turned;
    }
    if (mixed || mine.shape() != other.shape()) {
      sums.comparable = false;
      return;
    }
    add(sums, mine.f32(), other.f32(), qparams);
  }

  static std::optional<OnnxLayout> layout_of(const TracedModel& model,
                                             size_t value) {
    const auto& outputs = model.outputs();
    const auto found = std::ranges::find(outputs, value);
    return model.output_layout(static_cast<size_t>(found - outputs.begin()));
  }

  /// Returns an output of b in the axis order of a's. Files define their order;
  /// a model without a file has channels last.
  Tensor output_as(const ValueMatch& match, const Tensor& ours,
                   const Tensor& theirs) const {
    const Shape& shape = ours.shape();
    const bool moves =
        has_channels(shape) && shape.rank() == theirs.shape().rank();
    const auto layout_a = layout_of(a_, match.a);
    const auto layout_b = layout_of(b_, match.b);
    if (moves && layout_a && layout_b) {
      const int rank = shape.rank();
      const Tensor moved =
          in_axes(theirs, axes_of(*layout_b, rank), axes_of(*layout_a, rank));
      if (moved.shape() == shape) return moved;
    }
    if (moves && (a_.is_file() != b_.is_file() || theirs.shape() != shape)) {
      for (const Tensor& moved :
           {a_.is_file() ? to_channels_first(theirs) : to_channels_last(theirs),
            a_.is_file() ? to_channels_last(theirs)
                         : to_channels_first(theirs)}) {
        const bool wanted = shape.rank() == 4 || theirs.shape() != shape;
        if (wanted && moved.shape() == shape) return moved;
      }
    }
    if (theirs.shape() == shape) return theirs;
    throw ShapeError(
        "shape_mismatch", "compare",
        fmt::format("outputs must have the same shape, got {} and {}",
                    shape.to_string(), theirs.shape().to_string()));
  }

  void count_classes(const Tensor& ours, const Tensor& theirs, int64_t first) {
    if (ours.shape().rank() != 2 || ours.shape()[1] < 2) {
      if (labels_.empty()) return;
      throw ValueError("invalid_shape", "labels",
                       fmt::format("need a first output [n,classes], got {}",
                                   ours.shape().to_string()));
    }
    const auto a = classes_of(ours), b = classes_of(theirs);
    rows_ += std::ssize(a);
    if (!labels_.empty() && first + std::ssize(a) > labels_.size()) {
      throw ShapeError("count_mismatch", "labels",
                       fmt::format("need a label for each row of the first "
                                   "output, got {} for {} rows",
                                   labels_.size(), first + std::ssize(a)));
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) ++agree_;
      if (labels_.empty()) continue;
      const int64_t label =
          labels_.data<int64_t>()[static_cast<size_t>(first) + i];
      if (label < 0 || label >= ours.shape()[1]) {
        throw ValueError(
            "out_of_range", "labels",
            fmt::format("must be in [0,{}), got {}", ours.shape()[1], label));
      }
      if (a[i] == label) ++right_a_;
      if (b[i] == label) ++right_b_;
    }
  }

  double noise_read(size_t value, const std::vector<double>& noise) const {
    double largest = 0;
    for (const size_t read : a_.values()[value].reads) {
      if (std::isnan(noise[read])) return noise[read];
      largest = std::max(largest, noise[read]);
    }
    return largest;
  }

  const TracedModel& a_;
  const TracedModel& b_;
  const Tensor labels_;
  std::vector<ValueMatch> matches_;
  std::vector<Sums> sums_;
  int64_t rows_ = 0;  // of the first output, with a class each
  int64_t agree_ = 0, right_a_ = 0, right_b_ = 0;
};

/// Returns the fixed batch size of a file, otherwise `batch`.
int64_t batch_for(const TracedModel& model, int64_t batch, int64_t n) {
  const int64_t fixed = model.input_shape()[0];
  if (fixed == Shape::kAnySize) return batch;
  if (fixed < 1 || n % fixed != 0) {
    throw ShapeError("count_mismatch", "compare",
                     fmt::format("number of samples must be a multiple of the "
                                 "file's batch size {}, got {}",
                                 fixed, n));
  }
  return fixed;
}

}  // namespace

ModelComparison compare_models(const TracedModel& a, const TracedModel& b,
                               const Tensor& x,
                               const ModelComparisonOptions& options) {
  const SamplePair samples = samples_for(a, b, x, options.layout);
  const int64_t n = x.shape()[0];
  if (options.batch < 1) {
    throw ValueError("out_of_range", "ModelComparisonOptions.batch",
                     fmt::format("must be at least 1, got {}", options.batch));
  }
  if (!options.labels.empty() && (options.labels.dtype() != DType::i64 ||
                                  options.labels.shape() != Shape{n})) {
    throw ValueError(
        "invalid_shape", "labels",
        fmt::format(
            "must be int64 [{}], got {}{}", n,
            options.labels.shape().to_string(),
            options.labels.dtype() == DType::i64 ? "" : " of another type"));
  }
  const int64_t batch_a = batch_for(a, options.batch, n);
  const int64_t batch_b = batch_for(b, batch_a, n);
  if (batch_a != batch_b && batch_a != options.batch) {
    throw ShapeError(
        "shape_mismatch", "compare",
        fmt::format("files must have the same batch size, got {} and {}",
                    batch_a, batch_b));
  }
  Comparer comparer(a, b, options);
  for (int64_t first = 0; first < n; first += batch_b) {
    const int64_t count = std::min(batch_b, n - first);
    comparer.compare(samples.a.slice(first, count),
                     samples.b.slice(first, count), first);
  }
  return comparer.finish(n);
}

Tensor samples_as_in(const TracedModel& model, const TracedModel& other,
                     const Tensor& x, OnnxLayout layout) {
  // Equals compare_models(other, model, x).
  return samples_for(other, model, x, layout).b;
}

double batch_difference(const TracedModel& model, const Tensor& x) {
  if (model.input_shape()[0] != Shape::kAnySize) return 0;
  const std::vector<Tensor> all = model.run(x);
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < x.shape()[0]; ++i) {
    const std::vector<Tensor> one = model.run(x.slice(i, 1));
    for (const size_t output : model.outputs()) {
      const Tensor row = all[output].slice(i, 1);
      const auto together = row.f32();
      const auto alone = one[output].f32();
      for (size_t k = 0; k < alone.size(); ++k) {
        const double error = alone[k] == together[k]  // also if infinite
                                 ? 0
                                 : std::abs(double{alone[k]} - together[k]);
        // NaN persists over all later values.
        if (!(error <= difference)) difference = error;
        largest = std::max(largest, std::abs(double{together[k]}));
      }
      if (std::isnan(difference)) return difference;
    }
  }
  return difference == 0 ? 0 : difference / largest;
}

double ValueDifference::sqnr() const { return -10 * std::log10(noise); }

double ValueDifference::added_noise() const {
  if (std::isnan(noise)) return std::isnan(noise_read) ? 0 : noise;
  if (std::isinf(noise) && std::isinf(noise_read)) return 0;
  return std::max(0.0, noise - noise_read);
}

std::vector<ValueDifference> ModelComparison::by_noise() const {
  std::vector<ValueDifference> sorted = values;
  const auto key = [](const ValueDifference& value) {
    const double added = value.added_noise();
    return std::isnan(added) ? std::numeric_limits<double>::infinity() : added;
  };
  std::ranges::stable_sort(
      sorted, [&](const auto& x, const auto& y) { return key(x) > key(y); });
  return sorted;
}

double ModelComparison::output_sqnr() const {
  double least = std::numeric_limits<double>::infinity();
  for (const ValueDifference& value : values) {
    if (!value.is_output) continue;
    const double sqnr = value.sqnr();
    if (std::isnan(sqnr)) return sqnr;
    least = std::min(least, sqnr);
  }
  return least;
}

double ModelComparison::flip_share() const {
  int64_t codes = 0, flips = 0;
  for (const ValueDifference& value : values) {
    codes += value.codes;
    flips += value.flips;
  }
  return codes == 0 ? 0
                    : static_cast<double>(flips) / static_cast<double>(codes);
}

Config to_config(const ModelComparison& comparison) {
  // JSON has neither infinity nor NaN: they become null.
  const auto number = [](double value) {
    return std::isfinite(value) ? Config(value) : Config();
  };
  const auto optional = [](const std::optional<double>& value) {
    return value ? Config(*value) : Config();
  };
  Config::List values;
  for (const ValueDifference& value : comparison.by_noise()) {
    values.push_back(
        Config::Object{{"name", value.name},
                       {"op", value.op},
                       {"elements", value.elements},
                       {"max_error", number(value.max_error)},
                       {"largest", value.largest},
                       {"sqnr", number(value.sqnr())},
                       {"equal", value.noise == 0},
                       {"added_noise", number(value.added_noise())},
                       {"codes", value.codes},
                       {"flips", value.flips},
                       {"output", value.is_output}});
  }
  return Config::Object{{"samples", comparison.samples},
                        {"only_in_a", comparison.only_in_a},
                        {"only_in_b", comparison.only_in_b},
                        {"agreement", optional(comparison.agreement)},
                        {"accuracy_a", optional(comparison.accuracy_a)},
                        {"accuracy_b", optional(comparison.accuracy_b)},
                        {"output_sqnr", number(comparison.output_sqnr())},
                        {"flip_share", comparison.flip_share()},
                        {"values", std::move(values)}};
}

}  // namespace octet::io
