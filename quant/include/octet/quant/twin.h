// Twins: a float model and what apply() made of it have the same layers, those
// with quantizers under names that begin with "quant_". Whoever compares names
// of layers across the two asks here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include <octet/layers/model.h>

namespace octet::quant {

/// "quant_conv1": what apply() calls a wrapper of "conv1".
std::string quantized_name(std::string_view layer);

/// "conv1" for "quant_conv1"; a name without the prefix as it is.
std::string_view float_name(std::string_view layer);

/// The names of a model's layers, to look up those of a twin.
class TwinNames {
 public:
  explicit TwinNames(std::span<const std::string> names);
  /// Where among the names the layer is: the very name, or else that with the
  /// prefix, or else that without.
  std::optional<size_t> find(std::string_view layer) const;

 private:
  std::unordered_map<std::string, size_t> names_;
};

/// The layer in a wrapper, or the layer itself.
const Layer& float_layer(const Layer& layer);

/// Copies all weights and statistics from a model to its twin, or to an equal
/// model. All of them or, if one does not fit, none. Scales of quantizers and
/// what is frozen stay as they are.
/// Throws: ValueError naming the layers that one side lacks; ShapeError.
void copy_weights(const Model& from, const Model& to);

}  // namespace octet::quant
