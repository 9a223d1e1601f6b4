#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/identity.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, ZeroPadding2DOptions& o) {
  v("padding", o.padding);
}

namespace {

class ZeroPadding2DLayer final : public Layer {
 public:
  explicit ZeroPadding2DLayer(const ZeroPadding2DOptions& options)
      : o_(options) {
    expect_padding(o_.padding);
  }

  std::string class_name() const override { return "ZeroPadding2D"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.identity = identity_if_same_shape(*this, inputs);
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = image_input(inputs);
    const Pads& p = o_.padding;
    return {x[0], p.top + x[1] + p.bottom, p.left + x[2] + p.right, x[3]};
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return pad2d(inputs[0], o_.padding);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Pads& p = o_.padding;
    return {
        context.node("Pad", {inputs[0].name,
                             context.integers("pads", {0, p.top, p.left, 0, 0,
                                                       p.bottom, p.right, 0})}),
        output_shape(std::span(&inputs[0].shape, 1))};
  }

 private:
  ZeroPadding2DOptions o_;
};

}  // namespace

ZeroPadding2D::ZeroPadding2D(const ZeroPadding2DOptions& options)
    : LayerHandle(make_layer<ZeroPadding2DLayer>("ZeroPadding2D", options)) {}

// Keras 1.2 writes [top, bottom, left, right].
static void upgrade_zero_padding2d(Config& config) {
  const Config* value = config.find("padding");
  if (value == nullptr || !value->is_list() || value->as_list().size() != 4) {
    return;
  }
  const Config::List sides = value->as_list();
  config.set("padding", Config::List{Config::List{sides[0], sides[1]},
                                     Config::List{sides[2], sides[3]}});
}

extern const LayerDef zero_padding2d_def;
const LayerDef zero_padding2d_def{
    .class_name = "ZeroPadding2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ZeroPadding2DLayer>(
          read_fields<ZeroPadding2DOptions>(config));
    },
    .role = LayerRole::movement,
    .keras = {.layout = KerasLayout::image, .upgrade = upgrade_zero_padding2d},
};

}  // namespace octet
