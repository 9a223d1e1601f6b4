#include <octet/layers/global_max_pooling2d.h>
#include <octet/layers/onnx_builder.h>
#include <octet/runtime/ops.h>

#include "checks.h"
#include "fields.h"
#include "make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, GlobalMaxPooling2DOptions& o) {
  v("keepdims", o.keepdims);
}

namespace {

class GlobalMaxPooling2DLayer final : public Layer {
 public:
  explicit GlobalMaxPooling2DLayer(const GlobalMaxPooling2DOptions& options)
      : o_(options) {}

  std::string class_name() const override { return "GlobalMaxPooling2D"; }
  Config config() const override { return write_fields(o_); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = image_input(inputs);
    if (o_.keepdims) return {x[0], 1, 1, x[3]};
    return {x[0], x[3]};
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return max(inputs[0], {1, 2}, o_.keepdims ? Keepdims::yes : Keepdims::no);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y{context.node("GlobalMaxPool", {inputs[0].name}),
                output_shape(std::span(&inputs[0].shape, 1))};
    if (!o_.keepdims) {
      y.name = context.node("Flatten", {y.name}, {{"axis", int64_t{1}}});
    }
    return y;
  }

 private:
  GlobalMaxPooling2DOptions o_;
};

}  // namespace

GlobalMaxPooling2D::GlobalMaxPooling2D(const GlobalMaxPooling2DOptions& options)
    : LayerHandle(
          make_layer<GlobalMaxPooling2DLayer>("GlobalMaxPooling2D", options)) {}

extern const LayerDef global_max_pooling2d_def;
const LayerDef global_max_pooling2d_def{
    .class_name = "GlobalMaxPooling2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<GlobalMaxPooling2DLayer>(
          read_fields<GlobalMaxPooling2DOptions>(config));
    },
    .role = LayerRole::movement,
    .keras = {.layout = KerasLayout::image, .aliases = {"GlobalMaxPool2D"}},
};

}  // namespace octet
