#include "match.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io {
namespace {

constexpr std::array<std::string_view, 8> kReorders = {
    "Flatten", "Reshape",   "Transpose", "Permute",
    "Squeeze", "Unsqueeze", "Identity",  "Expand"};
constexpr std::array<std::string_view, 4> kProducts = {"Dense", "QuantDense",
                                                       "Gemm", "MatMul"};

using Names = std::unordered_map<std::string, size_t>;

/// Returns names, numbered if a layer is called repeatedly.
std::vector<std::string> unique_names(const std::vector<TracedValue>& values) {
  std::unordered_map<std::string, int> calls;
  std::vector<std::string> names;
  for (const TracedValue& value : values) {
    const int call = calls[value.name]++;
    names.push_back(call == 0 ? value.name
                              : fmt::format("{}#{}", value.name, call));
  }
  return names;
}

class Side {
 public:
  explicit Side(const TracedModel& model)
      : values_(model.values()),
        names_(unique_names(values_)),
        consumers_(values_.size()),
        outputs_(model.outputs().begin(), model.outputs().end()) {
    for (size_t i = 0; i < values_.size(); ++i) {
      where_.emplace(names_[i], i);
      for (const size_t read : values_[i].reads) consumers_[read].push_back(i);
    }
  }

  const std::vector<std::string>& names() const { return names_; }
  const Names& where() const { return where_; }

  /// Returns the last layer of the chain after value i that the other model
  /// lacks; each is the only consumer of its predecessor.
  size_t last_own(size_t i, const Names& other) const {
    while (!outputs_.contains(i) && consumers_[i].size() == 1) {
      const size_t next = consumers_[i][0];
      if (other.contains(names_[next]) || values_[next].reads.size() != 1) {
        break;
      }
      i = next;
    }
    return i;
  }

 private:
  const std::vector<TracedValue>& values_;
  std::vector<std::string> names_;
  std::vector<std::vector<size_t>> consumers_;
  std::set<size_t> outputs_;
  Names where_;
};

}  // namespace

std::vector<ValueMatch> match_values(const TracedModel& a,
                                     const TracedModel& b) {
  if (a.outputs().size() != b.outputs().size()) {
    throw ValueError(
        "count_mismatch", "compare",
        fmt::format(
            "models must have the same number of outputs, got {} and {}",
            a.outputs().size(), b.outputs().size()));
  }
  const Side side_a(a), side_b(b);
  std::map<size_t, ValueMatch> matches;
  std::set<size_t> taken;
  const auto match = [&](size_t i, size_t k, bool is_output) {
    if (!matches.contains(i) && taken.insert(k).second) {
      matches[i] = {i, k, is_output};
    }
  };
  match(0, 0, false);
  for (size_t i = 0; i < a.outputs().size(); ++i) {
    match(a.outputs()[i], b.outputs()[i], true);
  }
  for (size_t i = 1; i < side_a.names().size(); ++i) {
    const auto found = side_b.where().find(side_a.names()[i]);
    if (found == side_b.where().end()) continue;
    match(side_a.last_own(i, side_b.where()),
          side_b.last_own(found->second, side_a.where()), false);
  }
  std::vector<ValueMatch> result;
  for (const auto& [i, found] : matches) result.push_back(found);
  return result;
}

std::vector<bool> has_permuted_features(const TracedModel& model,
                                        const std::vector<int>& ranks) {
  const auto& values = model.values();
  std::vector<bool> mixed(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const TracedValue& value = values[i];
    const bool reorders =
        std::ranges::find(kReorders, value.op) != kReorders.end();
    const bool product =
        std::ranges::find(kProducts, value.op) != kProducts.end();
    for (const size_t read : value.reads) {
      if (reorders && ranks[read] != ranks[i]) mixed[i] = true;
      if (mixed[read] && !product) mixed[i] = true;
    }
  }
  return mixed;
}

}  // namespace octet::io
