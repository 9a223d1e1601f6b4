#include <octet/layers/custom_layer.h>
#include <octet/layers/preprocessing.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/identity.h"
#include "base/make_layer.h"
#include "preprocessing/image_fit.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, CenterCropOptions& o) {
  v("height", o.height);
  v("width", o.width);
}

namespace {

class CenterCropLayer final : public Layer {
 public:
  explicit CenterCropLayer(const CenterCropOptions& options) : o_(options) {
    expect_count("height", o_.height);
    expect_count("width", o_.width);
  }

  std::string class_name() const override { return "CenterCrop"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = OutputSign::of_inputs;
    facts.identity = identity_if_same_size(inputs, o_.height, o_.width);
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = image_input(inputs);
    return {x[0], o_.height, o_.width, x[3]};
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return fitted(inputs[0], fit(inputs[0].shape()));
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    return emit_fitted(context, inputs[0], fit(inputs[0].shape));
  }

 private:
  ImageFit fit(const Shape& x) const {
    const Size2 size{o_.height, o_.width};
    const Size2 rest{x[1] - size.h, x[2] - size.w};
    if (rest.h < 0 || rest.w < 0) {
      return {.crop = crop_to_ratio(x, size), .size = size};
    }
    const Size2 first{rest.h / 2, rest.w / 2};
    return {.crop = {first.h, rest.h - first.h, first.w, rest.w - first.w},
            .size = size};
  }

  CenterCropOptions o_;
};

}  // namespace

CenterCrop::CenterCrop(const CenterCropOptions& options)
    : LayerHandle(make_layer<CenterCropLayer>("CenterCrop", options)) {}

extern const LayerDef center_crop_def;
const LayerDef center_crop_def{
    .class_name = "CenterCrop",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<CenterCropLayer>(
          read_fields<CenterCropOptions>(config));
    },
    .keras = {.layout = KerasLayout::image},
};

}  // namespace octet
