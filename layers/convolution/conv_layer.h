// Conv1D and Conv2D: a layer template over sequences or images, selected by the
// type of the options.
#pragma once

#include <array>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "activation/activation_functions.h"
#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"
#include "convolution/convolution.h"

namespace octet {

template <class Visitor, class Options>
void conv_fields(Visitor& v, Options& o) {
  v("filters", o.filters);
  v("kernel_size", o.kernel_size);
  v("strides", o.strides);
  v("padding", o.padding);
  v("dilation_rate", o.dilation_rate);
  v("groups", o.groups);
  v("activation", o.activation);
  v("use_bias", o.use_bias);
  v("kernel_initializer", o.kernel_initializer);
  v("bias_initializer", o.bias_initializer);
  v("kernel_regularizer", o.kernel_regularizer);
  v("bias_regularizer", o.bias_regularizer);
}

template <class Options>
class ConvLayer final : public Layer {
 public:
  explicit ConvLayer(const Options& options)
      : o_(options),
        window_{o_.kernel_size, o_.strides, o_.padding, o_.dilation_rate},
        activation_(find_activation(o_.activation)) {
    expect_count("filters", o_.filters);
    expect_count("groups", o_.groups);
    if (o_.filters % o_.groups != 0) {
      throw ValueError("out_of_range", "groups",
                       fmt::format("must divide the {} filters, got {}",
                                   o_.filters, o_.groups));
    }
    window_.check();
  }

  std::string class_name() const override {
    return window_.over_images() ? "Conv2D" : "Conv1D";
  }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (built()) {
      const Shape& k = at(kernel_).variable.shape();
      facts.convolutions = {{.kernel = window_.size(),
                             .in = k[-2] * o_.groups,
                             .out = k[-1],
                             .groups = o_.groups}};
    }
    if (!inputs.empty()) {
      facts.multiply_adds =
          product_of({pixels(output_shape(inputs)), o_.filters, window_.cells(),
                      inputs[0][-1] / o_.groups});
    }
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = window_.input(inputs);
    if (x[-1] % o_.groups != 0) {
      throw ValueError(
          "out_of_range", "groups",
          fmt::format("must divide the {} channels, got {}", x[-1], o_.groups));
    }
    return window_.output_shape(x, o_.filters);
  }

  void build(std::span<const Shape> inputs) override {
    const int64_t c = inputs[0][-1] / o_.groups;
    const Shape kernel = window_.kernel(c, o_.filters);
    kernel_ = add_parameter("kernel", kernel,
                            {.initializer = o_.kernel_initializer,
                             .fan_in = kernel.size() / o_.filters,
                             .fan_out = kernel.size() / c,
                             .regularizer = o_.kernel_regularizer});
    if (o_.use_bias) {
      bias_ = add_parameter("bias", {o_.filters},
                            {.initializer = o_.bias_initializer,
                             .regularizer = o_.bias_regularizer});
    }
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    Variable y =
        window_.convolve(inputs[0], context.read(at(kernel_)), o_.groups);
    if (o_.use_bias) y = bias_add(y, context.read(at(bias_)));
    return activation_.apply(y);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    std::vector<std::string> operands{
        x.name,
        context.weight(at(kernel_), onnx_convolution_weight(at(kernel_)), 0)};
    if (o_.use_bias) operands.push_back(context.weight(at(bias_)));
    return activation_.emit(
        context, context.channels_first_node("Conv", operands,
                                             output_shape(std::array{x.shape}),
                                             window_.onnx(x.shape, o_.groups)));
  }

 private:
  Options o_;
  ConvolutionWindow window_;
  const ActivationFunction& activation_;
  size_t kernel_ = 0;
  size_t bias_ = 0;
};

}  // namespace octet
