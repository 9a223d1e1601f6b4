#include <octet/layers/onnx_builder.h>
#include <octet/layers/softmax.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "checks.h"
#include "make_layer.h"

namespace octet {
namespace {

class SoftmaxLayer final : public Layer {
 public:
  explicit SoftmaxLayer(const SoftmaxOptions& = {}) {}

  std::string class_name() const override { return "Softmax"; }
  Config config() const override { return Config::Object(); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    if (x.rank() < 2) {
      throw ShapeError("input: expected [n,...,c], got " + x.to_string());
    }
    return x;
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return softmax(inputs[0]);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];  // over all features: their order is no matter
    const int64_t axis = y.shape.rank() == 4 ? 1 : -1;
    y.name = context.node("Softmax", {y.name}, {{"axis", axis}});
    return y;
  }
};

}  // namespace

Softmax::Softmax(const SoftmaxOptions& options)
    : LayerHandle(make_layer<SoftmaxLayer>("Softmax", options)) {}

extern const LayerDef softmax_def;
const LayerDef softmax_def{
    .class_name = "Softmax",
    .create = [](const Config&) -> std::shared_ptr<Layer> {
      return std::make_shared<SoftmaxLayer>();
    },
};

}  // namespace octet
