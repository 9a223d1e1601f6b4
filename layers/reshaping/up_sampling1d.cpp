#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/identity.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, UpSampling1DOptions& o) {
  v("size", o.size);
}

namespace {

class UpSampling1DLayer final : public Layer {
 public:
  explicit UpSampling1DLayer(const UpSampling1DOptions& options) : o_(options) {
    expect_window("size", o_.size);
  }

  std::string class_name() const override { return "UpSampling1D"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.identity = identity_if_same_shape(*this, inputs);
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = sequence_input(inputs);
    return x.with(1, x[1] * o_.size);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Shape& x = inputs[0].shape();
    const Variable row = reshape(inputs[0], {x[0], 1, x[1], x[2]});
    return reshape(upsample2d(row, {int64_t{1}, o_.size}),
                   output_shape(std::span(&x, 1)));
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const std::string scales = context.builder().add_initializer(
        context.layer() + "/scales",
        Tensor::of<float>({3}, {1, 1, static_cast<float>(o_.size)}));
    return context.channels_first_node(
        "Resize", {inputs[0].name, "", scales},
        output_shape(std::span(&inputs[0].shape, 1)),
        {{"mode", "nearest"},
         {"coordinate_transformation_mode", "asymmetric"},
         {"nearest_mode", "floor"}});
  }

 private:
  UpSampling1DOptions o_;
};

}  // namespace

UpSampling1D::UpSampling1D(const UpSampling1DOptions& options)
    : LayerHandle(make_layer<UpSampling1DLayer>("UpSampling1D", options)) {}

extern const LayerDef up_sampling1d_def;
const LayerDef up_sampling1d_def{
    .class_name = "UpSampling1D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<UpSampling1DLayer>(
          read_fields<UpSampling1DOptions>(config));
    },
    .keras = {.renamed = {{{"length", "size"}}}},
};

}  // namespace octet
