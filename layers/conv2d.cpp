#include <octet/layers/conv2d.h>
#include <octet/layers/onnx_builder.h>
#include <octet/runtime/ops.h>

#include "checks.h"
#include "fields.h"
#include "initializers.h"
#include "make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, Conv2DOptions& o) {
  v("filters", o.filters);
  v("kernel_size", o.kernel_size);
  v("strides", o.strides);
  v("padding", o.padding);
  v("dilation_rate", o.dilation_rate);
  v("use_bias", o.use_bias);
}

namespace {

class Conv2DLayer final : public Layer {
 public:
  explicit Conv2DLayer(const Conv2DOptions& options) : o_(options) {
    expect_count("filters", o_.filters);
    expect_window("kernel_size", o_.kernel_size);
    expect_window("strides", o_.strides);
    expect_window("dilation_rate", o_.dilation_rate);
  }

  std::string class_name() const override { return "Conv2D"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = image_input(inputs);
    const Pads p = window(x).pads;
    const int64_t oh = window_positions(x[1], o_.kernel_size.h, o_.strides.h,
                                        o_.dilation_rate.h, p.top + p.bottom);
    const int64_t ow = window_positions(x[2], o_.kernel_size.w, o_.strides.w,
                                        o_.dilation_rate.w, p.left + p.right);
    expect_window_fits(x, o_.kernel_size, oh, ow);
    return {x[0], oh, ow, o_.filters};
  }

  void build(std::span<const Shape> inputs) override {
    const int64_t c = inputs[0][3];
    const Shape kernel{o_.kernel_size.h, o_.kernel_size.w, c, o_.filters};
    const int64_t size = kernel.size();  // refuses one too large to count
    kernel_ = add_parameter("kernel", kernel, glorot_uniform(), true,
                            size / o_.filters, size / c);
    if (o_.use_bias) {
      bias_ = add_parameter("bias", {o_.filters}, constant_value(0));
    }
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Variable y =
        conv2d(inputs[0], context.read(at(kernel_)), window(inputs[0].shape()));
    return o_.use_bias ? bias_add(y, context.read(at(bias_))) : y;
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Pads p = window(inputs[0].shape).pads;
    std::vector<std::string> operands{inputs[0].name,
                                      context.weight(
                                          at(kernel_),
                                          [](const Tensor& w) {
                                            return w.transposed({3, 2, 0, 1});
                                          },
                                          0)};
    if (o_.use_bias) operands.push_back(context.weight(at(bias_)));
    const Shape shape = output_shape(std::array{inputs[0].shape});
    return {
        context.node(
            "Conv", operands,
            {{"kernel_shape", std::vector{o_.kernel_size.h, o_.kernel_size.w}},
             {"strides", std::vector{o_.strides.h, o_.strides.w}},
             {"dilations", std::vector{o_.dilation_rate.h, o_.dilation_rate.w}},
             {"group", int64_t{1}},
             {"pads", std::vector{p.top, p.left, p.bottom, p.right}}}),
        shape};
  }

  int64_t multiply_adds(std::span<const Shape> inputs) const override {
    const Shape y = output_shape(inputs);
    return y[1] * y[2] * y[3] * o_.kernel_size.h * o_.kernel_size.w *
           inputs[0][3];
  }

 private:
  WindowOptions window(const Shape& x) const {
    return {.strides = o_.strides,
            .dilation = o_.dilation_rate,
            .pads = pads_of(o_.padding, {x[1], x[2]}, o_.kernel_size,
                            o_.strides, o_.dilation_rate)};
  }

  Conv2DOptions o_;
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
    .qdq = {.enabled = true, .weight = "kernel"},
};

}  // namespace octet
