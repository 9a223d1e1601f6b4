// GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalAveragePooling1D and
// GlobalAveragePooling2D: a layer template over sequences or images.
#pragma once

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
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
    const Shape& x = kAxes == 2 ? image_input(inputs) : sequence_input(inputs);
    if (!o_.keepdims) return {x[0], x[-1]};
    const Shape y = x.with(1, 1);
    return kAxes == 2 ? y.with(2, 1) : y;
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Keepdims keepdims = o_.keepdims ? Keepdims::yes : Keepdims::no;
    const std::vector<int> axes =
        kAxes == 2 ? std::vector{1, 2} : std::vector{1};
    return kKind == Pooling::max ? max(inputs[0], axes, keepdims)
                                 : mean(inputs[0], axes, keepdims);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const int rank = x.shape.rank();
    const std::string y = context.node(
        kKind == Pooling::max ? "GlobalMaxPool" : "GlobalAveragePool",
        {context.channels_first(x.name, rank)});
    return {o_.keepdims ? context.channels_last(y, rank)
                        : context.node("Flatten", {y}, {{"axis", int64_t{1}}}),
            output_shape(std::span(&x.shape, 1))};
  }

 private:
  Options o_;
};

}  // namespace octet
