#include <algorithm>
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
static void fields(Visitor& v, LocalResponseNormalizationOptions& o) {
  v("size", o.size);
  v("alpha", o.alpha);
  v("beta", o.beta);
  v("bias", o.bias);
}

namespace {

class LocalResponseNormalizationLayer final : public Layer {
 public:
  explicit LocalResponseNormalizationLayer(
      const LocalResponseNormalizationOptions& options)
      : o_(options) {
    expect_count("size", o_.size);
    if (o_.size % 2 == 0) {
      throw ValueError("out_of_range", "size",
                       fmt::format("must be odd, got {}", o_.size));
    }
    expect_not_negative("alpha", o_.alpha);
    if (!std::isfinite(o_.beta)) {
      throw ValueError("not_finite", "beta",
                       fmt::format("must be finite, got {}", o_.beta));
    }
    if (!(o_.bias > 0) || std::isinf(o_.bias)) {
      throw ValueError(
          "out_of_range", "bias",
          fmt::format("must be finite and greater than 0, got {}", o_.bias));
    }
  }

  std::string class_name() const override {
    return "LocalResponseNormalization";
  }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = OutputSign::of_inputs;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return image_input(inputs);
  }

  // Sums over windows are a product with a band matrix of ones.
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Variable& x = inputs[0];
    const int64_t c = x.shape()[-1];
    const int64_t before = (o_.size - 1) / 2;
    Tensor band = Tensor::zeros({c, c});
    for (int64_t to = 0; to < c; ++to) {
      const int64_t first = std::max<int64_t>(to - before, 0);
      const int64_t last = std::min(to - before + o_.size, c);
      for (int64_t from = first; from < last; ++from) {
        band.f32()[static_cast<size_t>(from * c + to)] = 1;
      }
    }
    const Variable sums = dense(square(x), Variable(band));
    const Variable base =
        scale_shift(sums, o_.alpha / static_cast<float>(o_.size), o_.bias);
    return x * exponential(scale_shift(log(base), -o_.beta));
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    return context.channels_first_node("LRN", {inputs[0].name}, inputs[0].shape,
                                       {{"size", o_.size},
                                        {"alpha", o_.alpha},
                                        {"beta", o_.beta},
                                        {"bias", o_.bias}});
  }

 private:
  LocalResponseNormalizationOptions o_;
};

}  // namespace

LocalResponseNormalization::LocalResponseNormalization(
    const LocalResponseNormalizationOptions& options)
    : LayerHandle(make_layer<LocalResponseNormalizationLayer>(
          "LocalResponseNormalization", options)) {}

extern const LayerDef local_response_normalization_def;
const LayerDef local_response_normalization_def{
    .class_name = "LocalResponseNormalization",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<LocalResponseNormalizationLayer>(
          read_fields<LocalResponseNormalizationOptions>(config));
    },
};

}  // namespace octet
