#include <cmath>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, ELUOptions& o) {
  v("alpha", o.alpha);
}

namespace {

class ELULayer final : public Layer {
 public:
  explicit ELULayer(const ELUOptions& options) : o_(options) {
    if (!std::isfinite(o_.alpha)) {
      throw ValueError("not_finite", "alpha",
                       fmt::format("must be finite, got {}", o_.alpha));
    }
  }

  std::string class_name() const override { return "ELU"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.activation = o_.alpha == 1 ? "elu" : "";
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return single_input(inputs);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return elu(inputs[0], o_.alpha);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    y.name = context.node("Elu", {y.name}, {{"alpha", o_.alpha}});
    return y;
  }

 private:
  ELUOptions o_;
};

}  // namespace

ELU::ELU(const ELUOptions& options)
    : LayerHandle(make_layer<ELULayer>("ELU", options)) {}

extern const LayerDef elu_def;
const LayerDef elu_def{
    .class_name = "ELU",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ELULayer>(read_fields<ELUOptions>(config));
    },
    .role = LayerRole::activation,
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
