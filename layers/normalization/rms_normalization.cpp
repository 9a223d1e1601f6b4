#include <octet/layers/custom_layer.h>
#include <octet/layers/normalization.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, RMSNormalizationOptions& o) {
  v("axis", o.axis);
  v("epsilon", o.epsilon);
}

namespace {

class RMSNormalizationLayer final : public Layer {
 public:
  explicit RMSNormalizationLayer(const RMSNormalizationOptions& options)
      : o_(options) {
    expect_epsilon(o_.epsilon);
  }

  std::string class_name() const override { return "RMSNormalization"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    expect_last_axis(o_.axis, x);
    return x;
  }
  void build(std::span<const Shape> inputs) override {
    scale_ = add_parameter("scale", {inputs[0][-1]}, {.initializer = ones()});
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Variable& x = inputs[0];
    const Variable power = mean(square(x), {-1}, Keepdims::yes);
    return x / octet::sqrt(power + o_.epsilon) * context.read(at(scale_));
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const std::string squares = context.node("Mul", {x.name, x.name});
    const std::string power = context.node(
        "ReduceMean", {squares},
        {{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{1}}});
    const std::string root = context.node(
        "Sqrt",
        {context.node("Add", {power, context.scalar("epsilon", o_.epsilon)})});
    const std::string normalized = context.node("Div", {x.name, root});
    return {context.node("Mul", {normalized, context.weight(at(scale_))}),
            x.shape};
  }

 private:
  RMSNormalizationOptions o_;
  size_t scale_ = 0;
};

}  // namespace

RMSNormalization::RMSNormalization(const RMSNormalizationOptions& options)
    : LayerHandle(
          make_layer<RMSNormalizationLayer>("RMSNormalization", options)) {}

extern const LayerDef rms_normalization_def;
const LayerDef rms_normalization_def{
    .class_name = "RMSNormalization",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<RMSNormalizationLayer>(
          read_fields<RMSNormalizationOptions>(config));
    },
};

}  // namespace octet
