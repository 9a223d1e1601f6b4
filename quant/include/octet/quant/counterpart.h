// A float model and what apply() made of it are counterparts: they have the
// same layers, those with quantizers under names that begin with "quant_". Code
// that compares names of layers across the two asks here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include <octet/runtime/language.h>

namespace octet::quant {

/// "quant_conv1": what apply() calls a wrapper of "conv1".
std::string quantized_name(std::string_view layer);

/// "conv1" for "quant_conv1"; a name without the prefix as it is.
std::string_view float_name(std::string_view layer);

/// The names of a model's layers, to look up those of its counterpart.
class CounterpartNames {
 public:
  explicit CounterpartNames(std::span<const std::string> names);
  /// Where among the names the layer is: the very name, or else that with the
  /// prefix, or else that without.
  std::optional<size_t> find(std::string_view layer) const;

 private:
  std::unordered_map<std::string, size_t> names_;
};

}  // namespace octet::quant
