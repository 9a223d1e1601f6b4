#include <cmath>

#include <fmt/format.h>

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
static void fields(Visitor& v, ResizingOptions& o) {
  v("height", o.height);
  v("width", o.width);
  v("interpolation", o.interpolation);
  v("crop_to_aspect_ratio", o.crop_to_aspect_ratio);
  v("pad_to_aspect_ratio", o.pad_to_aspect_ratio);
  v("fill_value", o.fill_value);
}

namespace {

class ResizingLayer final : public Layer {
 public:
  explicit ResizingLayer(const ResizingOptions& options) : o_(options) {
    expect_count("height", o_.height);
    expect_count("width", o_.width);
    if (o_.interpolation != "nearest" && o_.interpolation != "bilinear") {
      throw ValueError("invalid_value", "interpolation",
                       fmt::format("must be 'nearest' or 'bilinear', got '{}'",
                                   o_.interpolation));
    }
    if (o_.crop_to_aspect_ratio && o_.pad_to_aspect_ratio) {
      throw ValueError("conflicting_options",
                       "crop_to_aspect_ratio, pad_to_aspect_ratio",
                       "at most one may be set");
    }
    if (!std::isfinite(o_.fill_value)) {
      throw ValueError("not_finite", "fill_value",
                       fmt::format("must be finite, got {}", o_.fill_value));
    }
  }

  std::string class_name() const override { return "Resizing"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    const bool pads = o_.pad_to_aspect_ratio && o_.fill_value < 0;
    facts.sign = pads ? OutputSign::any : OutputSign::of_inputs;
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
    return {.crop = o_.crop_to_aspect_ratio ? crop_to_ratio(x, size) : Pads{},
            .pad = o_.pad_to_aspect_ratio ? pad_to_ratio(x, size) : Pads{},
            .fill = o_.fill_value,
            .size = size,
            .resize = {.interpolation = o_.interpolation == "nearest"
                                            ? Interpolation::nearest
                                            : Interpolation::bilinear}};
  }

  ResizingOptions o_;
};

// Rejects options of Keras that have no counterpart.
void refuse_other_forms(const Config& config) {
  const Config* antialias = config.find("antialias");
  if (antialias != nullptr && *antialias == Config(true)) {
    throw UnsupportedError(
        "unsupported_value", "antialias",
        "must be false. Hint: remove this layer from the model and resize the "
        "images when loading them");
  }
  const Config* mode = config.find("fill_mode");
  if (mode != nullptr && *mode != Config("constant")) {
    throw UnsupportedError("unsupported_value", "fill_mode",
                           "must be 'constant'");
  }
}

}  // namespace

Resizing::Resizing(const ResizingOptions& options)
    : LayerHandle(make_layer<ResizingLayer>("Resizing", options)) {}

extern const LayerDef resizing_def;
const LayerDef resizing_def{
    .class_name = "Resizing",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      refuse_other_forms(config);
      return std::make_shared<ResizingLayer>(
          read_fields<ResizingOptions>(config));
    },
    .keras = {.layout = KerasLayout::image},
};

}  // namespace octet
