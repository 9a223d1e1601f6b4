#include <octet/layers/custom_layer.h>
#include <octet/layers/regularization.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, DropoutOptions& o) {
  v("rate", o.rate);
  v("noise_shape", o.noise_shape);
}

namespace {

class DropoutLayer final : public Layer {
 public:
  explicit DropoutLayer(const DropoutOptions& options) : o_(options) {
    expect_rate(o_.rate);
  }

  std::string class_name() const override { return "Dropout"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (o_.rate == 0) facts.identity = Identity::always;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    (void)noise_shape(o_.noise_shape, x);
    return x;
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    if (!context.training) return inputs[0];
    return dropout(inputs[0], o_.rate, *context.rng,
                   noise_shape(o_.noise_shape, inputs[0].shape()));
  }
  OnnxValue emit(EmitContext&,
                 std::span<const OnnxValue> inputs) const override {
    return inputs[0];
  }

 private:
  DropoutOptions o_;
};

}  // namespace

Dropout::Dropout(const DropoutOptions& options)
    : LayerHandle(make_layer<DropoutLayer>("Dropout", options)) {}

extern const LayerDef dropout_def;
const LayerDef dropout_def{
    .class_name = "Dropout",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<DropoutLayer>(
          read_fields<DropoutOptions>(config));
    },
    .role = LayerRole::identity,
    .keras = {.layout = KerasLayout::pointwise, .renamed = {{{"p", "rate"}}}},
};

}  // namespace octet
