#include <fmt/format.h>

#include <octet/layers/max_pooling2d.h>
#include <octet/layers/onnx_builder.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "checks.h"
#include "fields.h"
#include "make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, MaxPooling2DOptions& o) {
  v("pool_size", o.pool_size);
  v("strides", o.strides);
  v("padding", o.padding);
}

namespace {

using Options = MaxPooling2DOptions;

class MaxPooling2DLayer final : public Layer {
 public:
  explicit MaxPooling2DLayer(const Options& options) : o_(options) {
    expect_window("pool_size", o_.pool_size);
    expect_window("strides", o_.strides, 0);
    if (o_.pool_size.h * o_.pool_size.w > kMaxPoolCells) {
      throw UnsupportedError(
          fmt::format("pool_size: expected at most {} cells, got {}x{}",
                      kMaxPoolCells, o_.pool_size.h, o_.pool_size.w));
    }
    if (o_.strides.h == 0) o_.strides.h = o_.pool_size.h;
    if (o_.strides.w == 0) o_.strides.w = o_.pool_size.w;
  }

  std::string class_name() const override { return "MaxPooling2D"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = image_input(inputs);
    const Pads p = window(x).pads;
    const int64_t oh = window_positions(x[1], o_.pool_size.h, o_.strides.h, 1,
                                        p.top + p.bottom);
    const int64_t ow = window_positions(x[2], o_.pool_size.w, o_.strides.w, 1,
                                        p.left + p.right);
    expect_window_fits(x, o_.pool_size, oh, ow);
    return {x[0], oh, ow, x[3]};
  }

  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return max_pool2d(inputs[0], o_.pool_size, window(inputs[0].shape()));
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Pads p = window(inputs[0].shape).pads;
    const Shape shape = output_shape(std::array{inputs[0].shape});
    return {context.node(
                "MaxPool", {inputs[0].name},
                {{"kernel_shape", std::vector{o_.pool_size.h, o_.pool_size.w}},
                 {"strides", std::vector{o_.strides.h, o_.strides.w}},
                 {"pads", std::vector{p.top, p.left, p.bottom, p.right}}}),
            shape};
  }

 private:
  WindowOptions window(const Shape& x) const {
    return {.strides = o_.strides,
            .pads = o_.padding.pads({x[1], x[2]}, o_.pool_size, o_.strides,
                                    {1, 1})};
  }

  Options o_;
};

}  // namespace

MaxPooling2D::MaxPooling2D(const Options& options)
    : LayerHandle(make_layer<MaxPooling2DLayer>("MaxPooling2D", options)) {}

extern const LayerDef max_pooling2d_def;
const LayerDef max_pooling2d_def{
    .class_name = "MaxPooling2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<MaxPooling2DLayer>(read_fields<Options>(config));
    },
};

}  // namespace octet
