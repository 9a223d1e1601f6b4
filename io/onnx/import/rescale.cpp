#include "rescale.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/attention.h>
#include <octet/layers/merging.h>
#include <octet/layers/preprocessing.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/ops.h>

#include "constant_values.h"

namespace octet::io::importing {
namespace {

bool is_per_channel(const Tensor& value) {
  return value.size() == value.shape()[-1];
}

std::vector<float> numbers_of(const Tensor& value) {
  return {value.f32().begin(), value.f32().end()};
}

/// Whether broadcasting a constant to a sample leaves the sample's shape.
bool fits(const Tensor& constant, const Shape& sample) {
  for (int axis = 0; axis < sample.rank(); ++axis) {
    const int64_t size = constant.shape()[axis];
    if (size != 1 && size != sample[axis]) return false;
  }
  return true;
}

/// Whether the offset masks values of a following Softmax: it is 0 or a single
/// negative number.
bool is_mask(const Conversion& c, const Tensor& offset) {
  const auto values = offset.f32();
  const float least = *std::ranges::min_element(values);
  const bool mask = least < 0 && std::ranges::all_of(values, [&](float v) {
                      return v == 0 || v == least;
                    });
  if (!mask && std::isinf(least)) {
    c.refuse("mask must consist of 0 and minus infinity");
  }
  return mask;
}

/// Adds a constant to each sample, as a position embedding of tokens.
ImportedValue plus_tokens(Conversion& c, Operand x, const LayerAxes& axes,
                          const Tensor& offset) {
  const Shape sample = x.tensor.shape().slice(1, x.tensor.shape().rank());
  if (sample.size() >
      c.options().limits.memory_limit / static_cast<int64_t>(sizeof(float))) {
    c.refuse("sum exceeds memory_limit");
  }
  const AxisLayout layout = axes.back(x.tensor).layout;
  const int64_t d = sample[-1];
  const int64_t tokens = sample.size() / d;
  if (sample.rank() != 2) {
    x.tensor = Reshape(
        {.target_shape = {tokens, d}, .name = c.namer()("reshape")})(x.tensor);
  }
  const Tensor all = broadcast_to(Variable(offset), sample).value();
  const PositionEmbedding layer;
  layer->set_trainable(!is_mask(c, all));
  const SymbolicTensor y =
      c.add(layer, {x}, {{"position_embedding", all.reshaped({1, tokens, d})}});
  return value_of(y, layout);
}

/// Applies the constants by Multiply and Add.
SymbolicTensor joined_with(Conversion& c, const Operand& x, const Tensor& scale,
                           const Tensor& offset) {
  const bool sum = offset.size() > 1 || offset.f32()[0] != 0;
  const bool factor = !sum || scale.size() > 1 || scale.f32()[0] != 1;
  Operand y = x;
  if (factor) {
    y = {c.add(Multiply(), {x, constant_operand(c, scale, "/factor")}, {},
               sum ? "/scale" : "")};
  }
  if (!sum) return y.tensor;
  return c.add(Add(), {y, constant_operand(c, offset, "/offset")});
}

}  // namespace

void rescale(Conversion& c, int input, const Affine& affine) {
  if (affine.scale.size() == 0 || affine.offset.size() == 0) {
    c.refuse("constant must not be empty");
  }
  add_leading_axes(c, file_order(c.inputs()));
  const ImportedValue& x = c.value(input);
  const auto rescaling = [&](const Tensor& scale, const Tensor& offset) {
    return Rescaling(
        {.scale = numbers_of(scale), .offset = numbers_of(offset)});
  };
  const auto are_numbers = [](const Tensor& scale, const Tensor& offset) {
    return scale.size() == 1 && offset.size() == 1 && scale.f32()[0] != 0;
  };
  if (are_numbers(affine.scale, affine.offset)) {
    return c.set_output(
        {c.add(rescaling(affine.scale, affine.offset), {c.stored(input)}),
         x.layout});
  }
  LayerAxes axes(x);
  const Tensor scale = aligned(c, affine.scale, x, axes);
  Tensor offset = aligned(c, affine.offset, x, axes);
  if (are_numbers(scale, offset)) {
    return rescale(c, input, {scale, offset});
  }
  const Shape sample = axes.sample();
  const bool grows = !fits(scale, sample) || !fits(offset, sample);
  if (scale.size() + offset.size() > 2 && !grows && is_per_channel(scale) &&
      is_per_channel(offset)) {
    return c.set_output(
        axes.back(c.add(rescaling(scale, offset), {c.operand(axes)})));
  }
  if (grows || scale.size() > 1 || offset.size() == 1 || sample.rank() < 2) {
    return c.set_output(
        axes.back(joined_with(c, c.operand(axes), scale, offset)));
  }
  if (sample.rank() == 2) {
    axes.order = axis_first(3, axes.order[0]);
    offset = aligned(c, affine.offset, x, axes);
  }
  Operand y = c.operand(axes);
  const float factor = scale.f32()[0];
  if (factor != 1) {
    y = {c.add(Rescaling({.scale = {factor}}), {y}, {}, "/scale")};
  }
  c.set_output(plus_tokens(c, y, axes, offset));
}

}  // namespace octet::io::importing
