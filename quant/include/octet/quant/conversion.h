// Conversions: rewrites that leave a model's function as it is and make its
// layers fit the patterns, or remove layers that do nothing.
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
  /// Asked for every node but the inputs, as octet::NodeRewriter: what takes
  /// the node's place in the new model, or nothing.
  NodeRewriter convert;
};

/// FlattenDenseToConv1x1, RemoveIdentityPool and RemoveIdentity, each a
/// function that can be omitted. Layers that no output needs are not part of
/// a Model, and attention is made of its projections from the start
/// (multi_head_attention), so neither takes a conversion.
/// Source: Embedl Deploy's documentation, conversion patterns.
std::vector<Conversion> tensorrt_conversions();

/// The same, and SplitActivation: a convolution or Dense layer with a function
/// that is more than a bound, such as swish, becomes two layers, so that Q/DQ
/// may stand between them.
std::vector<Conversion> onnxruntime_conversions();

}  // namespace octet::quant
