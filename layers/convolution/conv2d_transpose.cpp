#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include <octet/layers/convolution.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "activation/activation_functions.h"
#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"
#include "convolution/convolution.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, Conv2DTransposeOptions& o) {
  v("filters", o.filters);
  v("kernel_size", o.kernel_size);
  v("strides", o.strides);
  v("padding", o.padding);
  v("dilation_rate", o.dilation_rate);
  v("output_padding", o.output_padding);
  v.extra("groups", o.groups, int64_t{1});
  v("activation", o.activation);
  v("use_bias", o.use_bias);
  v("kernel_initializer", o.kernel_initializer);
  v("bias_initializer", o.bias_initializer);
  v("kernel_regularizer", o.kernel_regularizer);
  v("bias_regularizer", o.bias_regularizer);
}

namespace {

class Conv2DTransposeLayer final : public Layer {
 public:
  explicit Conv2DTransposeLayer(const Conv2DTransposeOptions& options)
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
    if (!o_.output_padding) return;
    const Size2 more = *o_.output_padding;
    if (more.h < 0 || more.w < 0 || more.h >= o_.strides.h ||
        more.w >= o_.strides.w) {
      throw ValueError(
          "out_of_range", "output_padding",
          fmt::format(
              "must be at least 0 and less than the strides {}x{}, got {}x{}",
              o_.strides.h, o_.strides.w, more.h, more.w));
    }
  }

  std::string class_name() const override { return "Conv2DTranspose"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (built()) {
      facts.convolutions = {{.kernel = o_.kernel_size,
                             .in = at(kernel_).variable.shape()[3],
                             .out = o_.filters,
                             .groups = o_.groups}};
    }
    if (!inputs.empty()) {
      const Shape& x = inputs[0];
      facts.multiply_adds = product_of(
          {x[1], x[2], x[3], window_.cells(), o_.filters / o_.groups});
    }
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = image_input(inputs);
    if (x[3] % o_.groups != 0) {
      throw ValueError(
          "out_of_range", "groups",
          fmt::format("must divide the {} channels, got {}", x[3], o_.groups));
    }
    const Span rows = along_rows(x[1]);
    const Span columns = along_columns(x[2]);
    const int64_t h = rows.size;
    const int64_t w = columns.size;
    if (h < 1 || w < 1) {
      throw ShapeError("out_of_range", "padding",
                       fmt::format("leaves an empty output of {}x{} for {}", h,
                                   w, x.to_string()));
    }
    return {x[0], h, w, o_.filters};
  }

  void build(std::span<const Shape> inputs) override {
    const int64_t c = inputs[0][3];
    const int64_t filters = o_.filters / o_.groups;
    const Shape kernel{o_.kernel_size.h, o_.kernel_size.w, filters, c};
    (void)kernel.size();  // throws if the size overflows
    // Fans as in Keras: from the kernel's last two axes.
    kernel_ = add_parameter("kernel", kernel,
                            {.initializer = o_.kernel_initializer,
                             .fan_in = window_.cells() * filters,
                             .fan_out = window_.cells() * c / o_.groups,
                             .regularizer = o_.kernel_regularizer,
                             .channel_axis = 2});
    if (o_.use_bias) {
      bias_ = add_parameter("bias", {o_.filters},
                            {.initializer = o_.bias_initializer,
                             .regularizer = o_.bias_regularizer});
    }
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Shape shape = output_shape(std::array{inputs[0].shape()});
    Variable y = conv2d_transpose(inputs[0], context.read(at(kernel_)),
                                  {shape[1], shape[2]},
                                  {.strides = o_.strides,
                                   .dilation = o_.dilation_rate,
                                   .pads = pads(inputs[0].shape())},
                                  o_.groups);
    if (o_.use_bias) y = bias_add(y, context.read(at(bias_)));
    return activation_.apply(y);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Shape shape = output_shape(std::array{inputs[0].shape});
    std::vector<std::string> operands{
        inputs[0].name,
        context.weight(at(kernel_), {.order = {3, 2, 0, 1}}, 1)};
    if (o_.use_bias) operands.push_back(context.weight(at(bias_)));
    const Shape& x = inputs[0].shape;
    const Pads p = pads(x);
    const OnnxBuilder::Attributes attributes{
        {"kernel_shape", window_.onnx_size()},
        {"strides", window_.onnx_strides()},
        {"dilations", window_.onnx_dilations()},
        {"group", o_.groups},
        {"pads", std::vector{p.top, p.left, p.bottom, p.right}},
        {"output_padding",
         std::vector{along_rows(x[1]).beyond, along_columns(x[2]).beyond}}};
    return activation_.emit(
        context, context.channels_first_node("ConvTranspose", operands, shape,
                                             attributes));
  }

 private:
  // Geometry of the output along an axis.
  struct Span {
    int64_t size;
    Ends pads;       ///< of the forward convolution
    int64_t beyond;  ///< elements after the last window
  };

  Span along_rows(int64_t size) const {
    const Pads* given = o_.padding.given();
    return along(
        size, o_.kernel_size.h, o_.strides.h, o_.dilation_rate.h,
        given == nullptr ? Ends{} : Ends{given->top, given->bottom},
        o_.output_padding ? std::optional(o_.output_padding->h) : std::nullopt);
  }
  Span along_columns(int64_t size) const {
    const Pads* given = o_.padding.given();
    return along(
        size, o_.kernel_size.w, o_.strides.w, o_.dilation_rate.w,
        given == nullptr ? Ends{} : Ends{given->left, given->right},
        o_.output_padding ? std::optional(o_.output_padding->w) : std::nullopt);
  }
  Span along(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
             Ends given, std::optional<int64_t> more) const {
    const int64_t reach = (kernel - 1) * dilation + 1;
    const int64_t covered = (size - 1) * stride + reach;
    if (o_.padding == Padding::same) {
      const int64_t result =
          more ? (size - 1) * stride + reach % 2 + *more : size * stride;
      const int64_t cut = std::max<int64_t>(covered - result, 0);
      return {result, {cut / 2, cut - cut / 2}, result - covered + cut};
    }
    const int64_t beyond = more.value_or(std::max<int64_t>(stride - reach, 0));
    return {covered + beyond - given.begin - given.end, given, beyond};
  }
  Pads pads(const Shape& x) const {
    return {along_rows(x[1]).pads, along_columns(x[2]).pads};
  }

  Conv2DTransposeOptions o_;
  ConvolutionWindow window_;
  const ActivationFunction& activation_;
  size_t kernel_ = 0;
  size_t bias_ = 0;
};

}  // namespace

Conv2DTranspose::Conv2DTranspose(const Conv2DTransposeOptions& options)
    : LayerHandle(
          make_layer<Conv2DTransposeLayer>("Conv2DTranspose", options)) {}

extern const LayerDef conv2d_transpose_def;
const LayerDef conv2d_transpose_def{
    .class_name = "Conv2DTranspose",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<Conv2DTransposeLayer>(
          read_fields<Conv2DTransposeOptions>(config));
    },
    .role = LayerRole::linear,
    .qdq = {.enabled = true, .weight = "kernel"},
    .folded = {.parameter = "kernel", .first_axis = 2, .last_axis = 3},
    .keras = {.layout = KerasLayout::image,
              .aliases = {"Convolution2DTranspose", "Deconvolution2D"},
              .has_activation = true},
};

}  // namespace octet
