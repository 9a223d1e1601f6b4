#include <algorithm>

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

std::optional<size_t> find_twin(std::string_view layer,
                                std::span<const std::string> names) {
  auto found = std::ranges::find(names, layer);
  if (found == names.end()) {
    found = std::ranges::find_if(names, [&](const std::string& name) {
      return float_name(name) == float_name(layer);
    });
  }
  if (found == names.end()) return std::nullopt;
  return static_cast<size_t>(found - names.begin());
}

const Layer& float_layer(const Layer& layer) {
  const BaseQuantizeWrapper* wrapper = as_wrapper(layer);
  return wrapper != nullptr ? wrapper->inner() : layer;
}

void copy_weights(const Model& from, const Model& to) {
  assign_weights(to, weights_of(from));
}

}  // namespace octet::quant
