#include <cmath>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/regularization.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, GaussianNoiseOptions& o) {
  v("stddev", o.stddev);
}

namespace {

class GaussianNoiseLayer final : public Layer {
 public:
  explicit GaussianNoiseLayer(const GaussianNoiseOptions& options)
      : o_(options) {
    if (!(o_.stddev >= 0 && std::isfinite(o_.stddev))) {
      throw ValueError(
          "out_of_range", "stddev",
          fmt::format("must be finite and at least 0, got {}", o_.stddev));
    }
  }

  std::string class_name() const override { return "GaussianNoise"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = OutputSign::any;
    if (o_.stddev == 0) facts.identity = Identity::always;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return single_input(inputs);
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    if (!context.training) return inputs[0];
    return gaussian_noise(inputs[0], o_.stddev, *context.rng);
  }
  OnnxValue emit(EmitContext&,
                 std::span<const OnnxValue> inputs) const override {
    return inputs[0];
  }

 private:
  GaussianNoiseOptions o_;
};

}  // namespace

GaussianNoise::GaussianNoise(const GaussianNoiseOptions& options)
    : LayerHandle(make_layer<GaussianNoiseLayer>("GaussianNoise", options)) {}

extern const LayerDef gaussian_noise_def;
const LayerDef gaussian_noise_def{
    .class_name = "GaussianNoise",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<GaussianNoiseLayer>(
          read_fields<GaussianNoiseOptions>(config));
    },
    .role = LayerRole::identity,
    .keras = {.layout = KerasLayout::pointwise,
              .renamed = {{{"sigma", "stddev"}}}},
};

}  // namespace octet
