#include <octet/quant/detail/counterpart.h>

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

CounterpartNames::CounterpartNames(std::span<const std::string> names) {
  for (size_t i = 0; i < names.size(); ++i) names_.emplace(names[i], i);
}

std::optional<size_t> CounterpartNames::find(std::string_view layer) const {
  for (const std::string& name : {std::string(layer), quantized_name(layer),
                                  std::string(float_name(layer))}) {
    const auto found = names_.find(name);
    if (found != names_.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace octet::quant
