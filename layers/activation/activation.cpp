
#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "activation/activation_functions.h"
#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, ActivationOptions& o) {
  v("activation", o.activation);
}

namespace {

class ActivationLayer final : public Layer {
 public:
  explicit ActivationLayer(const ActivationOptions& options)
      : o_(options), function_(find_activation(o_.activation)) {}

  std::string class_name() const override { return "Activation"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (o_.activation == "linear") facts.identity = Identity::always;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    if (o_.activation.ends_with("softmax") && x.rank() < 2) {
      throw ShapeError("invalid_shape", "input",
                       "must be [n,...,c], got " + x.to_string());
    }
    return x;
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return function_.apply(inputs[0]);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    return function_.emit(context, inputs[0]);
  }

 private:
  ActivationOptions o_;
  const ActivationFunction& function_;
};

}  // namespace

Activation::Activation(const ActivationOptions& options)
    : LayerHandle(make_layer<ActivationLayer>("Activation", options)) {}

extern const LayerDef activation_def;
const LayerDef activation_def{
    .class_name = "Activation",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ActivationLayer>(
          read_fields<ActivationOptions>(config));
    },
    .role = LayerRole::activation,
    .keras = {.layout = KerasLayout::pointwise, .has_activation = true},
};

}  // namespace octet
