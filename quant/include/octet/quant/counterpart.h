// Counterparts: a float model and the quantized model that apply() returns for
// it. Their layers have the same names but for the prefix "quant_" of wrapped
// layers. These functions match names across the two.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include <octet/runtime/language.h>

namespace octet::quant {

/// Returns the wrapper's name: "quant_conv1" for "conv1".
std::string quantized_name(std::string_view layer);

/// Returns the name without the prefix: "conv1" for "quant_conv1" or "conv1".
std::string_view float_name(std::string_view layer);

/// Looks up a counterpart's layers among the names of a model's layers.
class CounterpartNames {
 public:
  explicit CounterpartNames(std::span<const std::string> names);
  /// Returns the index of the layer's name, else of the name with the prefix,
  /// else of the name without.
  std::optional<size_t> find(std::string_view layer) const;

 private:
  std::unordered_map<std::string, size_t> names_;
};

}  // namespace octet::quant
