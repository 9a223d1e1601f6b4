// Networks for the tests of post-training methods.
#pragma once

#include <string>

#include "support.h"

namespace octet::quant {

inline QuantizeOptions fixed_weights(int bits, bool per_channel = true) {
  return {.weight = {.bits = bits,
                     .narrow_range = true,
                     .per_channel = per_channel,
                     .rule = ScaleRule::fixed}};
}

/// [4,5,3] images through all kinds of convolutions, H != W != C.
inline Model all_kinds() {
  const SymbolicTensor image = input({4, 5, 3}, "image");
  SymbolicTensor x = Conv2D({.filters = 4,
                             .kernel_size = {3, 2},
                             .padding = Padding::same,
                             .activation = "relu",
                             .name = "conv"})(image);
  x = DepthwiseConv2D({.kernel_size = 3,
                       .strides = 2,
                       .padding = Padding::same,
                       .depth_multiplier = 2,
                       .name = "depthwise"})(x);
  x = ReLU({.name = "relu"})(x);
  x = Conv2D({.filters = 6, .kernel_size = 2, .groups = 2, .name = "groups"})(
      x);
  Model model(image, Dense({.units = 3, .name = "dense"})(Flatten()(x)),
              {.seed = 3});
  shake(model);
  return model;
}

inline Model calibrated(const Model& model, const Dataset& data, int bits,
                        bool per_channel = true) {
  Model result = quantize_model(model, fixed_weights(bits, per_channel));
  calibrate(result, data,
            {.method = Calibration::max, .weights = WeightRange::mse});
  return result;
}

inline Tensor kernel_of(const Model& model, const std::string& layer) {
  const Layer& inner = float_layer(model.layer(layer));
  return inner.parameters()[0].variable.value().clone();
}

}  // namespace octet::quant
