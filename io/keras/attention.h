// Keras' MultiHeadAttention: one layer there, five here, with the kernels'
// axes of heads and features made one. Internal to io/keras.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "keras/builder.h"
#include "keras/targets.h"

namespace octet::io {

inline constexpr std::string_view kAttentionClass = "MultiHeadAttention";

/// The layers of multi_head_attention() that have weights.
struct AttentionLayers {
  const Layer* query = nullptr;
  const Layer* key = nullptr;
  const Layer* value = nullptr;
  const Layer* output = nullptr;
  int64_t heads = 0;
};

/// "block" for the layer "block/attention" of multi_head_attention().
std::optional<std::string> attention_block(const Layer& layer);
/// Nothing if one of the layers is missing or is no Dense layer.
std::optional<AttentionLayers> find_attention(
    const std::unordered_map<std::string, const Layer*>& layers,
    const std::string& block);

/// Their weights as Keras has them.
TargetLayer attention_targets(std::string name, const AttentionLayers& layers);

std::unique_ptr<LayerBuilder> attention_builder(const KerasLayer& layer,
                                                std::string name);

}  // namespace octet::io
