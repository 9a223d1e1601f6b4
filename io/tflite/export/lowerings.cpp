// Layer classes and their lowerings.
#include <algorithm>
#include <iterator>

#include "lowering.h"

namespace octet::io::tflite {
namespace {

constexpr LoweringRow kLowerings[] = {
    {"ActivityRegularization", lower_identity, true},
    {"Activation", lower_activation},
    {"Add", lower_merge},
    {"AlphaDropout", lower_identity, true},
    {"AveragePooling1D", lower_pool, true},
    {"AveragePooling2D", lower_pool, true},
    {"BatchNormalization", lower_batch_norm},
    {"Concatenate", lower_concatenate, true},
    {"Conv1D", lower_conv},
    {"Conv2D", lower_conv},
    {"Conv2DTranspose", lower_conv_transpose},
    {"Cropping1D", lower_cropping, true},
    {"Cropping2D", lower_cropping, true},
    {"Dense", lower_dense},
    {"DepthwiseConv1D", lower_depthwise_conv},
    {"DepthwiseConv2D", lower_depthwise_conv},
    {"Dropout", lower_identity, true},
    {"Flatten", lower_reshape, true},
    {"GaussianDropout", lower_identity, true},
    {"GaussianNoise", lower_identity, true},
    {"Gather", lower_gather, true},
    {"GetItem", lower_get_item, true},
    {"GlobalAveragePooling1D", lower_global_pool},
    {"GlobalAveragePooling2D", lower_global_pool},
    {"GlobalMaxPooling1D", lower_global_pool, true},
    {"GlobalMaxPooling2D", lower_global_pool, true},
    {"Interpolate", lower_upsampling, true},
    {"LayerScale", lower_layer_scale},
    {"LeakyReLU", lower_activation},
    {"Matmul", lower_matmul},
    {"MaxPooling1D", lower_pool, true},
    {"MaxPooling2D", lower_pool, true},
    {"Maximum", lower_merge, true},
    {"Minimum", lower_merge, true},
    {"Multiply", lower_merge},
    {"PReLU", lower_prelu},
    {"Pad", lower_pad, true},
    {"Permute", lower_permute, true},
    {"ReLU", lower_activation},
    {"Reduce", lower_reduce},
    {"Rescaling", lower_rescaling},
    {"Reshape", lower_reshape, true},
    {"Resizing", lower_upsampling, true},
    {"SeparableConv1D", lower_separable_conv},
    {"SeparableConv2D", lower_separable_conv},
    {"Softmax", lower_softmax},
    {"SpatialDropout1D", lower_identity, true},
    {"SpatialDropout2D", lower_identity, true},
    {"Subtract", lower_merge},
    {"UpSampling1D", lower_upsampling, true},
    {"UpSampling2D", lower_upsampling, true},
    {"ZeroPadding1D", lower_zero_padding, true},
    {"ZeroPadding2D", lower_zero_padding, true},
};

}  // namespace

const LoweringRow* find_lowering(std::string_view class_name) {
  const auto* found =
      std::ranges::find(kLowerings, class_name, &LoweringRow::class_name);
  return found == std::end(kLowerings) ? nullptr : found;
}

}  // namespace octet::io::tflite
