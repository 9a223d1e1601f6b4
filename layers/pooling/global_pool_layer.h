// GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalAveragePooling1D and
// GlobalAveragePooling2D: a layer template over sequences or images.
#pragma once

#include <array>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"
#include "pooling/pool_layer.h"

namespace octet {

template <class Visitor, class Options>
void global_pool_fields(Visitor& v, Options& o) {
  v("keepdims", o.keepdims);
}

template <class Options, Pooling kKind, int kAxes>
class GlobalPoolLayer final : public Layer {
 public:
  explicit GlobalPoolLayer(const Options& options) : o_(options) {}

  std::string class_name() const override {
    return fmt::format("Global{}Pooling{}D",
                       kKind == Pooling::max ? "Max" : "Average", kAxes);
  }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = OutputSign::of_inputs;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const bool masked = takes_mask() && inputs.size() == 2;
    const std::span<const Shape> given = masked ? inputs.first(1) : inputs;
    const Shape& x = kAxes == 2 ? image_input(given) : sequence_input(given);
    if (masked && inputs[1] != Shape{x[0], x[1]}) {
      throw ShapeError(
          "shape_mismatch", "mask",
          fmt::format("must be {}, got {}", Shape{x[0], x[1]}.to_string(),
                      inputs[1].to_string()));
    }
    if (!o_.keepdims) return {x[0], x[-1]};
    const Shape y = x.with(1, 1);
    return kAxes == 2 ? y.with(2, 1) : y;
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Keepdims keepdims = o_.keepdims ? Keepdims::yes : Keepdims::no;
    const std::vector<int> axes =
        kAxes == 2 ? std::vector{1, 2} : std::vector{1};
    if (inputs.size() == 2) {
      const Variable mask = expand_dims(without_gradient(inputs[1]), 2);
      return sum(inputs[0] * mask, axes, keepdims) / sum(mask, axes, keepdims);
    }
    return kKind == Pooling::max ? max(inputs[0], axes, keepdims)
                                 : mean(inputs[0], axes, keepdims);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const int rank = x.shape.rank();
    if (inputs.size() == 2) return emit_masked(context, inputs);
    const std::string y = context.node(
        kKind == Pooling::max ? "GlobalMaxPool" : "GlobalAveragePool",
        {context.channels_first(x.name, rank)});
    return {o_.keepdims ? context.channels_last(y, rank)
                        : context.node("Flatten", {y}, {{"axis", int64_t{1}}}),
            output_shape(std::span(&x.shape, 1))};
  }

 private:
  static Variable without_gradient(const Variable& mask) {
    return compare(Comparison::not_equal, mask, Tensor::scalar(0));
  }
  static constexpr bool takes_mask() {
    return kKind == Pooling::average && kAxes == 1;
  }
  OnnxValue emit_masked(EmitContext& context,
                        std::span<const OnnxValue> inputs) const {
    const OnnxValue& x = inputs[0];
    const std::string mask =
        context.part("Unsqueeze", "mask",
                     {inputs[1].name, context.integers("mask_axis", {2})});
    const auto sum = [&](const char* name, const std::string& value) {
      return context.part(
          "ReduceSum", name,
          {value, context.integers(fmt::format("{}_axes", name), {1})},
          {{"keepdims", int64_t{o_.keepdims ? 1 : 0}}});
    };
    const std::string total =
        sum("total", context.part("Mul", "masked", {x.name, mask}));
    return {context.node("Div", {total, sum("count", mask)}),
            output_shape(std::array{x.shape, inputs[1].shape})};
  }

  Options o_;
};

}  // namespace octet
