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
static void fields(Visitor& v, Cropping1DOptions& o) {
  v("cropping", o.cropping);
}

namespace {

class Cropping1DLayer final : public Layer {
 public:
  explicit Cropping1DLayer(const Cropping1DOptions& options) : o_(options) {
    expect_ends("cropping", o_.cropping);
  }

  std::string class_name() const override { return "Cropping1D"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.identity = identity_if_same_shape(*this, inputs);
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = sequence_input(inputs);
    const int64_t length = x[1] - o_.cropping.begin - o_.cropping.end;
    if (length < 1) {
      throw ShapeError(
          "out_of_range", "cropping",
          fmt::format("({},{}) leaves nothing of {}", o_.cropping.begin,
                      o_.cropping.end, x.to_string()));
    }
    return x.with(1, length);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Shape& x = inputs[0].shape();
    return slice(inputs[0], 1, o_.cropping.begin,
                 output_shape(std::span(&x, 1))[1]);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    const int64_t length = y.shape[1];
    y.name = context.node(
        "Slice", {y.name, context.integers("starts", {o_.cropping.begin}),
                  context.integers("ends", {length - o_.cropping.end}),
                  context.integers("axes", {1})});
    y.shape = output_shape(std::span(&inputs[0].shape, 1));
    return y;
  }

 private:
  Cropping1DOptions o_;
};

}  // namespace

Cropping1D::Cropping1D(const Cropping1DOptions& options)
    : LayerHandle(make_layer<Cropping1DLayer>("Cropping1D", options)) {}

extern const LayerDef cropping1d_def;
const LayerDef cropping1d_def{
    .class_name = "Cropping1D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<Cropping1DLayer>(
          read_fields<Cropping1DOptions>(config));
    },
    .role = LayerRole::movement,
};

}  // namespace octet
