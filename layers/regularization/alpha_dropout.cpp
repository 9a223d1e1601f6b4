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
static void fields(Visitor& v, AlphaDropoutOptions& o) {
  v("rate", o.rate);
  v("noise_shape", o.noise_shape);
}

namespace {

class AlphaDropoutLayer final : public Layer {
 public:
  explicit AlphaDropoutLayer(const AlphaDropoutOptions& options) : o_(options) {
    expect_rate(o_.rate);
  }

  std::string class_name() const override { return "AlphaDropout"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = OutputSign::any;
    if (o_.rate == 0) facts.identity = Identity::always;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    (void)noise_shape(o_.noise_shape, x);
    return x;
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    if (!context.training || o_.rate == 0) return inputs[0];
    // Limit of selu(x) for x -> -infinity.
    constexpr double kLimit = -1.6732632423543772 * 1.0507009873554805;
    const double rate = o_.rate;
    const double scale =
        1 / std::sqrt((1 - rate) * (1 + rate * kLimit * kLimit));
    const Shape drawn = noise_shape(o_.noise_shape, inputs[0].shape());
    // 1 for kept elements, else 0.
    const Variable kept =
        dropout(Variable(Tensor::full(drawn, static_cast<float>(1 - rate))),
                o_.rate, *context.rng);
    const Variable limits = scale_shift(kept, static_cast<float>(-kLimit),
                                        static_cast<float>(kLimit));
    return scale_shift(inputs[0] * kept + limits, static_cast<float>(scale),
                       static_cast<float>(-scale * kLimit * rate));
  }
  OnnxValue emit(EmitContext&,
                 std::span<const OnnxValue> inputs) const override {
    return inputs[0];
  }

 private:
  AlphaDropoutOptions o_;
};

}  // namespace

AlphaDropout::AlphaDropout(const AlphaDropoutOptions& options)
    : LayerHandle(make_layer<AlphaDropoutLayer>("AlphaDropout", options)) {}

extern const LayerDef alpha_dropout_def;
const LayerDef alpha_dropout_def{
    .class_name = "AlphaDropout",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<AlphaDropoutLayer>(
          read_fields<AlphaDropoutOptions>(config));
    },
    .role = LayerRole::identity,
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
