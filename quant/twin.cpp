#include <octet/quant/model_state.h>
#include <octet/quant/twin.h>
#include <octet/quant/wrapper.h>

namespace octet::quant {
namespace {

constexpr std::string_view kPrefix = "quant_";

}  // namespace

std::string quantized_name(std::string_view layer) {
  return std::string(kPrefix).append(layer);
}

std::string_view float_name(std::string_view layer) {
  if (layer.starts_with(kPrefix) && layer != kPrefix) {
    layer.remove_prefix(kPrefix.size());
  }
  return layer;
}

TwinNames::TwinNames(std::span<const std::string> names) {
  for (size_t i = 0; i < names.size(); ++i) {
    names_.emplace(names[i], i);
    float_names_.emplace(float_name(names[i]), i);
  }
}

std::optional<size_t> TwinNames::find(std::string_view layer) const {
  if (const auto found = names_.find(std::string(layer));
      found != names_.end()) {
    return found->second;
  }
  const auto found = float_names_.find(std::string(float_name(layer)));
  if (found == float_names_.end()) return std::nullopt;
  return found->second;
}

const Layer& float_layer(const Layer& layer) {
  const BaseQuantizeWrapper* wrapper = as_wrapper(layer);
  return wrapper != nullptr ? wrapper->inner() : layer;
}

void copy_weights(const Model& from, const Model& to) {
  assign_weights(to, weights_of(from));
}

}  // namespace octet::quant
