#include "merging/merge.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

namespace octet {
namespace {

// Inserts axes of size 1 after the batch axis, up to `rank`.
// Source: Keras 3, keras/src/layers/merging/base_merge.py.
Shape expanded(const Shape& shape, int rank) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.insert(dims.begin() + 1, static_cast<size_t>(rank - shape.rank()), 1);
  return Shape(dims);
}

int highest_rank(std::span<const Shape> inputs) {
  int rank = 0;
  for (const Shape& input : inputs) {
    if (input.rank() < 1) {
      throw ShapeError("invalid_shape", "inputs",
                       "must be [n,...], got " + input.to_string());
    }
    rank = std::max(rank, input.rank());
  }
  return rank;
}

std::string text(std::span<const Shape> inputs) {
  std::string result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0) result += i + 1 < inputs.size() ? ", " : " and ";
    result += inputs[i].to_string();
  }
  return result;
}

// Returns the value with this rank.
std::string widened(EmitContext& context, const OnnxValue& x, int rank) {
  if (x.shape.rank() == rank) return x.name;
  const Shape shape = expanded(x.shape, rank);
  return context.node(
      "Reshape", {x.name, context.integers("shape", {shape.dims().begin(),
                                                     shape.dims().end()})});
}

class MergeLayer final : public Layer {
 public:
  explicit MergeLayer(const Merge& merge) : merge_(merge) {}

  std::string class_name() const override { return merge_.class_name; }
  Config config() const override { return Config::Object(); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = merge_.negative ? OutputSign::any : OutputSign::of_inputs;
    if (!merge_.pair && inputs.size() == 1) {
      facts.identity = Identity::always;
    }
    return facts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    if (merge_.pair && inputs.size() != 2) {
      throw ValueError("count_mismatch", "inputs",
                       fmt::format("the layer takes 2 inputs, got {}. Hint: "
                                   "pass a vector, {}()({{x, y}})",
                                   inputs.size(), merge_.class_name));
    }
    return merged_shape(inputs);
  }

  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const std::vector<Variable> x = of_one_rank(inputs);
    Variable y = x[0];
    for (size_t i = 1; i < x.size(); ++i) y = merge_.combine(y, x[i]);
    if (!merge_.mean || inputs.size() == 1) return y;
    return scale_shift(y, 1.0f / static_cast<float>(inputs.size()));
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    auto [y, operands] = merged_operands(context, inputs);
    y.name = operands[0];
    for (size_t i = 1; i < operands.size(); ++i) {
      y.name = context.node(merge_.onnx_op, {y.name, operands[i]});
    }
    if (merge_.mean && inputs.size() > 1) {
      const float factor = 1.0f / static_cast<float>(inputs.size());
      y.name = context.node("Mul", {y.name, context.scalar("factor", factor)});
    }
    return y;
  }

 private:
  const Merge& merge_;
};

}  // namespace

Shape merged_shape(std::span<const Shape> inputs) {
  if (inputs.empty()) {
    throw ValueError("count_mismatch", "inputs", "at least one is required");
  }
  const int rank = highest_rank(inputs);
  Shape result = expanded(inputs[0], rank);
  for (const Shape& input : inputs) {
    const Shape next = expanded(input, rank);
    for (int axis = 0; axis < rank; ++axis) {
      if (result[axis] == next[axis] || next[axis] == 1) continue;
      if (result[axis] != 1) {
        throw ShapeError(
            "shape_mismatch", "inputs",
            fmt::format(
                "must have broadcastable shapes (sizes equal or 1), got {}",
                text(inputs)));
      }
      result = result.with(axis, next[axis]);
    }
  }
  return result;
}

std::vector<Variable> of_one_rank(std::span<const Variable> inputs) {
  int rank = 0;
  for (const Variable& x : inputs) rank = std::max(rank, x.shape().rank());
  std::vector<Variable> result;
  for (const Variable& x : inputs) {
    result.push_back(
        x.shape().rank() == rank ? x : reshape(x, expanded(x.shape(), rank)));
  }
  return result;
}

MergedOperands merged_operands(EmitContext& context,
                               std::span<const OnnxValue> inputs) {
  std::vector<Shape> shapes;
  for (const OnnxValue& x : inputs) shapes.push_back(x.shape);
  MergedOperands merged{{"", merged_shape(shapes)}, {}};
  for (const OnnxValue& x : inputs) {
    merged.operands.push_back(widened(context, x, merged.result.shape.rank()));
  }
  // Constants that repeat for all samples broadcast over the other operands.
  const auto is_repeated = [&](const std::string& value) {
    return context.builder().one_sample(value) != value;
  };
  if (!std::ranges::all_of(merged.operands, is_repeated)) {
    for (std::string& value : merged.operands) {
      value = context.builder().one_sample(value);
    }
  }
  return merged;
}

std::shared_ptr<Layer> make_merge(const Merge& merge, std::string name) {
  auto layer = std::make_shared<MergeLayer>(merge);
  layer->set_name(std::move(name));
  return layer;
}

}  // namespace octet
