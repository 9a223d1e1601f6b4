#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/identity.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, Cropping2DOptions& o) {
  v("cropping", o.cropping);
}

namespace {

class Cropping2DLayer final : public Layer {
 public:
  explicit Cropping2DLayer(const Cropping2DOptions& options) : o_(options) {
    expect_window("cropping", {o_.cropping.top, o_.cropping.bottom}, 0);
    expect_window("cropping", {o_.cropping.left, o_.cropping.right}, 0);
  }

  std::string class_name() const override { return "Cropping2D"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.identity = identity_if_same_shape(*this, inputs);
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = image_input(inputs);
    const Pads& p = o_.cropping;
    const int64_t h = x[1] - p.top - p.bottom;
    const int64_t w = x[2] - p.left - p.right;
    if (h < 1 || w < 1) {
      throw ShapeError(
          "out_of_range", "cropping",
          fmt::format("(({},{}),({},{})) leaves nothing of {}", p.top, p.bottom,
                      p.left, p.right, x.to_string()));
    }
    return {x[0], h, w, x[3]};
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return crop2d(inputs[0], o_.cropping);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Shape& x = inputs[0].shape;
    const Pads& p = o_.cropping;
    return {context.node(
                "Slice",
                {inputs[0].name, context.integers("starts", {p.top, p.left}),
                 context.integers("ends", {x[1] - p.bottom, x[2] - p.right}),
                 context.integers("axes", {1, 2})}),
            output_shape(std::span(&x, 1))};
  }

 private:
  Cropping2DOptions o_;
};

}  // namespace

Cropping2D::Cropping2D(const Cropping2DOptions& options)
    : LayerHandle(make_layer<Cropping2DLayer>("Cropping2D", options)) {}

extern const LayerDef cropping2d_def;
const LayerDef cropping2d_def{
    .class_name = "Cropping2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<Cropping2DLayer>(
          read_fields<Cropping2DOptions>(config));
    },
    .role = LayerRole::movement,
    .keras = {.layout = KerasLayout::image},
};

}  // namespace octet
