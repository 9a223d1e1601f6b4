// Ranges that NVIDIA's tensorflow-quantization stores beside the weights, as
// scales of a model's quantizers. Internal to io/keras.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/plan.h>
#include <octet/quant/quantizer.h>

#include "hdf5/reader.h"
#include "keras/stored_layers.h"

namespace octet::io {

/// The scales at one site of a layer.
struct StoredScales {
  std::string layer;      ///< in the file: "quant_conv1"
  std::string parameter;  ///< empty for an input
  int input = 0;          ///< among the inputs that are quantized
  std::vector<float> values;
};

/// Reads all ranges; s = max(min / -127, max / 127), and 1 where nothing but
/// zeros was seen.
/// Source: tensorflow-quantization 0.2.0; quantize_and_dequantize_v2 of
/// TensorFlow with a narrow range; tf2onnx, which writes the same scale.
/// Throws: FormatError for ranges that are not finite, without 0, or of
/// another shape than [] or [c].
std::vector<StoredScales> read_scales(const Hdf5Reader& file,
                                      const std::vector<StoredLayer>& layers);

/// Where these scales belong in a float model. Weights keep theirs.
/// Throws: FormatError for a layer or parameter that the model does not have;
/// UnsupportedError where a layer has more inputs than scales and the
/// toolkit's residual case does not tell which.
quant::QdqPlan plan_of(const std::vector<StoredScales>& scales,
                       const Model& model);

/// The scales of a quantized model's quantizers, to be set at once.
class ScaleAssignment {
 public:
  /// A quantizer that several layers of the file have a scale for gets the
  /// largest, with a warning if they differ. Those that compute their scale
  /// from the weight are left alone.
  /// Throws: FormatError naming the layers where only the model or only the
  /// file has Q/DQ, unless `partial`, and for another number of channels.
  ScaleAssignment(const Model& model, const std::vector<StoredScales>& scales,
                  bool partial);
  void put_in_place() const;

 private:
  void add(const std::shared_ptr<quant::Quantizer>& quantizer,
           const StoredScales& scales);

  std::map<std::shared_ptr<quant::Quantizer>, std::vector<float>> scales_;
};

}  // namespace octet::io
