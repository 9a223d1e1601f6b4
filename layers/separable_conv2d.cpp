#include <array>

#include <octet/layers/onnx_builder.h>
#include <octet/layers/separable_conv2d.h>
#include <octet/runtime/ops.h>

#include "activation_functions.h"
#include "checks.h"
#include "convolution.h"
#include "fields.h"
#include "make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, SeparableConv2DOptions& o) {
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

namespace {

constexpr std::string_view kInner = "depthwise";  // what the first one makes
constexpr ConvolutionWindow kPointwise{{1, 1}, {1, 1}, Padding::valid, {1, 1}};

class SeparableConv2DLayer final : public Layer {
 public:
  explicit SeparableConv2DLayer(const SeparableConv2DOptions& options)
      : o_(options),
        window_{o_.kernel_size, o_.strides, o_.padding, o_.dilation_rate},
        activation_(find_activation(o_.activation)) {
    expect_count("filters", o_.filters);
    expect_count("depth_multiplier", o_.depth_multiplier);
    window_.check();
  }

  std::string class_name() const override { return "SeparableConv2D"; }
  Config config() const override { return write_fields(o_); }
  std::vector<ConvolutionShape> convolutions() const override {
    const Shape& k = at(depthwise_).variable.shape();
    return {{.kernel = o_.kernel_size,
             .in = k[2],
             .out = k[2] * k[3],
             .groups = k[2]},
            {.in = k[2] * k[3], .out = o_.filters}};
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    return window_.output_shape(image_input(inputs), o_.filters);
  }

  void build(std::span<const Shape> inputs) override {
    const int64_t c = inputs[0][3];
    const Shape kernel{o_.kernel_size.h, o_.kernel_size.w, c,
                       o_.depth_multiplier};
    (void)kernel.size();  // refuses one too large to count
    // Fans as Keras counts them, from the kernel's last two axes.
    depthwise_ =
        add_parameter("depthwise_kernel", kernel,
                      {.initializer = o_.depthwise_initializer,
                       .fan_in = window_.cells() * c,
                       .fan_out = window_.cells() * o_.depth_multiplier,
                       .regularizer = o_.depthwise_regularizer,
                       .channel_axis = 2});
    const int64_t mixed = c * o_.depth_multiplier;
    pointwise_ = add_parameter("pointwise_kernel", {1, 1, mixed, o_.filters},
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
    const Variable each = depthwise_conv2d(
        inputs[0], context.read(at(depthwise_)), window_.on(inputs[0].shape()));
    Variable y =
        conv2d(context.inner(kInner, each), context.read(at(pointwise_)));
    if (o_.use_bias) y = bias_add(y, context.read(at(bias_)));
    return activation_.apply(y);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Shape& x = inputs[0].shape;
    const std::string each =
        context.node("Conv",
                     {inputs[0].name,
                      context.weight(at(depthwise_), onnx_depthwise_weight, 0)},
                     window_.onnx(x, x[3]));
    std::vector<std::string> operands{context.inner(kInner, each),
                                      context.weight(
                                          at(pointwise_),
                                          [](const Tensor& w) {
                                            return w.transposed({3, 2, 0, 1});
                                          },
                                          0)};
    if (o_.use_bias) operands.push_back(context.weight(at(bias_)));
    const Shape y = output_shape(std::array{x});
    return activation_.emit(
        context, {context.node("Conv", operands, kPointwise.onnx(y, 1)), y});
  }

  int64_t multiply_adds(std::span<const Shape> inputs) const override {
    const Shape y = output_shape(inputs);
    const int64_t mixed = inputs[0][3] * o_.depth_multiplier;
    return y[1] * y[2] * mixed * (window_.cells() + o_.filters);
  }

 private:
  SeparableConv2DOptions o_;
  ConvolutionWindow window_;
  const ActivationFunction& activation_;
  size_t depthwise_ = 0;
  size_t pointwise_ = 0;
  size_t bias_ = 0;
};

}  // namespace

SeparableConv2D::SeparableConv2D(const SeparableConv2DOptions& options)
    : LayerHandle(
          make_layer<SeparableConv2DLayer>("SeparableConv2D", options)) {}

extern const LayerDef separable_conv2d_def;
const LayerDef separable_conv2d_def{
    .class_name = "SeparableConv2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<SeparableConv2DLayer>(
          read_fields<SeparableConv2DOptions>(config));
    },
    .role = LayerRole::linear,
    .qdq = {.enabled = true,
            .weight = "depthwise_kernel",
            .second_weight = "pointwise_kernel",
            .inner = kInner},
    .folded = {.parameter = "pointwise_kernel",
               .first_axis = 3,
               .last_axis = 4},
    .keras = {.layout = KerasLayout::image,
              .aliases = {"SeparableConvolution2D"},
              .has_activation = true},
};

}  // namespace octet
