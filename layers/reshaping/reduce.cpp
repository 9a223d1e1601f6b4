#include <algorithm>
#include <span>

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
static void fields(Visitor& v, ReduceOptions& o) {
  v("operation", o.operation);
  v("axes", o.axes);
  v("keepdims", o.keepdims);
}

namespace {

struct Reduction {
  std::string_view name;
  Variable (*apply)(const Variable& x, const std::vector<int>& axes,
                    Keepdims keepdims);
  const char* onnx_op;
};

// argmax() or argmin() of the only axis.
template <Variable (*index)(const Variable& x, int axis, Keepdims keepdims)>
Variable index_of(const Variable& x, const std::vector<int>& axes,
                  Keepdims keepdims) {
  return index(x, axes.at(0), keepdims);
}

constexpr Reduction kReductions[] = {
    {"argmax", index_of<octet::argmax>, "ArgMax"},
    {"argmin", index_of<octet::argmin>, "ArgMin"},
    {"max", octet::max, "ReduceMax"},
    {"mean", octet::mean, "ReduceMean"},
    {"min", octet::min, "ReduceMin"},
    {"prod", octet::prod, "ReduceProd"},
    {"sum", octet::sum, "ReduceSum"},
};

bool is_index(const Reduction& reduction) {
  return reduction.name.starts_with("arg");
}

class ReduceLayer final : public Layer {
 public:
  explicit ReduceLayer(const ReduceOptions& options)
      : o_(options),
        reduction_(find_named("operation", kReductions, o_.operation)) {
    if (o_.axes.empty()) {
      throw ValueError("missing_value", "axes",
                       "must have at least one axis, as in .axes = {1, 2}");
    }
    if (is_index(reduction_) && o_.axes.size() != 1) {
      throw ValueError("invalid_value", "axes",
                       fmt::format("must be one axis for {}, got ({})",
                                   o_.operation, fmt::join(o_.axes, ",")));
    }
  }

  std::string class_name() const override { return "Reduce"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign =
        is_index(reduction_) ? OutputSign::non_negative : OutputSign::of_inputs;
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    const std::vector<int> reduced = axes_of(x);
    std::vector<int64_t> sizes;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (std::ranges::find(reduced, axis) == reduced.end()) {
        sizes.push_back(x[axis]);
      } else if (o_.keepdims) {
        sizes.push_back(1);
      }
    }
    if (sizes.size() == 1) {
      throw ShapeError("out_of_range", "axes",
                       fmt::format("leave no axis of {} but the batch. Hint: "
                                   ".keepdims = true keeps the axes",
                                   x.to_string()));
    }
    return Shape(std::span<const int64_t>(sizes));
  }

  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return reduction_.apply(inputs[0], axes_of(inputs[0].shape()),
                            o_.keepdims ? Keepdims::yes : Keepdims::no);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const std::vector<int> reduced = axes_of(x.shape);
    std::vector<int64_t> axes(reduced.begin(), reduced.end());
    std::ranges::sort(axes);
    const OnnxBuilder::Attribute keepdims = int64_t{o_.keepdims ? 1 : 0};
    // Only ReduceSum has the axes as an input in every supported opset; the
    // builder converts the others.
    constexpr int64_t kFloat = 1;  // TensorProto::FLOAT
    std::string name;
    if (is_index(reduction_)) {
      name = context.node(reduction_.onnx_op, {x.name},
                          {{"axis", axes[0]}, {"keepdims", keepdims}});
      name = context.node("Cast", {name}, {{"to", kFloat}});
    } else if (o_.operation == "sum") {
      name = context.node("ReduceSum", {x.name, context.integers("axes", axes)},
                          {{"keepdims", keepdims}});
    } else {
      name = context.node(reduction_.onnx_op, {x.name},
                          {{"axes", axes}, {"keepdims", keepdims}});
    }
    return {name, output_shape(std::span(&x.shape, 1))};
  }

 private:
  // Returns the axes, non-negative.
  std::vector<int> axes_of(const Shape& x) const {
    std::vector<int> result;
    for (const int64_t given : o_.axes) {
      const int64_t axis = given < 0 ? given + x.rank() : given;
      if (axis < 1 || axis >= x.rank()) {
        throw ShapeError(
            "out_of_range", "axes",
            fmt::format("must be axes of a sample, 1 to {} or -1 "
                        "to {} for {}, got {}",
                        x.rank() - 1, 1 - x.rank(), x.to_string(), given));
      }
      result.push_back(static_cast<int>(axis));
    }
    std::vector<int> sorted = result;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) {
      throw ShapeError("out_of_range", "axes",
                       fmt::format("must differ, got ({}) for {}",
                                   fmt::join(o_.axes, ","), x.to_string()));
    }
    return result;
  }

  ReduceOptions o_;
  const Reduction& reduction_;
};

}  // namespace

Reduce::Reduce(const ReduceOptions& options)
    : LayerHandle(make_layer<ReduceLayer>("Reduce", options)) {}

extern const LayerDef reduce_def;
const LayerDef reduce_def{
    .class_name = "Reduce",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ReduceLayer>(read_fields<ReduceOptions>(config));
    },
    .qdq = {.on_request = true},
};

}  // namespace octet
