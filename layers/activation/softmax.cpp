#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, SoftmaxOptions& o) {
  v("axis", o.axis);
}

namespace {

class SoftmaxLayer final : public Layer {
 public:
  explicit SoftmaxLayer(const SoftmaxOptions& options)
      : o_(options), last_(options.axis == -1) {}

  std::string class_name() const override { return "Softmax"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.activation = last_ ? "softmax" : "";
    facts.sign = OutputSign::non_negative;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    if (x.rank() < 2) {
      throw ShapeError("invalid_shape", "input",
                       "must be [n,...,c], got " + x.to_string());
    }
    const int64_t rank = x.rank();
    if (o_.axis < -rank || o_.axis >= rank || o_.axis == 0 ||
        o_.axis == -rank) {
      throw ShapeError(
          "out_of_range", "axis",
          fmt::format("must be -1 or in [1,{}], got {}", rank - 1, o_.axis));
    }
    if (built() && last_ != is_last(x)) {
      throw ShapeError("shape_mismatch", "axis",
                       fmt::format("must be the last axis in all calls of this "
                                   "layer or in none, got "
                                   "{} of {}",
                                   o_.axis, x.to_string()));
    }
    return x;
  }
  void build(std::span<const Shape> inputs) override {
    last_ = is_last(inputs[0]);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return softmax(inputs[0], axis(inputs[0].shape()));
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    y.name =
        context.node("Softmax", {y.name}, {{"axis", int64_t{axis(y.shape)}}});
    return y;
  }

 private:
  int axis(const Shape& x) const {
    return static_cast<int>(o_.axis < 0 ? o_.axis + x.rank() : o_.axis);
  }

  bool is_last(const Shape& x) const { return axis(x) == x.rank() - 1; }

  SoftmaxOptions o_;
  bool last_;  // whether `axis` is the input's last axis
};

}  // namespace

Softmax::Softmax(const SoftmaxOptions& options)
    : LayerHandle(make_layer<SoftmaxLayer>("Softmax", options)) {}

// tf.keras writes a single axis as a list.
static void upgrade_softmax(Config& config) {
  const Config* axis = config.find("axis");
  if (axis != nullptr && axis->is_list() && axis->as_list().size() == 1) {
    const Config one = axis->as_list()[0];
    config.set("axis", one);
  }
}

extern const LayerDef softmax_def;
const LayerDef softmax_def{
    .class_name = "Softmax",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<SoftmaxLayer>(
          read_fields<SoftmaxOptions>(config));
    },
    .keras = {.layout = KerasLayout::axis, .upgrade = upgrade_softmax},
};

}  // namespace octet
