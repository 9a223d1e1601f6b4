#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, GatherOptions& o) {
  v("indices", o.indices);
  v("axis", o.axis);
}

namespace {

class GatherLayer final : public Layer {
 public:
  explicit GatherLayer(const GatherOptions& options) : o_(options) {
    if (o_.indices.empty()) {
      throw ValueError("missing_value", "indices", "at least one is required");
    }
  }

  std::string class_name() const override { return "Gather"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = OutputSign::of_inputs;
    if (!inputs.empty() && selects_all(inputs[0])) {
      facts.identity = Identity::always;
    }
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    return x.with(axis_of(x), std::ssize(indices_in(x)));
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Shape& x = inputs[0].shape();
    return gather(inputs[0], axis_of(x), indices_in(x));
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    const int axis = axis_of(y.shape);
    const std::vector<int64_t> indices = indices_in(y.shape);
    y.name =
        context.node("Gather", {y.name, context.integers("indices", indices)},
                     {{"axis", int64_t{axis}}});
    y.shape = y.shape.with(axis, std::ssize(indices));
    return y;
  }

 private:
  bool selects_all(const Shape& input) const {
    const std::vector<int64_t> indices = indices_in(input);
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] != static_cast<int64_t>(i)) return false;
    }
    return std::ssize(indices) == input[axis_of(input)];
  }

  int axis_of(const Shape& x) const {
    const int64_t axis = o_.axis < 0 ? o_.axis + x.rank() : o_.axis;
    if (axis < 0 || axis >= x.rank()) {
      throw ShapeError(
          "out_of_range", "axis",
          fmt::format("must be an axis of {}, got {}", x.to_string(), o_.axis));
    }
    if (axis == 0) {
      throw ValueError("out_of_range", "axis", "must not be the batch axis 0");
    }
    return static_cast<int>(axis);
  }
  // Nonnegative indices.
  std::vector<int64_t> indices_in(const Shape& x) const {
    const int64_t size = x[axis_of(x)];
    std::vector<int64_t> result = o_.indices;
    for (int64_t& index : result) {
      const int64_t given = index;
      if (index < 0) index += size;
      if (index < 0 || index >= size) {
        throw ShapeError(
            "out_of_range", "indices",
            fmt::format("must be in range of axis {} of {}, got {}", axis_of(x),
                        x.to_string(), given));
      }
    }
    return result;
  }

  GatherOptions o_;
};

}  // namespace

Gather::Gather(const GatherOptions& options)
    : LayerHandle(make_layer<GatherLayer>("Gather", options)) {}

extern const LayerDef gather_def;
const LayerDef gather_def{
    .class_name = "Gather",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<GatherLayer>(read_fields<GatherOptions>(config));
    },
    .role = LayerRole::movement,
};

}  // namespace octet
