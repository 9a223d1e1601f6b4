// Conversions: function-preserving rewrites that make layers fit the patterns
// or remove no-op layers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <octet/layers/rebuild.h>

namespace octet::quant {

struct Conversion {
  std::string name;
  std::string rationale;
  /// Called for every node but the inputs. Returns the node's replacement in
  /// the new model, or nothing (octet::NodeRewriter).
  NodeRewriter convert;
};

/// Returns FlattenDenseToConv1x1, RemoveIdentityPool and RemoveIdentity. Two
/// conversions of the source are not needed: a Model has no dead layers, and
/// multi_head_attention() has separate projections.
/// Source: Embedl Deploy's documentation, conversion patterns.
std::vector<Conversion> tensorrt_conversions();

/// Returns tensorrt_conversions() and SplitActivation, which splits a
/// convolution or Dense layer from an activation that is more than clipping,
/// such as swish, for Q/DQ between the two.
std::vector<Conversion> onnxruntime_conversions();

}  // namespace octet::quant
