// DepthwiseConv1D and DepthwiseConv2D: a layer template over sequences or
// images, selected by the type of the options.
#pragma once

#include <array>

#include <octet/layers/custom_layer.h>
#include <octet/runtime/ops.h>

#include "activation/activation_functions.h"
#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"
#include "convolution/convolution.h"

namespace octet {

template <class Visitor, class Options>
void depthwise_conv_fields(Visitor& v, Options& o) {
  v("kernel_size", o.kernel_size);
  v("strides", o.strides);
  v("padding", o.padding);
  v("depth_multiplier", o.depth_multiplier);
  v("dilation_rate", o.dilation_rate);
  v("activation", o.activation);
  v("use_bias", o.use_bias);
  v("depthwise_initializer", o.depthwise_initializer);
  v("bias_initializer", o.bias_initializer);
  v("depthwise_regularizer", o.depthwise_regularizer);
  v("bias_regularizer", o.bias_regularizer);
}

template <class Options>
class DepthwiseConvLayer final : public Layer {
 public:
  explicit DepthwiseConvLayer(const Options& options)
      : o_(options),
        window_{o_.kernel_size, o_.strides, o_.padding, o_.dilation_rate},
        activation_(find_activation(o_.activation)) {
    expect_count("depth_multiplier", o_.depth_multiplier);
    window_.check();
  }

  std::string class_name() const override {
    return window_.over_images() ? "DepthwiseConv2D" : "DepthwiseConv1D";
  }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (built()) {
      const Shape& k = at(kernel_).variable.shape();
      facts.convolutions = {{.kernel = window_.size(),
                             .in = k[-2],
                             .out = k[-2] * k[-1],
                             .groups = k[-2]}};
    }
    if (!inputs.empty()) {
      const Shape y = output_shape(inputs);
      facts.multiply_adds = product_of({pixels(y), y[-1], window_.cells()});
    }
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = window_.input(inputs);
    return window_.output_shape(x, x[-1] * o_.depth_multiplier);
  }

  void build(std::span<const Shape> inputs) override {
    const int64_t c = inputs[0][-1];
    // Fans as in Keras: from the kernel's last two axes.
    kernel_ = add_parameter("depthwise_kernel",
                            window_.kernel(c, o_.depth_multiplier),
                            {.initializer = o_.depthwise_initializer,
                             .fan_in = window_.cells() * c,
                             .fan_out = window_.cells() * o_.depth_multiplier,
                             .regularizer = o_.depthwise_regularizer,
                             .channel_axis = window_.over_images() ? 2 : 1});
    if (o_.use_bias) {
      bias_ = add_parameter("bias", {c * o_.depth_multiplier},
                            {.initializer = o_.bias_initializer,
                             .regularizer = o_.bias_regularizer});
    }
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    Variable y =
        window_.convolve_depthwise(inputs[0], context.read(at(kernel_)));
    if (o_.use_bias) y = bias_add(y, context.read(at(bias_)));
    return activation_.apply(y);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    std::vector<std::string> operands{
        x.name,
        context.weight(at(kernel_), onnx_depthwise_weight(at(kernel_)), 0)};
    if (o_.use_bias) operands.push_back(context.weight(at(bias_)));
    return activation_.emit(
        context, context.channels_first_node(
                     "Conv", operands, output_shape(std::array{x.shape}),
                     window_.onnx(x.shape, x.shape[-1])));
  }

 private:
  Options o_;
  ConvolutionWindow window_;
  const ActivationFunction& activation_;
  size_t kernel_ = 0;
  size_t bias_ = 0;
};

}  // namespace octet
