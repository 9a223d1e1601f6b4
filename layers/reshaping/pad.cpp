#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/detail/tensor_parts.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/identity.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, PadOptions& o) {
  v("begin", o.begin);
  v("end", o.end);
  v("mode", o.mode);
  v("value", o.value);
}

namespace {

void expect_pad_mode(const std::string& mode) {
  const std::vector<std::string> known{"constant", "edge", "reflect",
                                       "symmetric", "wrap"};
  if (std::ranges::find(known, mode) == known.end()) {
    throw_unknown_name("mode", mode, known);
  }
}

class PadLayer final : public Layer {
 public:
  explicit PadLayer(const PadOptions& options) : o_(options) {
    expect_pad_mode(o_.mode);
    for (size_t i = 0; i < std::min(o_.begin.size(), o_.end.size()); ++i) {
      expect_ends("begin, end", {o_.begin[i], o_.end[i]});
    }
    if (!std::isfinite(o_.value)) {
      throw ValueError("out_of_range", "value",
                       fmt::format("must be finite, got {}", o_.value));
    }
  }

  std::string class_name() const override { return "Pad"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = o_.value >= 0 ? OutputSign::of_inputs : OutputSign::any;
    facts.identity = identity_if_same_shape(*this, inputs);
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    Shape x = single_input(inputs);
    if (std::ssize(o_.begin) != x.rank() - 1 ||
        o_.begin.size() != o_.end.size()) {
      throw ShapeError(
          "count_mismatch", "begin, end",
          fmt::format("must have a number for each axis of a sample of {}, got "
                      "{} and {}",
                      x.to_string(), o_.begin.size(), o_.end.size()));
    }
    for (int axis = 1; axis < x.rank(); ++axis) {
      const Ends ends = ends_of(axis);
      const int64_t most = std::max(ends.begin, ends.end);
      if ((o_.mode == "reflect" && most >= x[axis]) ||
          (o_.mode == "symmetric" && most > x[axis])) {
        throw ShapeError(
            "out_of_range", "begin, end",
            fmt::format("axis {} of {} has too few entries for {} more in mode "
                        "{}",
                        axis, x.to_string(), most, o_.mode));
      }
      x = x.with(axis, ends.begin + x[axis] + ends.end);
    }
    return x;
  }

  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    std::vector<Ends> widths(1);  // the batch
    for (int axis = 1; axis < inputs[0].shape().rank(); ++axis) {
      widths.push_back(ends_of(axis));
    }
    return octet::pad(inputs[0], widths, o_.mode, o_.value);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    const Shape x = y.shape;
    y.shape = output_shape(std::span(&x, 1));
    if (o_.mode == "symmetric" || o_.mode == "wrap") {
      for (int axis = 1; axis < x.rank(); ++axis) {
        if (ends_of(axis) == Ends{}) continue;
        y.name = context.node(
            "Gather",
            {y.name,
             context.integers("indices",
                              padded_entries(x[axis], ends_of(axis), o_.mode))},
            {{"axis", int64_t{axis}}});
      }
      return y;
    }
    const auto rank = static_cast<size_t>(x.rank());
    std::vector<int64_t> pads(2 * rank);
    for (int axis = 1; axis < x.rank(); ++axis) {
      const auto place = static_cast<size_t>(axis);
      pads[place] = ends_of(axis).begin;
      pads[rank + place] = ends_of(axis).end;
    }
    std::vector<std::string> operands{y.name, context.integers("pads", pads)};
    if (o_.value != 0) operands.push_back(context.scalar("value", o_.value));
    y.name = context.node("Pad", operands, {{"mode", o_.mode}});
    return y;
  }

 private:
  Ends ends_of(int axis) const {
    const auto i = static_cast<size_t>(axis) - 1;
    return {o_.begin[i], o_.end[i]};
  }

  PadOptions o_;
};

}  // namespace

Pad::Pad(const PadOptions& options)
    : LayerHandle(make_layer<PadLayer>("Pad", options)) {}

extern const LayerDef pad_def;
const LayerDef pad_def{
    .class_name = "Pad",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<PadLayer>(read_fields<PadOptions>(config));
    },
    .role = LayerRole::movement,
};

}  // namespace octet
