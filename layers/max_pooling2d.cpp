#include <fmt/format.h>

#include <octet/layers/max_pooling2d.h>
#include <octet/layers/onnx_builder.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "checks.h"
#include "fields.h"
#include "make_layer.h"
#include "pool_window.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, MaxPooling2DOptions& o) {
  v("pool_size", o.pool_size);
  v("strides", o.strides);
  v("padding", o.padding);
}

namespace {

class MaxPooling2DLayer final : public Layer {
 public:
  explicit MaxPooling2DLayer(const MaxPooling2DOptions& options) : o_(options) {
    o_.strides = pool_strides(o_.pool_size, o_.strides, o_.padding);
    if (o_.pool_size.h * o_.pool_size.w > kMaxPoolCells) {
      throw UnsupportedError(
          fmt::format("pool_size: expected at most {} cells, got {}x{}",
                      kMaxPoolCells, o_.pool_size.h, o_.pool_size.w));
    }
  }

  std::string class_name() const override { return "MaxPooling2D"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    return pooled_shape(image_input(inputs), o_.pool_size, o_.strides,
                        o_.padding);
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
    return pool_window(x, o_.pool_size, o_.strides, o_.padding);
  }

  MaxPooling2DOptions o_;
};

}  // namespace

MaxPooling2D::MaxPooling2D(const MaxPooling2DOptions& options)
    : LayerHandle(make_layer<MaxPooling2DLayer>("MaxPooling2D", options)) {}

extern const LayerDef max_pooling2d_def;
const LayerDef max_pooling2d_def{
    .class_name = "MaxPooling2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<MaxPooling2DLayer>(
          read_fields<MaxPooling2DOptions>(config));
    },
    .role = LayerRole::movement,
    .qdq = {.on_request = true},
    .keras = {.layout = KerasLayout::image, .aliases = {"MaxPool2D"}},
};

}  // namespace octet
