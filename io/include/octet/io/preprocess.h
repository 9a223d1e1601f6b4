// Conversion of image bytes to network inputs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// y = (x - mean) * scale, for x in [0,255].
struct Preprocess {
  std::vector<float> mean = {0};            ///< one value, or one per channel
  std::vector<float> scale = {1 / 255.0f};  ///< likewise
  /// Channels (and mean and scale) in the order blue, green, red.
  bool bgr = false;
};

/// Returns a preprocessing by name. Keras' modes: "tf" maps to [-1,1]; "torch"
/// normalizes [0,1] by ImageNet's mean and deviation; "caffe" subtracts the
/// mean from blue, green, red. Also "unit", [0,1], and "none", bytes as
/// numbers. "0.485,0.456,0.406/0.229,0.224,0.225" (or "0.5/0.5" for all
/// channels), without spaces, is torchvision's Normalize(mean, std) of [0,1].
/// Source: keras/src/applications/imagenet_utils.py, preprocess_input.
/// Throws: ValueError for an unknown name, listing the known ones; for a mean
/// outside [0,1] or a deviation outside [0.001,1].
Preprocess preprocess_mode(std::string_view name);

/// Applies a preprocessing to images.
/// Shapes: u8 or f32 [...,c], of values in [0,255] -> f32 [...,c].
/// Throws: ValueError for mean or scale that is not finite or of another number
/// than the channels, or `bgr` without three channels; ShapeError.
Tensor preprocess_input(const Tensor& images, const Preprocess& preprocess);
Tensor preprocess_input(const Tensor& images, std::string_view mode);

/// Returns a copy of a model, quantized or not, whose input is bytes as
/// numbers, [0,255], and which preprocesses them itself: a Gather for `bgr`,
/// then a Rescaling. An exported file likewise needs only the camera's image.
/// Outputs differ only by the rounding of x * scale - mean * scale instead of
/// (x - mean) * scale.
/// Throws: as preprocess_input(); ValueError for a model of several inputs.
Model with_preprocessing(const Model& model, const Preprocess& preprocess);

}  // namespace octet::io
