#include <octet/layers/average_pooling2d.h>
#include <octet/layers/onnx_builder.h>
#include <octet/runtime/ops.h>

#include "checks.h"
#include "fields.h"
#include "make_layer.h"
#include "pool_window.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, AveragePooling2DOptions& o) {
  v("pool_size", o.pool_size);
  v("strides", o.strides);
  v("padding", o.padding);
}

namespace {

class AveragePooling2DLayer final : public Layer {
 public:
  explicit AveragePooling2DLayer(const AveragePooling2DOptions& options)
      : o_(options) {
    o_.strides = pool_strides(o_.pool_size, o_.strides, o_.padding);
  }

  std::string class_name() const override { return "AveragePooling2D"; }
  Config config() const override { return write_fields(o_); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return pooled_shape(image_input(inputs), o_.pool_size, o_.strides,
                        o_.padding);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return avg_pool2d(inputs[0], o_.pool_size, window(inputs[0].shape()));
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Pads p = window(inputs[0].shape).pads;
    return {context.node(
                "AveragePool", {inputs[0].name},
                {{"kernel_shape", std::vector{o_.pool_size.h, o_.pool_size.w}},
                 {"strides", std::vector{o_.strides.h, o_.strides.w}},
                 {"pads", std::vector{p.top, p.left, p.bottom, p.right}},
                 {"count_include_pad", int64_t{0}}}),
            output_shape(std::span(&inputs[0].shape, 1))};
  }

 private:
  WindowOptions window(const Shape& x) const {
    return pool_window(x, o_.pool_size, o_.strides, o_.padding);
  }

  AveragePooling2DOptions o_;
};

}  // namespace

AveragePooling2D::AveragePooling2D(const AveragePooling2DOptions& options)
    : LayerHandle(
          make_layer<AveragePooling2DLayer>("AveragePooling2D", options)) {}

extern const LayerDef average_pooling2d_def;
const LayerDef average_pooling2d_def{
    .class_name = "AveragePooling2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<AveragePooling2DLayer>(
          read_fields<AveragePooling2DOptions>(config));
    },
    .qdq = {.enabled = true},
    .keras = {.layout = KerasLayout::image, .aliases = {"AvgPool2D"}},
};

}  // namespace octet
