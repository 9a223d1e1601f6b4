#include <octet/layers/global_average_pooling2d.h>
#include <octet/layers/onnx_builder.h>
#include <octet/runtime/ops.h>

#include "checks.h"
#include "fields.h"
#include "make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, GlobalAveragePooling2DOptions& o) {
  v("keepdims", o.keepdims);
}

namespace {

class GlobalAveragePooling2DLayer final : public Layer {
 public:
  explicit GlobalAveragePooling2DLayer(
      const GlobalAveragePooling2DOptions& options)
      : o_(options) {}

  std::string class_name() const override { return "GlobalAveragePooling2D"; }
  Config config() const override { return write_fields(o_); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = image_input(inputs);
    if (o_.keepdims) return {x[0], 1, 1, x[3]};
    return {x[0], x[3]};
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return mean(inputs[0], {1, 2}, o_.keepdims ? Keepdims::yes : Keepdims::no);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y{context.node("GlobalAveragePool", {inputs[0].name}),
                output_shape(std::span(&inputs[0].shape, 1))};
    if (!o_.keepdims) {
      y.name = context.node("Flatten", {y.name}, {{"axis", int64_t{1}}});
    }
    return y;
  }

 private:
  GlobalAveragePooling2DOptions o_;
};

}  // namespace

GlobalAveragePooling2D::GlobalAveragePooling2D(
    const GlobalAveragePooling2DOptions& options)
    : LayerHandle(make_layer<GlobalAveragePooling2DLayer>(
          "GlobalAveragePooling2D", options)) {}

extern const LayerDef global_average_pooling2d_def;
const LayerDef global_average_pooling2d_def{
    .class_name = "GlobalAveragePooling2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<GlobalAveragePooling2DLayer>(
          read_fields<GlobalAveragePooling2DOptions>(config));
    },
    .qdq = {.enabled = true},
    .keras = {.layout = KerasLayout::image, .aliases = {"GlobalAvgPool2D"}},
};

}  // namespace octet
