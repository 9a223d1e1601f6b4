// Weights as Keras 1, Keras 2 and the .h5 of Keras 3 have them.
// Sources: keras/engine/topology.py of Keras 1.2, keras/engine/saving.py of
// Keras 2.2, keras/src/legacy/saving/legacy_h5_format.py of Keras 3.
#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/errors.h"
#include "keras/stored.h"
#include "printable.h"

namespace octet::io {
namespace {

struct StoredWeight {
  std::vector<std::string> path;  // {"conv1", "kernel"}
  std::string dataset;
};
struct StoredLayer {
  std::string name;
  std::vector<StoredWeight> weights;
};

// What Keras called a weight, and what Octet does.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"W", "kernel"},
    {"alphas", "alpha"},
    {"b", "bias"},
    {"kernel", "depthwise_kernel"},
    {"running_mean", "moving_mean"},
    {"running_std", "moving_variance"},  // Keras 1 has the variance under it
    {"running_variance", "moving_variance"},
};

StoredWeight stored_weight(const std::string& layer, const std::string& name,
                           const std::string& group) {
  if (name.empty()) {
    throw FormatError("weight_names: expected names, got an empty one");
  }
  StoredWeight weight{components(name), group + "/" + name};
  std::string& leaf = weight.path.back();
  if (leaf.ends_with(":0")) leaf.resize(leaf.size() - 2);
  // Keras 1: "conv1_W".
  if (leaf.starts_with(layer + "_")) leaf.erase(0, layer.size() + 1);
  return weight;
}

std::vector<StoredLayer> stored_layers(const Hdf5Reader& file,
                                       const std::string& group) {
  const auto names = file.strings(group, "layer_names");
  if (!names) {
    throw FormatError(fmt::format(
        "layer_names: expected the names of the layers on group '{}', got none",
        group.empty() ? "/" : group));
  }
  std::vector<StoredLayer> layers;
  for (const std::string& name : *names) {
    in_file(
        [&] {
          return fmt::format("in the weights of layer '{}'", printable(name));
        },
        [&] {
          if (name.empty()) {
            throw FormatError("layer_names: expected names, got an empty one");
          }
          const std::string at = group.empty() ? name : group + "/" + name;
          if (file.kind(at) != Hdf5Kind::group) {
            throw FormatError(fmt::format(
                "layer_names: expected a group '{}' for each, got none", at));
          }
          const auto weights = file.strings(at, "weight_names");
          if (!weights) {
            throw FormatError(fmt::format(
                "weight_names: expected a list on group '{}', got none", at));
          }
          StoredLayer layer{name, {}};
          for (const std::string& weight : *weights) {
            layer.weights.push_back(stored_weight(name, weight, at));
          }
          if (!layer.weights.empty()) layers.push_back(std::move(layer));
        });
  }
  return layers;
}

template <class Items, class Text>
std::string listed(const Items& items, Text text) {
  constexpr size_t kMost = 20;
  std::string result;
  for (size_t i = 0; i < std::min(items.size(), kMost); ++i) {
    result += fmt::format("{}{}", i == 0 ? "" : ", ", text(items[i]));
  }
  if (items.size() > kMost) {
    result += fmt::format(", ... ({} in all)", items.size());
  }
  return result.empty() ? "none" : result;
}

std::string joined(std::span<const std::string> path) {
  return fmt::format("{}", fmt::join(path, "/"));
}

// The stored weights by their names from any part on, under every name that
// the last part may have in Octet.
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

  /// The weight whose path ends in `wanted`, or that is the end of `wanted`
  /// and more than its last part. Nothing if there are none or several.
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
  // Nested deeper than any model is.
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

// Which stored weight each target is, if the names tell.
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
    throw FormatError(fmt::format(
        "weights of layer '{}' ({}): expected {} ({}), got {} ({})", layer.name,
        layer.class_name, targets.size(),
        listed(wanted, [](const auto& path) { return joined(path); }),
        stored.weights.size(),
        listed(stored.weights,
               [](const StoredWeight& w) { return joined(w.path); })));
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

std::vector<const TargetLayer*> with_weights(
    const std::vector<TargetLayer>& targets) {
  std::vector<const TargetLayer*> result;
  for (const TargetLayer& target : targets) {
    if (has_weights(target)) result.push_back(&target);
  }
  return result;
}

std::string quoted_name(const std::string& name) {
  return fmt::format("'{}'", printable(name));
}

std::vector<Assignment> match_by_order(
    const std::vector<const TargetLayer*>& targets,
    const std::vector<StoredLayer>& stored) {
  if (targets.size() != stored.size()) {
    throw FormatError(fmt::format(
        "layers with weights: expected {}, as the model has, got {} ({})",
        targets.size(), stored.size(), listed(stored, [](const StoredLayer& s) {
          return quoted_name(s.name);
        })));
  }
  std::vector<Assignment> assignments;
  for (size_t i = 0; i < targets.size(); ++i) {
    in_file(
        [&] {
          return fmt::format("by order: layer '{}' of the file",
                             stored[i].name);
        },
        [&] { match_layer(*targets[i], stored[i], assignments); });
  }
  return assignments;
}

std::vector<Assignment> match_by_name(
    const std::vector<const TargetLayer*>& targets,
    const std::vector<StoredLayer>& stored, bool partial) {
  std::unordered_map<std::string_view, const StoredLayer*> by_name;
  for (const StoredLayer& layer : stored) {
    if (!by_name.emplace(layer.name, &layer).second) {
      throw FormatError(fmt::format(
          "layer_names: expected each name once, got '{}' twice", layer.name));
    }
  }
  std::vector<Assignment> assignments;
  std::vector<std::string> missing;
  for (const TargetLayer* target : targets) {
    const auto found = by_name.find(target->name);
    if (found == by_name.end()) {
      missing.push_back(target->name);
      continue;
    }
    match_layer(*target, *found->second, assignments);
    by_name.erase(found);
  }
  std::vector<std::string> left;
  for (const StoredLayer& layer : stored) {
    if (by_name.contains(layer.name)) left.push_back(layer.name);
  }
  if (partial || (missing.empty() && left.empty())) return assignments;
  throw FormatError(fmt::format(
      "layers with weights: expected the same in model and file, got {} only "
      "in the model and {} only in the file; KerasOptions::match takes them by "
      "order",
      listed(missing, quoted_name), listed(left, quoted_name)));
}

}  // namespace

std::vector<Assignment> match_legacy(const Hdf5Reader& file,
                                     const std::string& group,
                                     std::vector<TargetLayer>& targets,
                                     const KerasOptions& options) {
  const std::vector<StoredLayer> stored = stored_layers(file, group);
  std::vector<std::string> names;
  for (const StoredLayer& layer : stored) names.push_back(layer.name);
  if (options.match == KerasMatch::by_order) {
    return match_by_order(with_weights(targets), stored);
  }
  regroup(targets, names);
  return match_by_name(with_weights(targets), stored, options.partial);
}

}  // namespace octet::io
