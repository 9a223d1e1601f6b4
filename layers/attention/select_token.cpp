#include <fmt/format.h>

#include <octet/layers/attention.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, SelectTokenOptions& o) {
  v("index", o.index);
}

namespace {

class SelectTokenLayer final : public Layer {
 public:
  explicit SelectTokenLayer(const SelectTokenOptions& options) : o_(options) {}

  std::string class_name() const override { return "SelectToken"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = token_input(inputs);
    if (o_.index < -x[1] || o_.index >= x[1]) {
      throw ShapeError(
          "out_of_range", "index",
          fmt::format("must be in range of {} tokens, got {}", x[1], o_.index));
    }
    return {x[0], x[2]};
  }

  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Shape& x = inputs[0].shape();
    return reshape(slice(inputs[0], 1, token(x), 1), {x[0], x[2]});
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const std::string index = context.builder().add_initializer(
        context.layer() + "/index",
        Tensor::of<int64_t>(Shape{}, {token(x.shape)}));
    return {context.node("Gather", {x.name, index}, {{"axis", int64_t{1}}}),
            output_shape(std::array{x.shape})};
  }

 private:
  int64_t token(const Shape& x) const {
    return o_.index < 0 ? o_.index + x[1] : o_.index;
  }

  SelectTokenOptions o_;
};

}  // namespace

SelectToken::SelectToken(const SelectTokenOptions& options)
    : LayerHandle(make_layer<SelectTokenLayer>("SelectToken", options)) {}

extern const LayerDef select_token_def;
const LayerDef select_token_def{
    .class_name = "SelectToken",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<SelectTokenLayer>(
          read_fields<SelectTokenOptions>(config));
    },
    .role = LayerRole::movement,
};

}  // namespace octet
