#include <cmath>

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
static void fields(Visitor& v, LayerScaleOptions& o) {
  v("init_values", o.init_values);
  v("projection_dim", o.projection_dim);
}

namespace {

class LayerScaleLayer final : public Layer {
 public:
  explicit LayerScaleLayer(const LayerScaleOptions& options) : o_(options) {
    if (!std::isfinite(o_.init_values)) {
      throw ValueError("not_finite", "init_values",
                       fmt::format("must be finite, got {}", o_.init_values));
    }
    if (o_.projection_dim != 0) {
      expect_count("projection_dim", o_.projection_dim);
    }
  }

  std::string class_name() const override { return "LayerScale"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    if (x.rank() < 2) {
      throw ShapeError("invalid_shape", "input",
                       "must be [n,...,c], got " + x.to_string());
    }
    if (o_.projection_dim != 0 && o_.projection_dim != x[-1]) {
      throw ShapeError(
          "shape_mismatch", "input",
          fmt::format("must have {} channels (projection_dim), got {}",
                      o_.projection_dim, x.to_string()));
    }
    return x;
  }
  void build(std::span<const Shape> inputs) override {
    gamma_ = add_parameter("gamma", {inputs[0][-1]},
                           {.initializer = constant_value(o_.init_values)});
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    return inputs[0] * context.read(at(gamma_));
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    y.name = context.node("Mul", {y.name, context.weight(at(gamma_))});
    return y;
  }

 private:
  LayerScaleOptions o_;
  size_t gamma_ = 0;
};

}  // namespace

LayerScale::LayerScale(const LayerScaleOptions& options)
    : LayerHandle(make_layer<LayerScaleLayer>("LayerScale", options)) {}

extern const LayerDef layer_scale_def;
const LayerDef layer_scale_def{
    .class_name = "LayerScale",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<LayerScaleLayer>(
          read_fields<LayerScaleOptions>(config));
    },
};

}  // namespace octet
