
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
static void fields(Visitor& v, ActivityRegularizationOptions& o) {
  v("l1", o.l1);
  v("l2", o.l2);
}

namespace {

class ActivityRegularizationLayer final : public Layer {
 public:
  explicit ActivityRegularizationLayer(
      const ActivityRegularizationOptions& options)
      : o_(options) {
    expect_not_negative("l1", o_.l1);
    expect_not_negative("l2", o_.l2);
  }

  std::string class_name() const override { return "ActivityRegularization"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (o_.l1 == 0 && o_.l2 == 0) facts.identity = Identity::always;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return single_input(inputs);
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Variable& x = inputs[0];
    if (context.regularization_losses != nullptr &&
        (o_.l1 != 0 || o_.l2 != 0)) {
      const auto batch = static_cast<float>(x.shape()[0]);
      context.regularization_losses->push_back(
          scale_shift(regularization_loss(x, o_.l1, o_.l2), 1 / batch));
    }
    return x;
  }
  OnnxValue emit(EmitContext&,
                 std::span<const OnnxValue> inputs) const override {
    return inputs[0];
  }

 private:
  ActivityRegularizationOptions o_;
};

}  // namespace

ActivityRegularization::ActivityRegularization(
    const ActivityRegularizationOptions& options)
    : LayerHandle(make_layer<ActivityRegularizationLayer>(
          "ActivityRegularization", options)) {}

extern const LayerDef activity_regularization_def;
const LayerDef activity_regularization_def{
    .class_name = "ActivityRegularization",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ActivityRegularizationLayer>(
          read_fields<ActivityRegularizationOptions>(config));
    },
    .role = LayerRole::identity,
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
