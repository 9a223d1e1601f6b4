// Ranges that NVIDIA's tensorflow-quantization stores beside the weights, as
// scales. Internal to io/keras.
#pragma once

#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/counterpart.h>

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

/// "input range 0 of layer 'quant_add'".
std::string text_of(const StoredScales& scales);

/// The layers of a model by the names that a file has for them.
class LayerIndex {
 public:
  explicit LayerIndex(const Model& model);

  /// Null if there is none.
  const Layer* find(const std::string& name) const;

 private:
  const Model& model_;
  quant::CounterpartNames names_;
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

}  // namespace octet::io
