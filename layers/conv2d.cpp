#include <array>

#include <fmt/format.h>

#include <octet/layers/conv2d.h>
#include <octet/layers/onnx_builder.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "activation_functions.h"
#include "checks.h"
#include "convolution.h"
#include "fields.h"
#include "make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, Conv2DOptions& o) {
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

namespace {

class Conv2DLayer final : public Layer {
 public:
  explicit Conv2DLayer(const Conv2DOptions& options)
      : o_(options),
        window_{o_.kernel_size, o_.strides, o_.padding, o_.dilation_rate},
        activation_(find_activation(o_.activation)) {
    expect_count("filters", o_.filters);
    expect_count("groups", o_.groups);
    if (o_.filters % o_.groups != 0) {
      throw ValueError(
          fmt::format("groups: expected a divisor of the {} filters, got {}",
                      o_.filters, o_.groups));
    }
    window_.check();
  }

  std::string class_name() const override { return "Conv2D"; }
  Config config() const override { return write_fields(o_); }
  std::vector<ConvolutionShape> convolutions() const override {
    const Shape& k = at(kernel_).variable.shape();
    return {{.kernel = o_.kernel_size,
             .in = k[2] * o_.groups,
             .out = k[3],
             .groups = o_.groups}};
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = image_input(inputs);
    if (x[3] % o_.groups != 0) {
      throw ValueError(
          fmt::format("groups: expected a divisor of the {} channels, got {}",
                      x[3], o_.groups));
    }
    return window_.output_shape(x, o_.filters);
  }

  void build(std::span<const Shape> inputs) override {
    const int64_t c = inputs[0][3] / o_.groups;
    const Shape kernel{o_.kernel_size.h, o_.kernel_size.w, c, o_.filters};
    const int64_t size = kernel.size();  // refuses one too large to count
    kernel_ = add_parameter("kernel", kernel,
                            {.initializer = o_.kernel_initializer,
                             .fan_in = size / o_.filters,
                             .fan_out = size / c,
                             .regularizer = o_.kernel_regularizer});
    if (o_.use_bias) {
      bias_ = add_parameter("bias", {o_.filters},
                            {.initializer = o_.bias_initializer,
                             .regularizer = o_.bias_regularizer});
    }
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    Variable y = conv2d(inputs[0], context.read(at(kernel_)),
                        window_.on(inputs[0].shape()), o_.groups);
    if (o_.use_bias) y = bias_add(y, context.read(at(bias_)));
    return activation_.apply(y);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Shape& x = inputs[0].shape;
    std::vector<std::string> operands{inputs[0].name,
                                      context.weight(
                                          at(kernel_),
                                          [](const Tensor& w) {
                                            return w.transposed({3, 2, 0, 1});
                                          },
                                          0)};
    if (o_.use_bias) operands.push_back(context.weight(at(bias_)));
    return activation_.emit(
        context, {context.node("Conv", operands, window_.onnx(x, o_.groups)),
                  output_shape(std::array{x})});
  }

  int64_t multiply_adds(std::span<const Shape> inputs) const override {
    const Shape y = output_shape(inputs);
    return y[1] * y[2] * y[3] * window_.cells() * (inputs[0][3] / o_.groups);
  }

 private:
  Conv2DOptions o_;
  ConvolutionWindow window_;
  const ActivationFunction& activation_;
  size_t kernel_ = 0;
  size_t bias_ = 0;
};

}  // namespace

Conv2D::Conv2D(const Conv2DOptions& options)
    : LayerHandle(make_layer<Conv2DLayer>("Conv2D", options)) {}

extern const LayerDef conv2d_def;
const LayerDef conv2d_def{
    .class_name = "Conv2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<Conv2DLayer>(read_fields<Conv2DOptions>(config));
    },
    .role = LayerRole::linear,
    .qdq = {.enabled = true, .weight = "kernel"},
    .folded = {.parameter = "kernel", .first_axis = 3, .last_axis = 4},
    .keras = {.layout = KerasLayout::image,
              .aliases = {"AtrousConvolution2D", "Convolution2D"},
              .has_activation = true},
};

}  // namespace octet
