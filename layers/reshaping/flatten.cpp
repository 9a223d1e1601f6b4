#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/identity.h"
#include "base/make_layer.h"

namespace octet {
namespace {

class FlattenLayer final : public Layer {
 public:
  explicit FlattenLayer(const FlattenOptions& = {}) {}

  std::string class_name() const override { return "Flatten"; }
  Config config() const override { return Config::Object(); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.identity = identity_if_same_shape(*this, inputs);
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    return {x[0], x.slice(1, x.rank()).size()};
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Shape& x = inputs[0].shape();
    return reshape(inputs[0], {x[0], x.slice(1, x.rank()).size()});
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    return {context.node("Flatten", {x.name}, {{"axis", int64_t{1}}}),
            output_shape(std::array{x.shape})};
  }
};

}  // namespace

Flatten::Flatten(const FlattenOptions& options)
    : LayerHandle(make_layer<FlattenLayer>("Flatten", options)) {}

extern const LayerDef flatten_def;
const LayerDef flatten_def{
    .class_name = "Flatten",
    .create = [](const Config&) -> std::shared_ptr<Layer> {
      return std::make_shared<FlattenLayer>();
    },
    .role = LayerRole::movement,
    .keras = {.layout = KerasLayout::flatten},
};

}  // namespace octet
