#include <array>

#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/onnx_builder.h>
#include <octet/runtime/ops.h>

#include "activation_functions.h"
#include "checks.h"
#include "convolution.h"
#include "fields.h"
#include "make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, DepthwiseConv2DOptions& o) {
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

namespace {

class DepthwiseConv2DLayer final : public Layer {
 public:
  explicit DepthwiseConv2DLayer(const DepthwiseConv2DOptions& options)
      : o_(options),
        window_{o_.kernel_size, o_.strides, o_.padding, o_.dilation_rate},
        activation_(find_activation(o_.activation)) {
    expect_count("depth_multiplier", o_.depth_multiplier);
    window_.check();
  }

  std::string class_name() const override { return "DepthwiseConv2D"; }
  Config config() const override { return write_fields(o_); }
  std::vector<ConvolutionShape> convolutions() const override {
    const Shape& k = at(kernel_).variable.shape();
    return {{.kernel = o_.kernel_size,
             .in = k[2],
             .out = k[2] * k[3],
             .groups = k[2]}};
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = image_input(inputs);
    return window_.output_shape(x, x[3] * o_.depth_multiplier);
  }

  void build(std::span<const Shape> inputs) override {
    const int64_t c = inputs[0][3];
    const Shape kernel{o_.kernel_size.h, o_.kernel_size.w, c,
                       o_.depth_multiplier};
    (void)kernel.size();  // refuses one too large to count
    // Fans as Keras counts them, from the kernel's last two axes.
    kernel_ = add_parameter("depthwise_kernel", kernel,
                            {.initializer = o_.depthwise_initializer,
                             .fan_in = window_.cells() * c,
                             .fan_out = window_.cells() * o_.depth_multiplier,
                             .regularizer = o_.depthwise_regularizer,
                             .channel_axis = 2});
    if (o_.use_bias) {
      bias_ = add_parameter("bias", {c * o_.depth_multiplier},
                            {.initializer = o_.bias_initializer,
                             .regularizer = o_.bias_regularizer});
    }
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    Variable y = depthwise_conv2d(inputs[0], context.read(at(kernel_)),
                                  window_.on(inputs[0].shape()));
    if (o_.use_bias) y = bias_add(y, context.read(at(bias_)));
    return activation_.apply(y);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Shape& x = inputs[0].shape;
    std::vector<std::string> operands{
        inputs[0].name, context.weight(at(kernel_), onnx_depthwise_weight, 0)};
    if (o_.use_bias) operands.push_back(context.weight(at(bias_)));
    return activation_.emit(
        context, {context.node("Conv", operands, window_.onnx(x, x[3])),
                  output_shape(std::array{x})});
  }

  int64_t multiply_adds(std::span<const Shape> inputs) const override {
    const Shape y = output_shape(inputs);
    return y[1] * y[2] * y[3] * window_.cells();
  }

 private:
  DepthwiseConv2DOptions o_;
  ConvolutionWindow window_;
  const ActivationFunction& activation_;
  size_t kernel_ = 0;
  size_t bias_ = 0;
};

}  // namespace

DepthwiseConv2D::DepthwiseConv2D(const DepthwiseConv2DOptions& options)
    : LayerHandle(
          make_layer<DepthwiseConv2DLayer>("DepthwiseConv2D", options)) {}

extern const LayerDef depthwise_conv2d_def;
const LayerDef depthwise_conv2d_def{
    .class_name = "DepthwiseConv2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<DepthwiseConv2DLayer>(
          read_fields<DepthwiseConv2DOptions>(config));
    },
    .role = LayerRole::linear,
    .qdq = {.enabled = true, .weight = "depthwise_kernel"},
    .folded = {.parameter = "depthwise_kernel",
               .first_axis = 2,
               .last_axis = 4},
    .keras = {.layout = KerasLayout::image, .has_activation = true},
};

}  // namespace octet
