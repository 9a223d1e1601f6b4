// Content of a TracedModel. Internal to io/comparison.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/io/compare.h>

namespace octet::io {

struct TracedModel::Body {
  std::vector<TracedValue> values;
  std::vector<size_t> outputs;
  std::vector<std::optional<OnnxLayout>> output_layouts;
  bool channels_first = false;  // between layers
  std::optional<bool> input_channels_first = false;
  bool is_file = false;
  Shape input_shape;
  std::function<std::vector<Tensor>(const Tensor&)> run;
};

/// Joins a value of several single samples along a batch axis, which is added
/// unless the value has a leading axis of size 1.
Tensor joined(const std::vector<std::vector<Tensor>>& samples, size_t value);

/// Removes all "quant_" prefixes: layers of an imported file that are quantized
/// again have two.
std::string plain_name(std::string_view name);

}  // namespace octet::io
