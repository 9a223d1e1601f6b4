#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, RepeatVectorOptions& o) {
  v("n", o.n);
}

namespace {

class RepeatVectorLayer final : public Layer {
 public:
  explicit RepeatVectorLayer(const RepeatVectorOptions& options) : o_(options) {
    expect_count("n", o_.n);
  }

  std::string class_name() const override { return "RepeatVector"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = OutputSign::of_inputs;
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    if (x.rank() != 2) {
      throw ShapeError("invalid_shape", "input",
                       "must be vectors [n,c], got " + x.to_string());
    }
    return {x[0], o_.n, x[1]};
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Shape& x = inputs[0].shape();
    return broadcast_to(reshape(inputs[0], {x[0], 1, x[1]}),
                        {x[0], o_.n, x[1]});
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const std::string row =
        context.node("Unsqueeze", {x.name, context.integers("axes", {1})});
    return {
        context.node("Expand", {row, context.integers("shape", {1, o_.n, 1})}),
        output_shape(std::span(&x.shape, 1))};
  }

 private:
  RepeatVectorOptions o_;
};

}  // namespace

RepeatVector::RepeatVector(const RepeatVectorOptions& options)
    : LayerHandle(make_layer<RepeatVectorLayer>("RepeatVector", options)) {}

extern const LayerDef repeat_vector_def;
const LayerDef repeat_vector_def{
    .class_name = "RepeatVector",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<RepeatVectorLayer>(
          read_fields<RepeatVectorOptions>(config));
    },
    .role = LayerRole::movement,
};

}  // namespace octet
