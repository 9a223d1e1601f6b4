// Conversion of a file's Q/DQ pairs to quantizers. Internal to io/onnx/import.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/plan.h>

#include "onnx/normalize/fold.h"

namespace octet::io::importing {

inline constexpr const char* kDropHint =
    "Hint: import the float model with OnnxImportOptions.drop_quantizers and "
    "quantize it again";

/// Quantization parameters of an activation.
struct ActivationQuantParams {
  std::string name;  ///< of the quantizer
  float scale = 1;
  quant::QuantizerConfig config = quant::activation_quantizer();
  /// Whether the pair has the effect of a ReLU: the lowest value is 0.
  bool rectifies() const { return config.low() == 0; }
  bool operator==(const ActivationQuantParams&) const = default;
};

/// A quantizer to add at a site, with its scales.
struct SitePlan {
  std::string layer;
  quant::QdqSite site;
  quant::QuantizerConfig config;
  std::string group;
  std::vector<float> scales;
};

/// Replaces quantized weights by constants with quantization parameters, and
/// the pair of an activation by its DequantizeLinear, which consumes the input
/// of the QuantizeLinear. With `drop`, weights have no parameters, and only
/// activations whose parameters include a ReLU have any. Throws:
/// UnsupportedError listing pairs without an equivalent quantizer.
void find_quantizers(OnnxGraph& graph, bool drop);

/// The quantizer of a layer's input `input`.
SitePlan site_of(const std::string& layer, int input,
                 const ActivationQuantParams& qparams);

/// The quantizer of a parameter, with its scales.
SitePlan site_of(const std::string& layer, const std::string& parameter,
                 const WeightQuantParams& qparams);

/// Replaces the range of an 8-bit activation by the symmetric int8 range that
/// covers it.
void make_symmetric(SitePlan& site);

/// Returns the model with quantizers at the sites.
Model with_quantizers(const Model& model, const std::vector<SitePlan>& sites);

}  // namespace octet::io::importing
