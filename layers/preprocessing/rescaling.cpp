#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/preprocessing.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/keras_lists.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, RescalingOptions& o) {
  v("scale", o.scale);
  v("offset", o.offset);
}

namespace {

class RescalingLayer final : public Layer {
 public:
  explicit RescalingLayer(const RescalingOptions& options)
      : o_(options),
        scale_(vector("scale", o_.scale)),
        offset_(vector("offset", o_.offset)) {
    // Per-channel factors of 0 are valid: some networks start with them.
    if (o_.scale.size() == 1 && o_.scale[0] == 0) {
      throw ValueError(
          "out_of_range", "scale",
          "must not be 0. Hint: 1 / 255 is 0 in C++; write 1 / 255.0f");
    }
  }

  std::string class_name() const override { return "Rescaling"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    for (const auto& [name, numbers] :
         {std::pair("scale", &o_.scale), std::pair("offset", &o_.offset)}) {
      const auto size = static_cast<int64_t>(numbers->size());
      if (size != 1 && (x.rank() < 2 || size != x[-1])) {
        throw ShapeError(
            "count_mismatch", name,
            fmt::format("must have 1 number or 1 per channel of {}, got {}",
                        x.to_string(), size));
      }
    }
    return x;
  }

  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    if (!per_channel()) {
      return scale_shift(inputs[0], o_.scale[0], o_.offset[0]);
    }
    return add(multiply(inputs[0], scale_), offset_);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    const auto constant = [&](const char* name, const Tensor& value) {
      if (value.size() == 1) return context.scalar(name, value.item());
      return context.builder().add_initializer(context.layer() + "/" + name,
                                               value);
    };
    const auto all = [](const std::vector<float>& numbers, float number) {
      return std::ranges::count(numbers, number) == std::ssize(numbers);
    };
    // A node must have the layer's name, also without an effect.
    const bool shifts = !all(o_.offset, 0);
    if (!shifts || !all(o_.scale, 1)) {
      y.name = context.node("Mul", {y.name, constant("scale", scale_.value())});
    }
    if (shifts) {
      y.name =
          context.node("Add", {y.name, constant("offset", offset_.value())});
    }
    return y;
  }

 private:
  bool per_channel() const {
    return o_.scale.size() > 1 || o_.offset.size() > 1;
  }

  static Variable vector(const char* name, const std::vector<float>& numbers) {
    if (numbers.empty()) {
      throw ValueError("missing_value", name, "no numbers given");
    }
    for (const float value : numbers) {
      if (!std::isfinite(value)) {
        throw ValueError("not_finite", name,
                         fmt::format("must be finite, got {}", value));
      }
    }
    const auto size = static_cast<int64_t>(numbers.size());
    return Variable(Tensor::of<float>({size}, numbers));
  }

  RescalingOptions o_;
  Variable scale_;  // [1] or [c]
  Variable offset_;
};

}  // namespace

Rescaling::Rescaling(const RescalingOptions& options)
    : LayerHandle(make_layer<RescalingLayer>("Rescaling", options)) {}

static void upgrade_rescaling(Config& config) {
  flatten_list(config, "scale");
  flatten_list(config, "offset");
}

extern const LayerDef rescaling_def;
const LayerDef rescaling_def{
    .class_name = "Rescaling",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<RescalingLayer>(
          read_fields<RescalingOptions>(config));
    },
    .keras = {.layout = KerasLayout::constants, .upgrade = upgrade_rescaling},
};

}  // namespace octet
