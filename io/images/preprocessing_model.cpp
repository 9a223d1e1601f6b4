#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/image.h>
#include <octet/layers/model.h>
#include <octet/layers/preprocessing.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>

#include "preprocess.h"

namespace octet::io {
namespace {

std::string free_name(const Model& model, std::string name) {
  const auto taken = [&](const auto& layer) { return layer->name() == name; };
  while (std::ranges::any_of(model.layers(), taken)) name += "_";
  return name;
}

}  // namespace

Model with_preprocessing(const Model& model, const Preprocess& preprocess) {
  if (model.inputs().size() != 1) {
    throw ValueError("unsupported_model",
                     fmt::format("model '{}'", model.name()),
                     fmt::format("with_preprocessing() needs one input, got {}",
                                 model.inputs().size()));
  }
  const GraphNode* image = model.inputs()[0].node.get();
  const int64_t channels = image->shape[-1];
  check_preprocess(preprocess, channels);
  std::vector<float> offset;
  const size_t count =
      std::max(preprocess.mean.size(), preprocess.scale.size());
  for (size_t i = 0; i < count; ++i) {
    const auto at = [&](const std::vector<float>& list) {
      return list[list.size() == 1 ? 0 : i];
    };
    offset.push_back(-at(preprocess.mean) * at(preprocess.scale));
  }
  const bool scales =
      std::ranges::any_of(offset, [](float x) { return x != 0; }) ||
      std::ranges::any_of(preprocess.scale, [](float x) { return x != 1; });
  if (!scales && !preprocess.bgr) return model.clone();

  std::optional<SymbolicTensor> ready;  // shared by all consumers
  const auto made = [&](Rebuild& rebuild) -> const SymbolicTensor& {
    if (ready) return *ready;
    ready = rebuild.at(model.inputs()[0]);
    if (preprocess.bgr) {
      ready = Gather({.indices = {2, 1, 0},
                      .name = free_name(model, "channel_order")})(*ready);
    }
    if (scales) {
      ready = Rescaling({.scale = preprocess.scale,
                         .offset = offset,
                         .name = free_name(model, "preprocess")})(*ready);
    }
    return *ready;
  };
  std::optional<Model> result =
      model.rebuild([&](const GraphNode& node,
                        Rebuild& rebuild) -> std::optional<SymbolicTensor> {
        const auto is_image = [&](const SymbolicTensor& x) {
          return x.node.get() == image;
        };
        if (std::ranges::none_of(node.inputs, is_image)) return std::nullopt;
        std::vector<SymbolicTensor> inputs;
        for (const SymbolicTensor& x : node.inputs) {
          inputs.push_back(is_image(x) ? made(rebuild) : rebuild.at(x));
        }
        return rebuild.call(node, std::move(inputs));
      });
  if (!result) {
    throw ValueError(
        "unsupported_model", fmt::format("model '{}'", model.name()),
        "with_preprocessing() needs layers that consume the input");
  }
  return std::move(*result);
}

}  // namespace octet::io
