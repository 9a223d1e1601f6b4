#include <octet/layers/custom_layer.h>
#include <octet/layers/regularization.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, SpatialDropout1DOptions& o) {
  v("rate", o.rate);
}

namespace {

class SpatialDropout1DLayer final : public Layer {
 public:
  explicit SpatialDropout1DLayer(const SpatialDropout1DOptions& options)
      : o_(options) {
    expect_rate(o_.rate);
  }

  std::string class_name() const override { return "SpatialDropout1D"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (o_.rate == 0) facts.identity = Identity::always;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return sequence_input(inputs);
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    if (!context.training) return inputs[0];
    const Shape& x = inputs[0].shape();
    return dropout(inputs[0], o_.rate, *context.rng, {x[0], 1, x[2]});
  }
  OnnxValue emit(EmitContext&,
                 std::span<const OnnxValue> inputs) const override {
    return inputs[0];
  }

 private:
  SpatialDropout1DOptions o_;
};

}  // namespace

SpatialDropout1D::SpatialDropout1D(const SpatialDropout1DOptions& options)
    : LayerHandle(
          make_layer<SpatialDropout1DLayer>("SpatialDropout1D", options)) {}

extern const LayerDef spatial_dropout1d_def;
const LayerDef spatial_dropout1d_def{
    .class_name = "SpatialDropout1D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<SpatialDropout1DLayer>(
          read_fields<SpatialDropout1DOptions>(config));
    },
    .role = LayerRole::identity,
    .keras = {.renamed = {{{"p", "rate"}}}},
};

}  // namespace octet
