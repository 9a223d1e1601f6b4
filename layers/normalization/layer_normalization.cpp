#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/normalization.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, LayerNormalizationOptions& o) {
  v("axis", o.axis);
  v("epsilon", o.epsilon);
  v("center", o.center);
  v("scale", o.scale);
  v("beta_initializer", o.beta_initializer);
  v("gamma_initializer", o.gamma_initializer);
  v("beta_regularizer", o.beta_regularizer);
  v("gamma_regularizer", o.gamma_regularizer);
}

namespace {

class LayerNormalizationLayer final : public Layer {
 public:
  explicit LayerNormalizationLayer(const LayerNormalizationOptions& options)
      : o_(options) {
    expect_epsilon(o_.epsilon);
  }

  std::string class_name() const override { return "LayerNormalization"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    expect_last_axis(o_.axis, x);
    return x;
  }

  void build(std::span<const Shape> inputs) override {
    const Shape c{inputs[0][-1]};
    if (o_.scale) {
      gamma_ = add_parameter("gamma", c,
                             {.initializer = o_.gamma_initializer,
                              .regularizer = o_.gamma_regularizer});
    }
    if (o_.center) {
      beta_ = add_parameter("beta", c,
                            {.initializer = o_.beta_initializer,
                             .regularizer = o_.beta_regularizer});
    }
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Variable gamma = o_.scale ? context.read(at(gamma_)) : Variable();
    const Variable beta = o_.center ? context.read(at(beta_)) : Variable();
    return layer_norm(inputs[0], gamma, beta, o_.epsilon);
  }

  // Composed of primitives: the operator LayerNormalization requires opset 17.
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const OnnxBuilder::Attributes over{{"axes", std::vector<int64_t>{-1}},
                                       {"keepdims", int64_t{1}}};
    const std::string mean = context.part("ReduceMean", "mean", {x.name}, over);
    const std::string centred = context.part("Sub", "centred", {x.name, mean});
    const std::string squares =
        context.part("Pow", "squares", {centred, context.scalar("two", 2)});
    const std::string variance =
        context.part("ReduceMean", "variance", {squares}, over);
    const std::string raised = context.part(
        "Add", "raised", {variance, context.scalar("epsilon", o_.epsilon)});
    const std::string deviation = context.part("Sqrt", "deviation", {raised});
    std::string y = context.node("Div", {centred, deviation});
    if (o_.scale) {
      y = context.part("Mul", "scaled", {y, context.weight(at(gamma_))});
    }
    if (o_.center) {
      y = context.part("Add", "shifted", {y, context.weight(at(beta_))});
    }
    return {y, x.shape};
  }

 private:
  LayerNormalizationOptions o_;
  size_t gamma_ = 0;
  size_t beta_ = 0;
};

// Keras writes this entry into every configuration; true selects another
// formula.
void refuse_rms_scaling(const Config& config) {
  const Config* rms = config.find("rms_scaling");
  if (rms != nullptr && rms->as_bool()) {
    throw UnsupportedError(
        "unsupported_value", "rms_scaling",
        "must be false. Hint: RMSNormalization normalizes without the mean");
  }
}

}  // namespace

LayerNormalization::LayerNormalization(const LayerNormalizationOptions& options)
    : LayerHandle(
          make_layer<LayerNormalizationLayer>("LayerNormalization", options)) {}

extern const LayerDef layer_normalization_def;
const LayerDef layer_normalization_def{
    .class_name = "LayerNormalization",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      refuse_rms_scaling(config);
      return std::make_shared<LayerNormalizationLayer>(
          read_fields<LayerNormalizationOptions>(config));
    },
    .keras = {.layout = KerasLayout::channels},
};

}  // namespace octet
