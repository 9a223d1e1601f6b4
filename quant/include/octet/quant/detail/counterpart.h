// Counterparts: a float model and the model that quant::apply() quantized from
// it. Corresponding layers have the same name, except that wrapped layers of
// the quantized model have the prefix "quant_". These functions match layers of
// the two models by name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include <octet/runtime/detail/language.h>

namespace octet::quant {

/// Returns the name of a layer's wrapper: "quant_conv1" for "conv1".
std::string quantized_name(std::string_view layer);

/// Returns the name without the prefix: "conv1" for "quant_conv1" or "conv1".
std::string_view float_name(std::string_view layer);

/// Finds the layers of a model that correspond to layers of its counterpart.
class CounterpartNames {
 public:
  /// `names` are the model's layer names.
  explicit CounterpartNames(std::span<const std::string> names);
  /// Returns the index in `names` of the first match among `layer`,
  /// quantized_name(layer) and float_name(layer); nullopt without a match.
  std::optional<size_t> find(std::string_view layer) const;

 private:
  std::unordered_map<std::string, size_t> names_;
};

}  // namespace octet::quant
