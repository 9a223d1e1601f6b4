
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
static void fields(Visitor& v, PReLUOptions& o) {
  v("alpha_initializer", o.alpha_initializer);
  v("alpha_regularizer", o.alpha_regularizer);
  v("shared_axes", o.shared_axes);
}

namespace {

class PReLULayer final : public Layer {
 public:
  explicit PReLULayer(const PReLUOptions& options) : o_(options) {}

  std::string class_name() const override { return "PReLU"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.activation = "";
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    if (x.rank() < 2) {
      throw ShapeError("invalid_shape", "input",
                       "must be [n,...,c], got " + x.to_string());
    }
    for (const int64_t axis : o_.shared_axes) {
      if (axis < 1 || axis >= x.rank()) {
        throw ValueError(
            "out_of_range", "shared_axes",
            fmt::format("axes must be in [1,{}), got {}", x.rank(), axis));
      }
    }
    if (built() && at(alpha_).variable.shape() != slopes(x)) {
      throw ShapeError("shape_mismatch", "input",
                       fmt::format("slopes have shape {}, as in the first call "
                                   "of this layer; {} needs {}",
                                   at(alpha_).variable.shape().to_string(),
                                   x.to_string(), slopes(x).to_string()));
    }
    return x;
  }

  void build(std::span<const Shape> inputs) override {
    alpha_ = add_parameter("alpha", slopes(inputs[0]),
                           {.initializer = o_.alpha_initializer,
                            .regularizer = o_.alpha_regularizer});
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    return prelu(inputs[0], context.read(at(alpha_)));
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    y.name = context.node("PRelu", {y.name, context.weight(at(alpha_))});
    return y;
  }

 private:
  // Returns the shape of alpha.
  Shape slopes(const Shape& x) const {
    Shape shape = x.slice(1, x.rank());
    for (const int64_t axis : o_.shared_axes) {
      shape = shape.with(static_cast<int>(axis) - 1, 1);
    }
    return shape;
  }

  PReLUOptions o_;
  size_t alpha_ = 0;
};

}  // namespace

PReLU::PReLU(const PReLUOptions& options)
    : LayerHandle(make_layer<PReLULayer>("PReLU", options)) {}

extern const LayerDef prelu_def;
const LayerDef prelu_def{
    .class_name = "PReLU",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<PReLULayer>(read_fields<PReLUOptions>(config));
    },
    .role = LayerRole::activation,
    .keras = {.layout = KerasLayout::shared_axes},
};

}  // namespace octet
