#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/embedding.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, MaskingOptions& o) {
  v("mask_value", o.mask_value);
}

namespace {

class MaskingLayer final : public Layer {
 public:
  explicit MaskingLayer(const MaskingOptions& options) : o_(options) {}

  std::string class_name() const override { return "Masking"; }
  Config config() const override { return write_fields(o_); }

  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = OutputSign::of_inputs;
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    if (x.rank() < 3) {
      throw ShapeError(
          "invalid_shape", "input",
          fmt::format("must be sequences [n,t,...], got {}", x.to_string()));
    }
    return x;
  }

  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Variable& x = inputs[0];
    const Variable counts =
        max(compare(Comparison::not_equal, x, Tensor::scalar(o_.mask_value)),
            {-1}, Keepdims::yes);
    return x * counts;
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    constexpr int64_t kFloat = 1;  // TensorProto::FLOAT
    const OnnxValue& x = inputs[0];
    const std::string equal = context.part(
        "Equal", "equal", {x.name, context.scalar("value", o_.mask_value)});
    const std::string differs = context.part(
        "Cast", "differs", {context.part("Not", "not_equal", {equal})},
        {{"to", kFloat}});
    const std::string counts =
        context.part("ReduceMax", "counts", {differs},
                     {{"axes", std::vector<int64_t>{x.shape.rank() - 1}},
                      {"keepdims", int64_t{1}}});
    return {context.node("Mul", {x.name, counts}), x.shape};
  }

 private:
  MaskingOptions o_;
};

}  // namespace

Masking::Masking(const MaskingOptions& options)
    : LayerHandle(make_layer<MaskingLayer>("Masking", options)) {}

extern const LayerDef masking_def;
const LayerDef masking_def{
    .class_name = "Masking",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<MaskingLayer>(
          read_fields<MaskingOptions>(config));
    },
};

}  // namespace octet
