
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
static void fields(Visitor& v, LeakyReLUOptions& o) {
  v("negative_slope", o.negative_slope);
}

namespace {

class LeakyReLULayer final : public Layer {
 public:
  explicit LeakyReLULayer(const LeakyReLUOptions& options) : o_(options) {
    expect_not_negative("negative_slope", o_.negative_slope);
  }

  std::string class_name() const override { return "LeakyReLU"; }
  Config config() const override { return write_fields(o_); }
  // 0.2 is the slope of Keras' function; the layer's default is 0.3.
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.activation = o_.negative_slope == 0.2f ? "leaky_relu" : "";
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return single_input(inputs);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return leaky_relu(inputs[0], o_.negative_slope);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    return emit_relu(context, inputs[0], {.negative_slope = o_.negative_slope});
  }

 private:
  LeakyReLUOptions o_;
};

}  // namespace

LeakyReLU::LeakyReLU(const LeakyReLUOptions& options)
    : LayerHandle(make_layer<LeakyReLULayer>("LeakyReLU", options)) {}

extern const LayerDef leaky_relu_def;
const LayerDef leaky_relu_def{
    .class_name = "LeakyReLU",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      LeakyReLUOptions options;
      FieldReader reader(config);
      reader("alpha", options.negative_slope);  // Keras 2's name
      fields(reader, options);
      return std::make_shared<LeakyReLULayer>(options);
    },
    .role = LayerRole::activation,
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
