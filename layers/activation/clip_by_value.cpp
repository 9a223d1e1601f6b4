#include <cmath>
#include <limits>

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
static void fields(Visitor& v, ClipByValueOptions& o) {
  v("min", o.min);
  v("max", o.max);
}

namespace {

class ClipByValueLayer final : public Layer {
 public:
  explicit ClipByValueLayer(const ClipByValueOptions& options) : o_(options) {
    const float low = o_.min.value_or(std::numeric_limits<float>::lowest());
    const float high = o_.max.value_or(std::numeric_limits<float>::max());
    if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
      throw ValueError(
          "out_of_range", "min, max",
          fmt::format("must be finite, with min <= max, got {} and {}", low,
                      high));
    }
  }

  std::string class_name() const override { return "ClipByValue"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.activation = "";
    facts.sign = o_.min.value_or(-1) >= 0  ? OutputSign::non_negative
                 : o_.max.value_or(0) >= 0 ? OutputSign::of_inputs
                                           : OutputSign::any;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return single_input(inputs);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    Variable y = inputs[0];
    if (o_.min) y = maximum(y, Tensor::scalar(*o_.min));
    if (o_.max) y = minimum(y, Tensor::scalar(*o_.max));
    return y;
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    std::vector<std::string> operands{
        y.name, o_.min ? context.scalar("min", *o_.min) : ""};
    if (o_.max) operands.push_back(context.scalar("max", *o_.max));
    y.name = context.node("Clip", operands);
    return y;
  }

 private:
  ClipByValueOptions o_;
};

}  // namespace

ClipByValue::ClipByValue(const ClipByValueOptions& options)
    : LayerHandle(make_layer<ClipByValueLayer>("ClipByValue", options)) {}

extern const LayerDef clip_by_value_def;
const LayerDef clip_by_value_def{
    .class_name = "ClipByValue",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ClipByValueLayer>(
          read_fields<ClipByValueOptions>(config));
    },
    .role = LayerRole::activation,
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
