// Matches the weights of a legacy file with parameters.
#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include <octet/quant/detail/counterpart.h>
#include <octet/runtime/error.h>

#include "file_errors.h"
#include "keras/names.h"
#include "keras/stored.h"
#include "printable.h"

namespace octet::io {
namespace {

// Names of a weight in Keras and in Octet.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"W", "kernel"},
    {"alphas", "alpha"},
    {"b", "bias"},
    {"kernel", "depthwise_kernel"},
    {"running_mean", "moving_mean"},
    {"running_std", "moving_variance"},  // Keras 1 stores the variance in it
    {"running_variance", "moving_variance"},
};

std::string joined(std::span<const std::string> path) {
  return fmt::format("{}", fmt::join(path, "/"));
}

std::vector<std::string> joined(
    const std::vector<std::vector<std::string>>& paths) {
  std::vector<std::string> result;
  for (const auto& path : paths) result.push_back(joined(path));
  return result;
}

// Stored weights by each suffix of their path, for all names that the last part
// may have in Octet.
class NameIndex {
 public:
  explicit NameIndex(const std::vector<StoredWeight>& stored) {
    for (size_t i = 0; i < stored.size(); ++i) {
      std::vector<std::string> path = stored[i].path;
      const std::string leaf = path.back();
      add(path, i);
      for (const auto& [old_name, name] : kAliases) {
        if (leaf != old_name) continue;
        path.back() = name;
        add(path, i);
      }
    }
  }

  /// Returns the only weight whose path ends in `wanted`, or that is a suffix
  /// of `wanted` of at least two parts. Nothing if there are none or several.
  std::optional<size_t> find(std::span<const std::string> wanted) const {
    Hits hits = at(ends_, joined(wanted));
    for (size_t n = 2; n < std::min(wanted.size(), kMostParts); ++n) {
      const Hits more = at(wholes_, joined(wanted.last(n)));
      hits.count += more.count;
      if (more.count > 0) hits.index = more.index;
    }
    if (hits.count != 1) return std::nullopt;
    return hits.index;
  }

 private:
  struct Hits {
    size_t count = 0;
    size_t index = 0;
  };
  using Map = std::unordered_map<std::string, Hits>;
  // Limit of nesting, deeper than any model.
  static constexpr size_t kMostParts = 16;

  static Hits at(const Map& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? Hits{} : found->second;
  }
  void add(std::span<const std::string> path, size_t index) {
    for (size_t n = 1; n <= std::min(path.size(), kMostParts); ++n) {
      Hits& hits = ends_[joined(path.last(n))];
      ++hits.count;
      hits.index = index;
    }
    Hits& whole = wholes_[joined(path)];
    ++whole.count;
    whole.index = index;
  }

  Map ends_;
  Map wholes_;
};

// Returns the stored weight of each target, if the names are unique.
std::optional<std::vector<size_t>> by_names(
    const std::vector<std::vector<std::string>>& wanted,
    const std::vector<StoredWeight>& stored) {
  const NameIndex index(stored);
  std::vector<size_t> order;
  std::vector<bool> used(stored.size());
  for (const std::vector<std::string>& path : wanted) {
    const std::optional<size_t> found = index.find(path);
    if (!found || used[*found]) return std::nullopt;
    used[*found] = true;
    order.push_back(*found);
  }
  return order;
}

void match_layer(const TargetLayer& layer, const StoredLayer& stored,
                 std::vector<Assignment>& assignments) {
  const std::vector<PlacedTarget> targets = flattened(layer);
  std::vector<std::vector<std::string>> wanted;
  for (const PlacedTarget& t : targets) {
    std::vector<std::string> path;
    for (const std::string& name : t.path) {
      for (std::string& part : components(name))
        path.push_back(std::move(part));
    }
    wanted.push_back(std::move(path));
  }
  if (targets.size() != stored.weights.size()) {
    std::vector<std::vector<std::string>> there;
    for (const StoredWeight& w : stored.weights) there.push_back(w.path);
    throw FormatError(
        "count_mismatch",
        fmt::format("weights of layer '{}' ({})", layer.name, layer.class_name),
        fmt::format("must be {} ({}), got {} ({})", targets.size(),
                    listed(joined(wanted)), stored.weights.size(),
                    listed(joined(there))));
  }
  const auto order = by_names(wanted, stored.weights);
  for (size_t i = 0; i < targets.size(); ++i) {
    const StoredWeight& weight = stored.weights[order ? (*order)[i] : i];
    assignments.push_back(
        {targets[i].target, weight.dataset,
         fmt::format("weight '{}' of layer '{}' ({})", joined(wanted[i]),
                     layer.name, layer.class_name)});
  }
}

std::string quoted(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) {
    result.push_back(fmt::format("'{}'", printable(name)));
  }
  return listed(result);
}

}  // namespace

std::vector<Assignment> match_legacy(const std::vector<StoredLayer>& stored,
                                     std::vector<TargetLayer>& targets,
                                     const KerasOptions& options) {
  const bool by_order = options.match == KerasMatch::by_order;
  std::vector<std::string> names;
  for (const StoredLayer& layer : stored) names.push_back(layer.name);
  if (!by_order) regroup(targets, names);
  // Layers with ranges only have no weights.
  std::vector<const StoredLayer*> there;
  names.clear();
  for (const StoredLayer& layer : stored) {
    if (layer.weights.empty()) continue;
    there.push_back(&layer);
    names.push_back(layer.name);
  }
  const auto wanted = std::ranges::count_if(targets, has_weights);
  if (by_order && wanted != std::ssize(there)) {
    throw FormatError("count_mismatch", "layers with weights",
                      fmt::format("the model has {}, the file has {} ({})",
                                  wanted, there.size(), quoted(names)));
  }
  const quant::CounterpartNames by_name(names);
  std::vector<bool> used(there.size());
  std::vector<Assignment> assignments;
  std::vector<std::string> missing;
  size_t next = 0;
  for (const TargetLayer& target : targets) {
    if (!has_weights(target)) continue;
    const std::optional<size_t> found =
        by_order ? next++ : by_name.find(target.name);
    if (!found || used[*found]) {
      missing.push_back(target.name);
      continue;
    }
    used[*found] = true;
    const StoredLayer& layer = *there[*found];
    if (by_order) {
      in_file(
          [&] {
            return fmt::format("by order: layer '{}' of the file", layer.name);
          },
          [&] { match_layer(target, layer, assignments); });
    } else {
      match_layer(target, layer, assignments);
    }
  }
  std::vector<std::string> left;
  for (size_t i = 0; i < there.size(); ++i) {
    if (!used[i]) left.push_back(names[i]);
  }
  if (options.partial || (missing.empty() && left.empty())) return assignments;
  throw FormatError(
      "unknown_name", "layers with weights",
      fmt::format("must be the same in model and file, got {} only in the "
                  "model and {} only in the file. Hint: KerasOptions.match = "
                  "KerasMatch::by_order matches by order",
                  quoted(missing), quoted(left)));
}

}  // namespace octet::io
