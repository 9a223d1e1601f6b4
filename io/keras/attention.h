// Keras' MultiHeadAttention: one layer in Keras, five in Octet, with the axes
// of heads and features merged in the kernels. Internal to io/keras.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "keras/targets.h"

namespace octet::io {

inline constexpr std::string_view kAttentionClass = "MultiHeadAttention";

/// Dense layers of multi_head_attention(): "block/query", ...
inline constexpr std::string_view kProjections[] = {"query", "key", "value",
                                                    "attention_output"};

/// Returns "block" for the layer "block/attention" of multi_head_attention().
std::optional<std::string> attention_block(const Layer& layer);

/// Returns the weights of multi_head_attention() in Keras' structure; `part`
/// returns its layers by name, or null. Nothing if a projection is missing or
/// no Dense layer.
std::optional<TargetLayer> attention_target(
    std::string name,
    const std::function<const Layer*(std::string_view)>& part);

}  // namespace octet::io
