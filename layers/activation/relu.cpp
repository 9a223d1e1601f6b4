
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
static void fields(Visitor& v, ReLUOptions& o) {
  v("max_value", o.max_value);
  v("negative_slope", o.negative_slope);
  v("threshold", o.threshold);
}

namespace {

class ReLULayer final : public Layer {
 public:
  explicit ReLULayer(const ReLUOptions& options) : o_(options) {
    if (!(o_.max_value > 0)) {
      throw ValueError(
          "out_of_range", "max_value",
          fmt::format("must be greater than 0, got {}", o_.max_value));
    }
    expect_not_negative("negative_slope", o_.negative_slope);
    expect_not_negative("threshold", o_.threshold);
  }

  std::string class_name() const override { return "ReLU"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    const bool plain = o_.negative_slope == 0 && o_.threshold == 0;
    facts.activation = plain && std::isinf(o_.max_value) ? "relu"
                       : plain && o_.max_value == 6      ? "relu6"
                                                         : "";
    facts.sign =
        o_.negative_slope == 0 ? OutputSign::non_negative : OutputSign::any;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return single_input(inputs);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return relu(inputs[0], form());
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    return emit_relu(context, inputs[0], form());
  }

 private:
  ReluOptions form() const {
    return {.max_value = o_.max_value,
            .negative_slope = o_.negative_slope,
            .threshold = o_.threshold};
  }

  ReLUOptions o_;
};

}  // namespace

ReLU::ReLU(const ReLUOptions& options)
    : LayerHandle(make_layer<ReLULayer>("ReLU", options)) {}

extern const LayerDef relu_def;
const LayerDef relu_def{
    .class_name = "ReLU",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ReLULayer>(read_fields<ReLUOptions>(config));
    },
    .role = LayerRole::activation,
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
