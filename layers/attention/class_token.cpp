#include <octet/layers/attention.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, ClassTokenOptions& o) {
  v("token_initializer", o.token_initializer);
}

namespace {

class ClassTokenLayer final : public Layer {
 public:
  explicit ClassTokenLayer(const ClassTokenOptions& options) : o_(options) {}

  std::string class_name() const override { return "ClassToken"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = token_input(inputs);
    return {x[0], x[1] + 1, x[2]};
  }

  void build(std::span<const Shape> inputs) override {
    const int64_t d = inputs[0][2];
    token_ = add_parameter(
        "class_token", {1, 1, d},
        {.initializer = o_.token_initializer, .fan_in = d, .fan_out = d});
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Shape& x = inputs[0].shape();
    return concatenate(
        {broadcast_to(context.read(at(token_)), {x[0], 1, x[2]}), inputs[0]},
        1);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const std::string tokens = context.builder().add_repeated(
        context.layer() + "/tokens", context.weight(at(token_)), 3, x.name);
    return {context.node("Concat", {tokens, x.name}, {{"axis", int64_t{1}}}),
            output_shape(std::array{x.shape})};
  }

 private:
  ClassTokenOptions o_;
  size_t token_ = 0;
};

}  // namespace

ClassToken::ClassToken(const ClassTokenOptions& options)
    : LayerHandle(make_layer<ClassTokenLayer>("ClassToken", options)) {}

extern const LayerDef class_token_def;
const LayerDef class_token_def{
    .class_name = "ClassToken",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ClassTokenLayer>(
          read_fields<ClassTokenOptions>(config));
    },
};

}  // namespace octet
