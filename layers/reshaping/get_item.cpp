#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/detail/tensor_parts.h>
#include <octet/runtime/error.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, GetItemOptions& o) {
  v("index", o.index);
}

namespace {

bool is_whole(const Index& index) {
  return index == Index(Slice()) || index.kind() == Index::Kind::ellipsis;
}

class GetItemLayer final : public Layer {
 public:
  explicit GetItemLayer(const GetItemOptions& options) : o_(options) {
    if (!o_.index.empty() && !is_whole(o_.index.front())) {
      throw ValueError(
          "invalid_value", "index",
          "the first index must leave the batch whole: Slice() or \"...\". "
          "Hint: x[:, 0] in Keras is x.index({Slice(), 0})");
    }
  }

  std::string class_name() const override { return "GetItem"; }
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
    const std::vector<AxisPart> parts = parts_of_samples(x);
    std::vector<int64_t> sizes{x[0]};
    for (size_t axis = 1; axis < parts.size(); ++axis) {
      if (parts[axis].count == 0) {
        throw ShapeError("out_of_range", "index",
                         fmt::format("leaves nothing of axis {} of {}", axis,
                                     x.to_string()));
      }
      if (!parts[axis].dropped) sizes.push_back(parts[axis].count);
    }
    if (sizes.size() == 1) {
      throw ShapeError(
          "out_of_range", "index",
          fmt::format(
              "leaves no axis of {} but the batch. Hint: Slice(i, i + 1) "
              "keeps an axis",
              x.to_string()));
    }
    return Shape(std::span<const int64_t>(sizes));
  }

  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return inputs[0].index(o_.index);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Shape& x = inputs[0].shape;
    const std::vector<AxisPart> parts = parts_of_samples(x);
    OnnxValue y = inputs[0];
    std::vector<int64_t> starts, ends, axes, steps;
    for (size_t axis = 1; axis < parts.size(); ++axis) {
      const AxisPart& part = parts[axis];
      const int64_t size = x[static_cast<int>(axis)];
      if (part.dropped || (part.count == size && part.step == 1)) continue;
      const int64_t end = part.first + part.count * part.step;
      starts.push_back(part.first);
      // An end before the first element; -1 would be the last element.
      ends.push_back(end < 0 ? -size - 1 : std::min(end, size));
      axes.push_back(static_cast<int64_t>(axis));
      steps.push_back(part.step);
    }
    if (!starts.empty()) {
      y.name =
          context.node("Slice", {y.name, context.integers("starts", starts),
                                 context.integers("ends", ends),
                                 context.integers("axes", axes),
                                 context.integers("steps", steps)});
    }
    for (size_t axis = parts.size(); axis-- > 1;) {
      if (!parts[axis].dropped) continue;
      const std::string entry = context.builder().add_initializer(
          context.layer() + "/entry",
          Tensor::of<int64_t>(Shape{}, {parts[axis].first}));
      y.name = context.node("Gather", {y.name, entry},
                            {{"axis", static_cast<int64_t>(axis)}});
    }
    y.shape = output_shape(std::span(&x, 1));
    return y;
  }

 private:
  bool selects_all(const Shape& input) const {
    const std::vector<AxisPart> parts = parts_of_samples(input);
    for (int axis = 1; axis < input.rank(); ++axis) {
      const AxisPart& part = parts[static_cast<size_t>(axis)];
      if (part.dropped || part.count != input[axis] || part.step != 1) {
        return false;
      }
    }
    return true;
  }

  // Treats the batch, whose size may be unknown, as size 1.
  std::vector<AxisPart> parts_of_samples(const Shape& x) const {
    return parts_of(x.with(0, 1), o_.index);
  }

  GetItemOptions o_;
};

}  // namespace

GetItem::GetItem(const GetItemOptions& options)
    : LayerHandle(make_layer<GetItemLayer>("GetItem", options)) {}

SymbolicTensor SymbolicTensor::index(std::vector<Index> indices) const {
  return GetItem({.index = std::move(indices)})(*this);
}

extern const LayerDef get_item_def;
const LayerDef get_item_def{
    .class_name = "GetItem",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<GetItemLayer>(
          read_fields<GetItemOptions>(config));
    },
    .role = LayerRole::movement,
};

}  // namespace octet
