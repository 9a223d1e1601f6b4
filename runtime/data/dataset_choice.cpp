// Random subsets of a Dataset.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/dataset.h>
#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>

namespace octet {
namespace {

/// Reorders `order` so that a stratified choice of `count` samples is first.
std::vector<int64_t> stratified_order(std::span<const int64_t> order,
                                      std::span<const int64_t> labels,
                                      int64_t count) {
  std::map<int64_t, std::vector<int64_t>> classes;
  for (const int64_t i : order) {
    classes[labels[static_cast<size_t>(i)]].push_back(i);
  }
  struct Share {
    const std::vector<int64_t>* samples;
    int64_t whole;
    double fraction;
  };
  std::vector<Share> shares;
  int64_t left = std::min(count, std::ssize(order));
  const double rate =
      static_cast<double>(left) / static_cast<double>(order.size());
  for (const auto& [label, samples] : classes) {
    const double wanted = rate * static_cast<double>(samples.size());
    const auto whole = static_cast<int64_t>(wanted);
    shares.push_back({&samples, whole, wanted - static_cast<double>(whole)});
    left -= whole;
  }
  std::ranges::stable_sort(shares, std::ranges::greater{}, &Share::fraction);
  std::vector<int64_t> first;
  for (Share& share : shares) {
    if (left > 0 && share.whole < std::ssize(*share.samples)) {
      ++share.whole;
      --left;
    }
    first.insert(first.end(), share.samples->begin(),
                 share.samples->begin() + share.whole);
  }
  return first;
}

}  // namespace

Dataset Dataset::shuffled(uint64_t seed) const {
  return at(Rng(seed).child("shuffled").permutation(count_));
}

/// Takes the first samples of a permutation. Stratified: the first of each
/// class, in proportion, with the largest fractions rounded up (Hamilton's
/// method).
std::vector<int64_t> Dataset::chosen(int64_t count,
                                     const SplitOptions& options) const {
  std::vector<int64_t> order =
      Rng(options.seed).child("chosen").permutation(count_);
  if (options.stratified) {
    if (label_type() != DType::i64 || label_shape().rank() != 0) {
      throw ValueError(
          "dtype_mismatch", "dataset",
          fmt::format("stratified parts need class indices as labels (i64, one "
                      "per sample), got {} {}",
                      to_string(label_type()), label_shape().to_string()));
    }
    const Tensor all = labels();
    order = stratified_order(order, all.data<int64_t>(), count);
  }
  order.resize(static_cast<size_t>(std::min(count, count_)));
  std::ranges::sort(order);
  return order;
}

Dataset Dataset::sample(int64_t count, const SplitOptions& options) const {
  if (count < 1) {
    throw ValueError(
        "out_of_range", "dataset",
        fmt::format("sample() needs a count of at least 1, got {}", count));
  }
  return at(chosen(count, options));
}

std::pair<Dataset, Dataset> Dataset::hold_out(
    double share, const SplitOptions& options) const {
  const double wanted = (1 - share) * static_cast<double>(count_);
  const int64_t count = share > 0 && share < 1 ? std::llround(wanted) : 0;
  if (count < 1 || count >= count_) {
    throw ValueError(
        "out_of_range", "dataset",
        fmt::format("hold_out() needs a share in (0,1) that leaves samples in "
                    "both parts, got {} of {} samples",
                    std::isnan(share) ? "nan" : fmt::format("{}", share),
                    count_));
  }
  const std::vector<int64_t> first = chosen(count, options);
  std::vector<int64_t> all(static_cast<size_t>(count_));
  std::iota(all.begin(), all.end(), int64_t{0});
  std::vector<int64_t> rest;
  std::ranges::set_difference(all, first, std::back_inserter(rest));
  return {at(first), at(rest)};
}

std::vector<int64_t> missing_classes(const Dataset& part,
                                     const Dataset& whole) {
  const auto known_classes = [](const Dataset& data) {
    const std::vector<TensorSpec> labels = data.label_specs();
    return labels.size() == 1 && labels[0].dtype == DType::i64 &&
           labels[0].shape.rank() == 0 && data.labels_known();
  };
  if (!known_classes(part) || !known_classes(whole)) return {};
  const auto classes = [](const Dataset& data) {
    const Tensor labels = data.labels();
    const auto values = labels.data<int64_t>();
    return std::set<int64_t>(values.begin(), values.end());
  };
  std::vector<int64_t> missing;
  std::ranges::set_difference(classes(whole), classes(part),
                              std::back_inserter(missing));
  return missing;
}

}  // namespace octet
