#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/merging.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, ConcatenateOptions& o) {
  v("axis", o.axis);
}

namespace {

class ConcatenateLayer final : public Layer {
 public:
  explicit ConcatenateLayer(const ConcatenateOptions& options) : o_(options) {
    if (o_.axis == 0) {
      throw ValueError("out_of_range", "axis", "must not be the batch axis 0");
    }
  }

  std::string class_name() const override { return "Concatenate"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = OutputSign::of_inputs;
    if (inputs.size() == 1) facts.identity = Identity::always;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    if (inputs.empty()) {
      throw ValueError("count_mismatch", "inputs", "at least one is required");
    }
    const int axis = axis_of(inputs[0]);
    int64_t total = 0;
    for (const Shape& x : inputs) {
      if (x.rank() != inputs[0].rank() ||
          x.with(axis, 0) != inputs[0].with(axis, 0)) {
        throw ShapeError(
            "shape_mismatch", "inputs",
            fmt::format("must agree in all axes but axis {}, got {} and {}",
                        o_.axis, inputs[0].to_string(), x.to_string()));
      }
      total += x[axis];
    }
    return inputs[0].with(axis, total);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return concatenate({inputs.begin(), inputs.end()},
                       axis_of(inputs[0].shape()));
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    std::vector<std::string> names;
    std::vector<Shape> shapes;
    for (const OnnxValue& x : inputs) {
      names.push_back(x.name);
      shapes.push_back(x.shape);
    }
    const int64_t axis = axis_of(shapes[0]);
    return {context.node("Concat", names, {{"axis", axis}}),
            output_shape(shapes)};
  }

 private:
  // The axis, counted from 0. Throws: ShapeError.
  int axis_of(const Shape& x) const {
    const int64_t axis = o_.axis < 0 ? o_.axis + x.rank() : o_.axis;
    if (axis < 1 || axis >= x.rank()) {
      throw ShapeError(
          "out_of_range", "axis",
          fmt::format("must be an axis of {} other than the batch, got {}",
                      x.to_string(), o_.axis));
    }
    return static_cast<int>(axis);
  }

  ConcatenateOptions o_;
};

}  // namespace

Concatenate::Concatenate(const ConcatenateOptions& options)
    : LayerHandle(make_layer<ConcatenateLayer>("Concatenate", options)) {}

extern const LayerDef concatenate_def;
const LayerDef concatenate_def{
    .class_name = "Concatenate",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ConcatenateLayer>(
          read_fields<ConcatenateOptions>(config));
    },
    .qdq = {.on_request = true, .several_inputs = true},
    .keras = {.layout = KerasLayout::axis},
};

}  // namespace octet
