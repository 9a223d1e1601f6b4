#include <cmath>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/custom_layer.h>
#include <octet/layers/merging.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, PowerOptions& o) {
  v("exponent", o.exponent);
}

namespace {

class PowerLayer final : public Layer {
 public:
  explicit PowerLayer(const PowerOptions& options) : o_(options) {
    if (!std::isfinite(o_.exponent)) {
      throw ValueError("not_finite", "exponent",
                       fmt::format("must be finite, got {}", o_.exponent));
    }
  }

  std::string class_name() const override { return "Power"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.activation = "";
    facts.sign = std::fmod(o_.exponent, 2.0f) == 0 ? OutputSign::non_negative
                                                   : OutputSign::of_inputs;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return single_input(inputs);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return power(inputs[0], o_.exponent);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    y.name =
        context.node("Pow", {y.name, context.scalar("exponent", o_.exponent)});
    return y;
  }

 private:
  PowerOptions o_;
};

}  // namespace

Power::Power(const PowerOptions& options)
    : LayerHandle(make_layer<PowerLayer>("Power", options)) {}

extern const LayerDef power_def;
const LayerDef power_def{
    .class_name = "Power",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<PowerLayer>(read_fields<PowerOptions>(config));
    },
    .role = LayerRole::activation,
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
