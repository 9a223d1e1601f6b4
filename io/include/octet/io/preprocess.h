// What networks take in place of the bytes of an image.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// y = (x - mean) * scale, of x in [0,255].
struct Preprocess {
  std::vector<float> mean = {0};  ///< one number, or one for each channel
  std::vector<float> scale = {1 / 255.0f};  ///< the same
  /// The channels in the order blue, green, red; mean and scale, too.
  bool bgr = false;
};

/// Keras' modes: "tf" gives [-1,1]; "torch" what ImageNet's mean and deviation
/// make of [0,1]; "caffe" blue, green, red less their mean. Besides "unit",
/// [0,1], and "none", the numbers of the bytes. "0.485,0.456,0.406/0.229,0.224,
/// 0.225" (or "0.5/0.5", for all channels), without spaces, is what
/// Normalize(mean, std) of torchvision makes of [0,1].
/// Source: keras/src/applications/imagenet_utils.py, preprocess_input.
/// Throws: ValueError for another name, with those there are; for a mean
/// outside of [0,1] or a deviation outside of [0.001,1].
Preprocess preprocess_mode(std::string_view name);

/// Shapes: u8 or f32 [...,c], of values in [0,255] -> f32 [...,c].
/// Throws: ValueError for numbers that are not finite, not as many as
/// channels, or a `bgr` of other than three channels; ShapeError.
Tensor preprocess_input(const Tensor& images, const Preprocess& preprocess);
Tensor preprocess_input(const Tensor& images, std::string_view mode);

/// A copy of a model, quantized or not, that takes the numbers of bytes,
/// [0,255], and does itself what `preprocess` says: a Gather for `bgr`, then a
/// Rescaling. So does a file that is exported of it: a device needs the
/// camera's image alone. What the model computes stays but for the rounding of
/// x * scale - mean * scale, where preprocess_input() has (x - mean) * scale.
/// Throws: as preprocess_input(); ValueError for a model of several inputs.
Model with_preprocessing(const Model& model, const Preprocess& preprocess);

}  // namespace octet::io
