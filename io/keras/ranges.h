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
/// Ranges of layers that the model does not have are refused, or left out if
/// `partial`. Shapes are those of the model, before memory is taken.
/// Throws: FormatError for ranges without 0, above 2^50 or of another shape,
/// and of weights that cannot be quantized.
std::vector<StoredScales> read_scales(const Hdf5Reader& file,
                                      const std::vector<StoredLayer>& layers,
                                      const Model& model, bool partial);

/// Where these scales belong in a float model, which they were read for. A
/// layer may have fewer than inputs: then equal ranges of their tensors tell
/// which, or the toolkit's residual case, with a warning.
/// Throws: UnsupportedError where neither does; FormatError for more scales
/// than inputs.
quant::QdqPlan plan_of(const std::vector<StoredScales>& scales,
                       const Model& model);

/// The scales of a quantized model's quantizers, to be set at once.
class ScaleAssignment {
 public:
  /// A quantizer that several layers of the file have a scale for gets the
  /// largest, with a warning if they differ. Those that compute their scale
  /// from the weight are left alone.
  /// Throws: FormatError naming the layers where only the model or only the
  /// file has Q/DQ, unless `partial`, and for scales per channel where the
  /// model has one.
  ScaleAssignment(const Model& model, const std::vector<StoredScales>& scales,
                  bool partial);
  void put_in_place() const;

 private:
  void add(const std::shared_ptr<quant::Quantizer>& quantizer,
           const StoredScales& scales);

  std::map<std::shared_ptr<quant::Quantizer>, std::vector<float>> scales_;
};

}  // namespace octet::io
