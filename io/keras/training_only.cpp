#include "keras/training_only.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/names.h"
#include "printable.h"

namespace octet::io {
namespace {

bool is_set(const Config& value) {
  return !value.is_null() && !(value.is_bool() && !value.as_bool());
}

bool is_training_only(std::string_view key) {
  return key == "renorm" || key == "virtual_batch_size" ||
         key == "activity_regularizer" || key.ends_with("_constraint");
}

void add_options(const KerasLayer& layer, std::vector<std::string>& found) {
  if (layer.graph != nullptr) {
    for (const KerasLayer& each : layer.graph->layers) add_options(each, found);
  }
  if (layer.inner != nullptr) add_options(*layer.inner, found);
  if (layer.class_name == "SpectralNormalization") {
    found.push_back(text_of(layer));
  }
  if (!layer.config.is_object()) return;
  for (const auto& [key, value] : layer.config.as_object()) {
    if (!is_training_only(key) || !is_set(value)) continue;
    found.push_back(fmt::format("{} of {}", printable(key), text_of(layer)));
  }
}

}  // namespace

void warn_of_training_options(const KerasGraph& graph,
                              const std::string& file) {
  std::vector<std::string> found;
  for (const KerasLayer& layer : graph.layers) add_options(layer, found);
  if (found.empty()) return;
  warn("layers_ignored", printable(file),
       fmt::format(
           "ignored {}, which affect training only; outputs are the same",
           listed(found)));
}

void drop_training_statistics(std::vector<StoredWeight>& weights) {
  const auto is_leaf = [](const StoredWeight& weight, std::string_view name) {
    return weight.path.back() == name;
  };
  std::erase_if(weights, [&](const StoredWeight& each) {
    return is_leaf(each, "vector_u");  // of SpectralNormalization
  });
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(
        weights, [&](const StoredWeight& each) { return is_leaf(each, name); });
  };
  if (!has("moving_mean") || !has("moving_variance")) return;
  const bool renorm = has("moving_stddev");
  std::erase_if(weights, [&](const StoredWeight& each) {
    // Without the prefix in a layer with the name "renorm".
    return is_leaf(each, "renorm_mean") || is_leaf(each, "renorm_stddev") ||
           is_leaf(each, "moving_stddev") ||
           (renorm && (is_leaf(each, "mean") || is_leaf(each, "stddev")));
  });
}

}  // namespace octet::io
