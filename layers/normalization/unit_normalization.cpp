#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/normalization.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"
#include "normalization/unit_length.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, UnitNormalizationOptions& o) {
  v("axis", o.axis);
  v("epsilon", o.epsilon);
}

namespace {

class UnitNormalizationLayer final : public Layer {
 public:
  explicit UnitNormalizationLayer(const UnitNormalizationOptions& options)
      : o_(options) {
    if (o_.axis.empty()) {
      throw ValueError("missing_value", "axis",
                       "at least one axis is required");
    }
    // The square of epsilon must be a normal float.
    if (!(o_.epsilon >= 1e-18f && o_.epsilon <= 1)) {
      throw ValueError(
          "out_of_range", "epsilon",
          fmt::format("must be in [1e-18, 1], got {}", o_.epsilon));
    }
  }

  std::string class_name() const override { return "UnitNormalization"; }
  // Keras has no option epsilon: written only if not the default.
  Config config() const override {
    const Config all = write_fields(o_);
    if (o_.epsilon != UnitNormalizationOptions().epsilon) return all;
    return Config().set("axis", all.at("axis"));
  }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = OutputSign::of_inputs;
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    (void)axes_of(x);
    return x;
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return normalize(inputs[0], axes_of(inputs[0].shape()), o_.epsilon);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    const std::vector<int> own = axes_of(y.shape);
    std::vector<int64_t> axes(own.begin(), own.end());
    std::ranges::sort(axes);
    y.name = emit_unit_length(context, y.name, axes, o_.epsilon);
    return y;
  }

 private:
  std::vector<int> axes_of(const Shape& x) const {
    std::vector<int> axes;
    for (const int64_t axis : o_.axis) {
      const int64_t place = axis < 0 ? axis + x.rank() : axis;
      if (place < 0 || place >= x.rank()) {
        throw ShapeError(
            "out_of_range", "axis",
            fmt::format("must be an axis of {}, got {}", x.to_string(), axis));
      }
      if (place == 0) {
        throw ValueError(
            "out_of_range", "axis",
            "must not be the batch axis: samples would depend on each other");
      }
      axes.push_back(static_cast<int>(place));
      if (std::ranges::count(axes, axes.back()) > 1) {
        throw ValueError("invalid_value", "axis",
                         fmt::format("{} is given twice", axis));
      }
    }
    return axes;
  }

  UnitNormalizationOptions o_;
};

}  // namespace

UnitNormalization::UnitNormalization(const UnitNormalizationOptions& options)
    : LayerHandle(
          make_layer<UnitNormalizationLayer>("UnitNormalization", options)) {}

extern const LayerDef unit_normalization_def;
const LayerDef unit_normalization_def{
    .class_name = "UnitNormalization",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<UnitNormalizationLayer>(
          read_fields<UnitNormalizationOptions>(config));
    },
};

}  // namespace octet
