// Sources: keras/engine/topology.py of Keras 1.2, keras/engine/saving.py of
// Keras 2.2, keras/src/legacy/saving/legacy_h5_format.py of Keras 3;
// quantize_wrappers.py of tensorflow-quantization 0.2.0.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "file_errors.h"
#include "keras/names.h"
#include "keras/stored.h"
#include "keras/training_only.h"
#include "printable.h"

namespace octet::io {
namespace {

StoredWeight stored_weight(const std::string& layer, const std::string& name,
                           const std::string& group) {
  if (name.empty()) {
    throw FormatError("invalid_value", "weight_names",
                      "names must not be empty");
  }
  StoredWeight weight{components(name), group + "/" + name};
  std::string& leaf = weight.path.back();
  if (leaf.ends_with(":0")) leaf.resize(leaf.size() - 2);
  // Keras 1: "conv1_W".
  if (leaf.starts_with(layer + "_")) leaf.erase(0, layer.size() + 1);
  return weight;
}

const std::string& leaf(const StoredWeight& weight) {
  return weight.path.back();
}

/// Returns "kernel" for "kernel_min" and the suffix "_min".
std::optional<std::string_view> without(std::string_view name,
                                        std::string_view end) {
  if (!name.ends_with(end)) return std::nullopt;
  name.remove_suffix(end.size());
  return name;
}

/// Returns the index of the quantized input in "ip", "ip2", "add_ip2".
std::optional<int> input_of(std::string_view name) {
  const size_t at = name.rfind("ip");
  if (at == name.npos || (at > 0 && name[at - 1] != '_')) return std::nullopt;
  const std::string_view number = name.substr(at + 2);
  if (number.empty()) return 0;
  int input = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), input);
  if (error != std::errc() || end != number.data() + number.size()) {
    return std::nullopt;
  }
  return input;
}

/// Weights by the last part of their name.
using ByLeaf = std::unordered_map<std::string_view, const StoredWeight*>;

ByLeaf by_leaf(const StoredLayer& layer) {
  ByLeaf weights;
  for (const StoredWeight& weight : layer.weights) {
    if (weights.emplace(leaf(weight), &weight).second) continue;
    throw UnsupportedError(
        "duplicate_name", "weight_names",
        fmt::format("'{}' appears twice: a model with several quantized layers "
                    "inside a layer is not supported",
                    printable(leaf(weight))));
  }
  return weights;
}

/// Returns the other end of a range. Throws: FormatError if there is none.
const StoredWeight& other_end(const ByLeaf& weights, const StoredWeight& end,
                              const std::string& wanted) {
  const auto found = weights.find(wanted);
  if (found != weights.end()) return *found->second;
  throw FormatError(
      "missing_value", "weight_names",
      fmt::format("no '{}' for '{}'", printable(wanted), printable(leaf(end))));
}

StoredRange range_of(std::string_view name, const StoredWeight& min,
                     const StoredWeight& max) {
  const std::optional<int> input = input_of(name);
  return {.parameter = input ? "" : std::string(name),
          .input = input.value_or(0),
          .min = min.dataset,
          .max = max.dataset};
}

/// Moves the ranges out of the weights of a layer. Each wrapper has an unused
/// variable `optimizer_step`; no layer of Keras has.
void take_ranges(StoredLayer& layer) {
  constexpr const char* kStep = "optimizer_step";
  if (std::ranges::find(layer.weights, kStep, leaf) == layer.weights.end()) {
    return;
  }
  const ByLeaf all = by_leaf(layer);
  std::vector<StoredWeight> weights;
  for (const StoredWeight& weight : layer.weights) {
    if (const auto low = without(leaf(weight), "_min")) {
      const std::string wanted = std::string(*low) + "_max";
      layer.ranges.push_back(
          range_of(*low, weight, other_end(all, weight, wanted)));
    } else if (const auto high = without(leaf(weight), "_max")) {
      (void)other_end(all, weight, std::string(*high) + "_min");
    } else if (leaf(weight) != kStep) {
      weights.push_back(weight);
    }
  }
  layer.weights = std::move(weights);
  std::ranges::stable_sort(layer.ranges, {}, &StoredRange::input);
}

StoredLayer stored_layer(const Hdf5Reader& file, const std::string& name,
                         const std::string& group) {
  if (name.empty()) {
    throw FormatError("invalid_value", "layer_names",
                      "names must not be empty");
  }
  const std::string at = group.empty() ? name : group + "/" + name;
  if (file.kind(at) != Hdf5Kind::group) {
    throw FormatError("malformed_file", "layer_names",
                      fmt::format("no group '{}'", at));
  }
  const auto weights = file.strings(at, "weight_names");
  if (!weights) {
    throw FormatError("malformed_file", "weight_names",
                      fmt::format("no such list on group '{}'", at));
  }
  StoredLayer layer{name, {}};
  for (const std::string& weight : *weights) {
    layer.weights.push_back(stored_weight(name, weight, at));
  }
  drop_training_statistics(layer.weights);
  take_ranges(layer);
  return layer;
}

}  // namespace

std::vector<StoredLayer> stored_layers(const Hdf5Reader& file,
                                       const std::string& group) {
  const auto names = file.strings(group, "layer_names");
  if (!names) {
    throw FormatError(
        "malformed_file", "layer_names",
        fmt::format("no such list on group '{}'", group.empty() ? "/" : group));
  }
  std::vector<StoredLayer> layers;
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : *names) {
    StoredLayer layer = in_file(
        [&] {
          return fmt::format("in the weights of layer '{}'", printable(name));
        },
        [&] { return stored_layer(file, name, group); });
    if (layer.weights.empty() && layer.ranges.empty()) continue;
    if (!seen.insert(name).second) {
      throw FormatError("duplicate_name", "layer_names",
                        fmt::format("'{}' appears twice", name));
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace octet::io
