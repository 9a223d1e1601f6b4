#include <cmath>

#include <octet/layers/custom_layer.h>
#include <octet/layers/regularization.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, GaussianDropoutOptions& o) {
  v("rate", o.rate);
}

namespace {

class GaussianDropoutLayer final : public Layer {
 public:
  explicit GaussianDropoutLayer(const GaussianDropoutOptions& options)
      : o_(options) {
    expect_rate(o_.rate);
  }

  std::string class_name() const override { return "GaussianDropout"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = OutputSign::any;
    if (o_.rate == 0) facts.identity = Identity::always;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return single_input(inputs);
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    if (!context.training || o_.rate == 0) return inputs[0];
    const Variable ones(Tensor::full(inputs[0].shape(), 1));
    return inputs[0] * gaussian_noise(ones, std::sqrt(o_.rate / (1 - o_.rate)),
                                      *context.rng);
  }
  OnnxValue emit(EmitContext&,
                 std::span<const OnnxValue> inputs) const override {
    return inputs[0];
  }

 private:
  GaussianDropoutOptions o_;
};

}  // namespace

GaussianDropout::GaussianDropout(const GaussianDropoutOptions& options)
    : LayerHandle(
          make_layer<GaussianDropoutLayer>("GaussianDropout", options)) {}

extern const LayerDef gaussian_dropout_def;
const LayerDef gaussian_dropout_def{
    .class_name = "GaussianDropout",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<GaussianDropoutLayer>(
          read_fields<GaussianDropoutOptions>(config));
    },
    .role = LayerRole::identity,
    .keras = {.layout = KerasLayout::pointwise, .renamed = {{{"p", "rate"}}}},
};

}  // namespace octet
