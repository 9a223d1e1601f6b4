#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/identity.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, UpSampling2DOptions& o) {
  v("size", o.size);
  v("interpolation", o.interpolation);
}

namespace {

class UpSampling2DLayer final : public Layer {
 public:
  explicit UpSampling2DLayer(const UpSampling2DOptions& options) : o_(options) {
    expect_window("size", o_.size);
    if (o_.interpolation != "nearest" && o_.interpolation != "bilinear") {
      throw ValueError("invalid_value", "interpolation",
                       fmt::format("must be 'nearest' or 'bilinear', got '{}'",
                                   o_.interpolation));
    }
  }

  std::string class_name() const override { return "UpSampling2D"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.identity = identity_if_same_shape(*this, inputs);
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = image_input(inputs);
    return {x[0], x[1] * o_.size.h, x[2] * o_.size.w, x[3]};
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return upsample2d(
        inputs[0], o_.size,
        nearest() ? Interpolation::nearest : Interpolation::bilinear);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const std::string scales = context.builder().add_initializer(
        context.layer() + "/scales",
        Tensor::of<float>({4}, {1, 1, static_cast<float>(o_.size.h),
                                static_cast<float>(o_.size.w)}));
    OnnxBuilder::Attributes attributes;
    if (nearest()) {
      attributes = {{"mode", "nearest"},
                    {"coordinate_transformation_mode", "asymmetric"},
                    {"nearest_mode", "floor"}};
    } else {
      attributes = {{"mode", "linear"},
                    {"coordinate_transformation_mode", "half_pixel"}};
    }
    return context.channels_first_node(
        "Resize", {inputs[0].name, "", scales},
        output_shape(std::span(&inputs[0].shape, 1)), attributes);
  }

 private:
  bool nearest() const { return o_.interpolation == "nearest"; }

  UpSampling2DOptions o_;
};

}  // namespace

UpSampling2D::UpSampling2D(const UpSampling2DOptions& options)
    : LayerHandle(make_layer<UpSampling2DLayer>("UpSampling2D", options)) {}

extern const LayerDef up_sampling2d_def;
const LayerDef up_sampling2d_def{
    .class_name = "UpSampling2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<UpSampling2DLayer>(
          read_fields<UpSampling2DOptions>(config));
    },
    .keras = {.layout = KerasLayout::image},
};

}  // namespace octet
