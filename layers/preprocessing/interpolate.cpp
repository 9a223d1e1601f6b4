#include <cmath>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/preprocessing.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/identity.h"
#include "base/make_layer.h"
#include "preprocessing/image_fit.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, InterpolateOptions& o) {
  v("height", o.height);
  v("width", o.width);
  v("mode", o.mode);
  v("coordinates", o.coordinates);
  v("cubic_coefficient", o.cubic_coefficient);
}

namespace {

PixelCoordinates find_coordinates(const std::string& name) {
  for (const auto coordinates :
       {PixelCoordinates::half_pixel, PixelCoordinates::align_corners,
        PixelCoordinates::asymmetric}) {
    if (name == name_of(coordinates)) return coordinates;
  }
  throw ValueError(
      "invalid_value", "coordinates",
      fmt::format(
          "must be 'half_pixel', 'align_corners' or 'asymmetric', got '{}'",
          name));
}

class InterpolateLayer final : public Layer {
 public:
  explicit InterpolateLayer(const InterpolateOptions& options)
      : o_(options), coordinates_(find_coordinates(o_.coordinates)) {
    expect_count("height", o_.height);
    expect_count("width", o_.width);
    if (o_.mode != "bilinear" && o_.mode != "bicubic") {
      throw ValueError(
          "invalid_value", "mode",
          fmt::format("must be 'bilinear' or 'bicubic', got '{}'{}", o_.mode,
                      o_.mode == "nearest"
                          ? ". Hint: the layer Resizing supports it"
                          : ""));
    }
    if (!std::isfinite(o_.cubic_coefficient)) {
      throw ValueError(
          "not_finite", "cubic_coefficient",
          fmt::format("must be finite, got {}", o_.cubic_coefficient));
    }
  }

  std::string class_name() const override { return "Interpolate"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = cubic() ? OutputSign::any : OutputSign::of_inputs;
    facts.identity = identity_if_same_size(inputs, o_.height, o_.width);
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = image_input(inputs);
    return {x[0], o_.height, o_.width, x[3]};
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return fitted(inputs[0], fit());
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    return emit_fitted(context, inputs[0], fit());
  }

 private:
  bool cubic() const { return o_.mode == "bicubic"; }
  ImageFit fit() const {
    return {.size = {o_.height, o_.width},
            .resize = {.interpolation = cubic() ? Interpolation::bicubic
                                                : Interpolation::bilinear,
                       .coordinates = coordinates_,
                       .cubic_coefficient = o_.cubic_coefficient}};
  }

  InterpolateOptions o_;
  PixelCoordinates coordinates_;
};

}  // namespace

Interpolate::Interpolate(const InterpolateOptions& options)
    : LayerHandle(make_layer<InterpolateLayer>("Interpolate", options)) {}

extern const LayerDef interpolate_def;
const LayerDef interpolate_def{
    .class_name = "Interpolate",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<InterpolateLayer>(
          read_fields<InterpolateOptions>(config));
    },
};

}  // namespace octet
