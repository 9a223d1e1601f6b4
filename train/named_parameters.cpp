#include "named_parameters.h"

#include <unordered_set>

#include <fmt/format.h>

#include <octet/quant/twin.h>

namespace octet::train {

std::vector<NamedParameter> named_parameters(const Model& model) {
  std::vector<NamedParameter> result;
  std::unordered_set<uint64_t> known;
  for (const auto& layer : model.layers()) {
    const std::string& name = quant::float_layer(*layer).name();
    for (const Parameter& p : layer->parameters()) {
      if (!known.insert(p.variable.id()).second) continue;
      result.push_back({fmt::format("{}/{}:0", name, p.name), p});
    }
  }
  return result;
}

}  // namespace octet::train
