// SeparableConv1D and SeparableConv2D: a layer template over sequences or
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

/// Name of the intermediate tensor, the output of the depthwise convolution.
inline constexpr std::string_view kSeparableIntermediate = "depthwise";

template <class Visitor, class Options>
void separable_conv_fields(Visitor& v, Options& o) {
  v("filters", o.filters);
  v("kernel_size", o.kernel_size);
  v("strides", o.strides);
  v("padding", o.padding);
  v("dilation_rate", o.dilation_rate);
  v("depth_multiplier", o.depth_multiplier);
  v("activation", o.activation);
  v("use_bias", o.use_bias);
  v("depthwise_initializer", o.depthwise_initializer);
  v("pointwise_initializer", o.pointwise_initializer);
  v("bias_initializer", o.bias_initializer);
  v("depthwise_regularizer", o.depthwise_regularizer);
  v("pointwise_regularizer", o.pointwise_regularizer);
  v("bias_regularizer", o.bias_regularizer);
}

template <class Options>
class SeparableConvLayer final : public Layer {
 public:
  explicit SeparableConvLayer(const Options& options)
      : o_(options),
        window_{o_.kernel_size, o_.strides, o_.padding, o_.dilation_rate},
        activation_(find_activation(o_.activation)) {
    expect_count("filters", o_.filters);
    expect_count("depth_multiplier", o_.depth_multiplier);
    window_.check();
  }

  std::string class_name() const override {
    return window_.over_images() ? "SeparableConv2D" : "SeparableConv1D";
  }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (built()) {
      const Shape& k = at(depthwise_).variable.shape();
      facts.convolutions = {{.kernel = window_.size(),
                             .in = k[-2],
                             .out = k[-2] * k[-1],
                             .groups = k[-2]},
                            {.in = k[-2] * k[-1], .out = o_.filters}};
    }
    if (!inputs.empty()) {
      facts.multiply_adds =
          product_of({pixels(output_shape(inputs)), inputs[0][-1],
                      o_.depth_multiplier, window_.cells() + o_.filters});
    }
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    return window_.output_shape(window_.input(inputs), o_.filters);
  }

  void build(std::span<const Shape> inputs) override {
    const int64_t c = inputs[0][-1];
    // Fans as in Keras: from the kernel's last two axes.
    depthwise_ = add_parameter(
        "depthwise_kernel", window_.kernel(c, o_.depth_multiplier),
        {.initializer = o_.depthwise_initializer,
         .fan_in = window_.cells() * c,
         .fan_out = window_.cells() * o_.depth_multiplier,
         .regularizer = o_.depthwise_regularizer,
         .channel_axis = window_.over_images() ? 2 : 1});
    const int64_t mixed = c * o_.depth_multiplier;
    pointwise_ =
        add_parameter("pointwise_kernel", pointwise().kernel(mixed, o_.filters),
                      {.initializer = o_.pointwise_initializer,
                       .fan_in = mixed,
                       .fan_out = o_.filters,
                       .regularizer = o_.pointwise_regularizer});
    if (o_.use_bias) {
      bias_ = add_parameter("bias", {o_.filters},
                            {.initializer = o_.bias_initializer,
                             .regularizer = o_.bias_regularizer});
    }
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Variable each =
        window_.convolve_depthwise(inputs[0], context.read(at(depthwise_)));
    Variable y =
        pointwise().convolve(context.intermediate(kSeparableIntermediate, each),
                             context.read(at(pointwise_)));
    if (o_.use_bias) y = bias_add(y, context.read(at(bias_)));
    return activation_.apply(y);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const int rank = x.shape.rank();
    const std::string each =
        context.node("Conv",
                     {context.channels_first(x.name, rank),
                      context.weight(at(depthwise_),
                                     onnx_depthwise_weight(at(depthwise_)), 0)},
                     window_.onnx(x.shape, x.shape[-1]));
    std::vector<std::string> operands{
        context.intermediate(kSeparableIntermediate, each),
        context.weight(at(pointwise_), onnx_convolution_weight(at(pointwise_)),
                       0)};
    if (o_.use_bias) operands.push_back(context.weight(at(bias_)));
    const Shape shape = output_shape(std::array{x.shape});
    const std::string y =
        context.node("Conv", operands, pointwise().onnx(shape, 1));
    return activation_.emit(context, {context.channels_last(y, rank), shape});
  }

 private:
  ConvolutionWindow pointwise() const {
    if (window_.over_images()) return {Size2(1), 1, Padding::valid, 1};
    return {Size1(1), 1, Padding1D::valid, 1};
  }

  Options o_;
  ConvolutionWindow window_;
  const ActivationFunction& activation_;
  size_t depthwise_ = 0;
  size_t pointwise_ = 0;
  size_t bias_ = 0;
};

}  // namespace octet
