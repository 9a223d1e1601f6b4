// Q/DQ pairs of a file and the quantizers that they become. Internal to
// io/onnx/import.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/plan.h>

#include "graph.h"

namespace octet::io::importing {

inline constexpr const char* kDropHint =
    "Hint: OnnxImportOptions::drop_quantizers reads the float model, to be "
    "quantized anew";

/// Of an activation.
struct ActivationGrid {
  std::string name;  ///< that of its quantizer
  float scale = 1;
  quant::QuantizerConfig config = quant::activation_quantizer();
  /// Whether its pair does what a ReLU does: the lowest code is zero's.
  bool rectifies() const { return config.low() == 0; }
  bool operator==(const ActivationGrid&) const = default;
};

/// A site that gets a quantizer with these scales.
struct SitePlan {
  std::string layer;
  quant::QdqSite site;
  quant::QuantizerConfig config;
  std::string group;
  std::vector<float> scales;
};

/// Weights behind Q/DQ become constants with a grid, and pairs on activations
/// stay as DequantizeLinear nodes that read what their QuantizeLinear did; with
/// `drop` the weights have no grid, and of activations only those that rectify.
/// Throws: UnsupportedError listing pairs that no quantizer is like.
void find_quantizers(ImportGraph& graph, bool drop);

/// Input `input` of a layer behind a pair.
SitePlan site_of(const std::string& layer, int input,
                 const ActivationGrid& grid);

/// A parameter whose channels have these scales.
SitePlan site_of(const std::string& layer, const std::string& parameter,
                 const WeightGrid& grid);

/// The model with quantizers at the sites.
Model with_quantizers(const Model& model, const std::vector<SitePlan>& sites);

}  // namespace octet::io::importing
