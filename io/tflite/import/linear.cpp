// Convolutions and FULLY_CONNECTED.
#include <fmt/format.h>

#include "importer.h"

namespace octet::io::tflite {
namespace {

using Weights = std::vector<Tensor>;

std::string activation_name(const OperatorCall& call,
                            schema::Activation activation) {
  switch (activation) {
    case schema::Activation::NONE:
      return "linear";
    case schema::Activation::RELU:
      return "relu";
    case schema::Activation::RELU6:
      return "relu6";
    case schema::Activation::TANH:
      return "tanh";
    default:
      break;
  }
  call.refuse(fmt::format("fused activation {} has no layer",
                          schema::EnumNameActivation(activation)));
}

template <class Options>
Config window_config(const OperatorCall& call, const Options& o,
                     const Shape& kernel) {
  Config config;
  config.set("kernel_size", Config::List{kernel[1], kernel[2]})
      .set("strides", Config::List{int64_t{o.stride_h}, int64_t{o.stride_w}})
      .set("padding", o.padding == schema::Padding::SAME ? "same" : "valid")
      .set("activation", activation_name(call, o.activation));
  return config;
}

// The kernel, moved to Keras' layout, and the bias of input `bias`.
Weights weights_of(const OperatorCall& call, Tensor kernel, size_t bias,
                   Config& config) {
  const bool biased = call.has_input(bias);
  config.set("use_bias", biased);
  Weights result{std::move(kernel)};
  if (biased) result.push_back(call.importer.constant(call.input(bias)));
  return result;
}

std::vector<float> scales_of(const OperatorCall& call, int64_t channels) {
  std::vector<float> scales = call.importer.quant(call.input(1)).scales;
  if (scales.size() == 1)
    scales.assign(static_cast<size_t>(channels), scales[0]);
  return scales;
}

}  // namespace

// [out,kh,kw,in] becomes [kh,kw,in,out].
void convert_conv(OperatorCall& call) {
  const auto& o = call.options<schema::Conv2DOptionsT>();
  Importer& file = call.importer;
  const Tensor kernel = file.constant(call.input(1));
  const Shape& k = kernel.shape();
  const SymbolicTensor& x = call.x();
  if (k.rank() != 4 || x.shape().rank() != 4 || x.shape()[3] % k[3] != 0) {
    call.refuse(
        fmt::format("kernel {} for {}", k.to_string(), x.shape().to_string()));
  }
  Config config = window_config(call, o, k);
  config.set("filters", k[0])
      .set("groups", x.shape()[3] / k[3])
      .set("dilation_rate",
           Config::List{int64_t{o.dilation_h}, int64_t{o.dilation_w}});
  const Weights weights =
      weights_of(call, kernel.transposed({1, 2, 3, 0}), 2, config);
  const SymbolicTensor y =
      file.add("Conv2D", config, {x}, call.output(), weights);
  file.set_weight_scales(y, "kernel", scales_of(call, k[0]));
  file.set_value(call.output(), y);
}

// [1,kh,kw,c*m] becomes [kh,kw,c,m]; with a multiplier, a convolution with a
// group per channel, which has a scale per output channel.
void convert_depthwise(OperatorCall& call) {
  const auto& o = call.options<schema::DepthwiseConv2DOptionsT>();
  Importer& file = call.importer;
  const Tensor kernel = file.constant(call.input(1));
  const Shape& k = kernel.shape();
  const SymbolicTensor& x = call.x();
  if (k.rank() != 4 || x.shape().rank() != 4 || k[3] % x.shape()[3] != 0) {
    call.refuse(
        fmt::format("kernel {} for {}", k.to_string(), x.shape().to_string()));
  }
  const int64_t channels = x.shape()[3];
  const int64_t multiplier = k[3] / channels;
  Config config = window_config(call, o, k);
  config.set("dilation_rate",
             Config::List{int64_t{o.dilation_h}, int64_t{o.dilation_w}});
  const bool depthwise = multiplier == 1;
  if (depthwise) {
    config.set("depth_multiplier", int64_t{1});
  } else {
    config.set("filters", k[3]).set("groups", channels);
  }
  const Shape shape =
      depthwise ? Shape{k[1], k[2], channels, 1} : Shape{k[1], k[2], 1, k[3]};
  const Weights weights = weights_of(call, kernel.reshaped(shape), 2, config);
  const SymbolicTensor y = file.add(depthwise ? "DepthwiseConv2D" : "Conv2D",
                                    config, {x}, call.output(), weights);
  file.set_weight_scales(y, depthwise ? "depthwise_kernel" : "kernel",
                         scales_of(call, k[3]));
  file.set_value(call.output(), y);
}

// [out,kh,kw,in] becomes [kh,kw,out,in].
void convert_transpose_conv(OperatorCall& call) {
  const auto& o = call.options<schema::TransposeConvOptionsT>();
  Importer& file = call.importer;
  const Tensor kernel = file.constant(call.input(1));
  const Shape& k = kernel.shape();
  const std::vector<int64_t> size = file.integers(call.input(0));
  const SymbolicTensor& x = call.x(2);
  if (k.rank() != 4 || size.size() != 4) {
    call.refuse("invalid kernel or output shape");
  }
  Config config = window_config(call, o, k);
  config.set("filters", k[0]);
  const Weights weights =
      weights_of(call, kernel.transposed({1, 2, 0, 3}), 3, config);
  const SymbolicTensor y =
      file.add("Conv2DTranspose", config, {x}, call.output(), weights);
  if (y.shape()[1] != size[1] || y.shape()[2] != size[2]) {
    call.refuse(fmt::format("output of {}x{}, the layer's is {}x{}", size[1],
                            size[2], y.shape()[1], y.shape()[2]));
  }
  file.set_weight_scales(y, "kernel", scales_of(call, k[0]));
  file.set_value(call.output(), y);
}

// [out,in] becomes [in,out].
void convert_fully_connected(OperatorCall& call) {
  const auto& o = call.options<schema::FullyConnectedOptionsT>();
  Importer& file = call.importer;
  const Tensor kernel = file.constant(call.input(1));
  const Shape& k = kernel.shape();
  SymbolicTensor x = call.x();
  if (k.rank() != 2) call.refuse("weights must be a matrix");
  if (!o.keep_num_dims && x.shape().rank() > 2) {
    x = file.add("Flatten", Config(Config::Object()), {x}, call.input(0));
  }
  if (x.shape()[-1] != k[1]) {
    call.refuse(
        fmt::format("weights {} for {}", k.to_string(), x.shape().to_string()));
  }
  Config config;
  config.set("units", k[0])
      .set("activation", activation_name(call, o.activation));
  const Weights weights =
      weights_of(call, kernel.transposed({1, 0}), 2, config);
  const SymbolicTensor y =
      file.add("Dense", config, {x}, call.output(), weights);
  file.set_weight_scales(y, "kernel", scales_of(call, k[0]));
  file.set_value(call.output(), y);
}

}  // namespace octet::io::tflite
