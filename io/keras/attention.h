// Keras' MultiHeadAttention: one layer in Keras, five in Octet, with the axes
// of heads and features merged in the kernels. Internal to io/keras.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "keras/builder.h"
#include "keras/targets.h"

namespace octet::io {

inline constexpr std::string_view kAttentionClass = "MultiHeadAttention";

/// The layers of multi_head_attention() with weights.
struct AttentionLayers {
  const Layer* query = nullptr;
  const Layer* key = nullptr;
  const Layer* value = nullptr;
  const Layer* output = nullptr;
  int64_t heads = 0;
};

/// Returns "block" for the layer "block/attention" of multi_head_attention().
std::optional<std::string> attention_block(const Layer& layer);
/// Returns nothing if a layer is missing or not a Dense layer.
std::optional<AttentionLayers> find_attention(
    const std::unordered_map<std::string, const Layer*>& layers,
    const std::string& block);

/// Returns their weights in Keras' structure.
TargetLayer attention_targets(std::string name, const AttentionLayers& layers);

std::unique_ptr<LayerBuilder> attention_builder(const KerasLayer& layer,
                                                std::string name);

}  // namespace octet::io
