#include <octet/layers/custom_layer.h>
#include <octet/layers/regularization.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, SpatialDropout2DOptions& o) {
  v("rate", o.rate);
}

namespace {

class SpatialDropout2DLayer final : public Layer {
 public:
  explicit SpatialDropout2DLayer(const SpatialDropout2DOptions& options)
      : o_(options) {
    expect_rate(o_.rate);
  }

  std::string class_name() const override { return "SpatialDropout2D"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (o_.rate == 0) facts.identity = Identity::always;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return image_input(inputs);
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    if (!context.training) return inputs[0];
    const Shape& x = inputs[0].shape();
    return dropout(inputs[0], o_.rate, *context.rng, {x[0], 1, 1, x[3]});
  }
  OnnxValue emit(EmitContext&,
                 std::span<const OnnxValue> inputs) const override {
    return inputs[0];
  }

 private:
  SpatialDropout2DOptions o_;
};

}  // namespace

SpatialDropout2D::SpatialDropout2D(const SpatialDropout2DOptions& options)
    : LayerHandle(
          make_layer<SpatialDropout2DLayer>("SpatialDropout2D", options)) {}

extern const LayerDef spatial_dropout2d_def;
const LayerDef spatial_dropout2d_def{
    .class_name = "SpatialDropout2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<SpatialDropout2DLayer>(
          read_fields<SpatialDropout2DOptions>(config));
    },
    .role = LayerRole::identity,
    .keras = {.layout = KerasLayout::image, .renamed = {{{"p", "rate"}}}},
};

}  // namespace octet
