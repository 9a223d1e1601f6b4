// Conversion of the ranges that NVIDIA's tensorflow-quantization stores beside
// the weights to scales. Internal to io/keras.
#pragma once

#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/detail/counterpart.h>

#include "hdf5/reader.h"
#include "keras/stored.h"

namespace octet::io {

/// Scales of a site of a layer.
struct StoredScales {
  std::string layer;      ///< in the file: "quant_conv1"
  std::string parameter;  ///< empty for an input
  int input = 0;          ///< among the quantized inputs
  std::vector<float> values;
};

/// "input range 0 of layer 'quant_add'".
std::string text_of(const StoredScales& scales);

/// Layers of a model by their names in a file.
class LayerIndex {
 public:
  explicit LayerIndex(const Model& model);

  /// Returns null if there is none.
  const Layer* find(const std::string& name) const;

 private:
  const Model& model_;
  quant::CounterpartNames names_;
};

/// Reads all ranges; s = max(min / -127, max / 127), and 1 for a range of
/// zeros.
/// Source: tensorflow-quantization 0.2.0; quantize_and_dequantize_v2 of
/// TensorFlow with a narrow range; tf2onnx, which writes the same scale.
/// Ranges of layers that the model lacks are errors, or ignored if `partial`.
/// Shapes are compared with the model's before allocation.
/// Throws: FormatError for ranges without 0, above 2^50 or of another shape,
/// and of weights that cannot be quantized.
std::vector<StoredScales> read_scales(const Hdf5Reader& file,
                                      const std::vector<StoredLayer>& layers,
                                      const Model& model, bool partial);

}  // namespace octet::io
