#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/identity.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, ZeroPadding1DOptions& o) {
  v("padding", o.padding);
}

namespace {

class ZeroPadding1DLayer final : public Layer {
 public:
  explicit ZeroPadding1DLayer(const ZeroPadding1DOptions& options)
      : o_(options) {
    expect_ends("padding", o_.padding);
  }

  std::string class_name() const override { return "ZeroPadding1D"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.identity = identity_if_same_shape(*this, inputs);
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = sequence_input(inputs);
    return x.with(1, o_.padding.begin + x[1] + o_.padding.end);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return pad1d(inputs[0], o_.padding);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    y.name = context.node(
        "Pad", {y.name, context.integers("pads", {0, o_.padding.begin, 0, 0,
                                                  o_.padding.end, 0})});
    y.shape = output_shape(std::span(&inputs[0].shape, 1));
    return y;
  }

 private:
  ZeroPadding1DOptions o_;
};

}  // namespace

ZeroPadding1D::ZeroPadding1D(const ZeroPadding1DOptions& options)
    : LayerHandle(make_layer<ZeroPadding1DLayer>("ZeroPadding1D", options)) {}

extern const LayerDef zero_padding1d_def;
const LayerDef zero_padding1d_def{
    .class_name = "ZeroPadding1D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ZeroPadding1DLayer>(
          read_fields<ZeroPadding1DOptions>(config));
    },
    .role = LayerRole::movement,
    .keras = {.layout = KerasLayout::image},
};

}  // namespace octet
