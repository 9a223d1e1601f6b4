#include "rescale.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/add.h>
#include <octet/layers/multiply.h>
#include <octet/layers/position_embedding.h>
#include <octet/layers/rescaling.h>
#include <octet/layers/reshape.h>
#include <octet/runtime/ops.h>

#include "constant_values.h"

namespace octet::io::importing {
namespace {

[[noreturn]] void refuse_constant(const Conversion& c, const Tensor& value,
                                  const View& view) {
  c.refuse(fmt::format("constant {} does not broadcast over the samples of {}",
                       value.shape().to_string(), importing::text_of(view)));
}

/// Returns the sizes of a constant with the rank of `view`.
Sizes sizes_beside(const Conversion& c, const Tensor& value, const View& view) {
  const Shape& own = value.shape();
  if (own.rank() > view.rank()) refuse_constant(c, value, view);
  Sizes sizes(static_cast<size_t>(view.rank() - own.rank()), 1);
  sizes.insert(sizes.end(), own.dims().begin(), own.dims().end());
  return sizes;
}

/// Returns a constant with the axes of `view` in `order`, without the batch.
Tensor beside(const Conversion& c, const Tensor& value, const View& view,
              std::span<const int> order) {
  const Sizes dims = sizes_beside(c, value, view);
  const Sizes sizes = sizes_of(view);
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const bool fits = dims[axis] == 1 ||
                      (!has_batch(sizes[axis]) && dims[axis] == sizes[axis]);
    if (!fits) refuse_constant(c, value, view);
  }
  const Tensor turned =
      value.reshaped(Shape(std::span<const int64_t>(dims))).transposed(order);
  return turned.reshaped(turned.shape().slice(1, view.rank()));
}

bool is_per_channel(const Tensor& value) {
  return value.size() == value.shape()[-1];
}

std::vector<float> numbers_of(const Tensor& value) {
  return {value.f32().begin(), value.f32().end()};
}

/// Converts a constant that fits `given` to one that fits
/// split_batch_axis(given).
Tensor beside_apart(const Conversion& c, const Tensor& value,
                    const View& given) {
  const auto more =
      static_cast<size_t>(split_batch_axis(given).rank() - given.rank());
  if (more == 0) return value;
  Sizes dims = sizes_beside(c, value, given);
  const size_t batch = given.batch();
  if (dims[batch] != 1) refuse_constant(c, value, given);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(batch), more, 1);
  return value.reshaped(Shape(std::span<const int64_t>(dims)));
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
View plus_tokens(Conversion& c, Operand x, const View& view,
                 std::span<const int> order, const Tensor& offset) {
  const Shape sample = x.tensor.shape().slice(1, view.rank());
  if (sample.size() >
      c.options().limits.memory_limit / static_cast<int64_t>(sizeof(float))) {
    c.refuse("sum exceeds memory_limit");
  }
  const int64_t d = sample[-1];
  const int64_t tokens = sample.size() / d;
  if (sample.rank() != 2) {
    x.tensor = Reshape(
        {.target_shape = {tokens, d}, .name = c.namer()("reshape")})(x.tensor);
  }
  const Tensor all =
      broadcast_to(Variable(beside(c, offset, view, order)), sample).value();
  const PositionEmbedding layer;
  layer->set_trainable(!is_mask(c, all));
  const SymbolicTensor y =
      c.add(layer, {x}, {{"position_embedding", all.reshaped({1, tokens, d})}});
  const Sizes all_sizes = sizes_of(view);
  Sizes sizes;
  Sizes back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const auto axis = static_cast<size_t>(order[i]);
    sizes.push_back(all_sizes[axis]);
    back[axis] = static_cast<int64_t>(i);
  }
  return transposed(*reshaped(view_of(y, file_order(3)), sizes), back);
}

/// Applies the constants by Multiply and Add.
View joined_with(Conversion& c, const ImportedValue& x, const Affine& affine) {
  const std::vector<int> order = natural_order(x.view);
  const auto constant = [&](const Tensor& value, const char* name) {
    const View made = constant_beside(c, value, x.view, name);
    return Operand{materialize(made, order, c.namer())};
  };
  const bool sum = affine.offset.size() > 1 || affine.offset.f32()[0] != 0;
  SymbolicTensor y = c.add(Multiply(),
                           {{materialize(x.view, order, c.namer()), x.qparams},
                            constant(affine.scale, "/factor")},
                           {}, sum ? "/scale" : "");
  if (sum) {
    y = c.add(Add(), {{y}, constant(affine.offset, "/offset")});
  }
  return view_of(y, order);
}

View rescaled(Conversion& c, const ImportedValue& x, const Affine& affine) {
  const bool numbers = affine.scale.size() == 1 && affine.offset.size() == 1;
  if (numbers && affine.scale.f32()[0] != 0) {
    View y = x.view;
    y.tensor = c.add(Rescaling({.scale = numbers_of(affine.scale),
                                .offset = numbers_of(affine.offset)}),
                     {{x.view.tensor, x.qparams}});
    return y;
  }
  const View& given = x.view;
  const View view = split_batch_axis(given);
  const auto as_given = [&](const View& y) {
    const auto more = static_cast<size_t>(view.rank() - given.rank());
    return merge_axes(y, given.batch(), 1 + more);
  };
  const auto operand = [&](std::span<const int> order) {
    return Operand{materialize(view, order, c.namer()), x.qparams};
  };
  const std::vector<int> order = natural_order(view);
  if (numbers) return as_given(joined_with(c, {view, x.qparams}, affine));
  const Affine beside_view{beside_apart(c, affine.scale, given),
                           beside_apart(c, affine.offset, given)};
  const Tensor scale = beside(c, beside_view.scale, view, order);
  const Tensor offset = beside(c, beside_view.offset, view, order);
  if (is_per_channel(scale) && is_per_channel(offset)) {
    const SymbolicTensor y = c.add(
        Rescaling({.scale = numbers_of(scale), .offset = numbers_of(offset)}),
        {operand(order)});
    return as_given(view_of(y, order));
  }
  if (affine.scale.size() == 1 && view.rank() > 2) {
    const std::vector<int> tokens =
        view.rank() == 3 ? samples_first(view) : order;
    Operand y = operand(tokens);
    const float factor = affine.scale.f32()[0];
    if (factor != 1) {
      y = {c.add(Rescaling({.scale = {factor}}), {y}, {}, "/scale")};
    }
    return as_given(plus_tokens(c, y, view, tokens, beside_view.offset));
  }
  return as_given(joined_with(c, {view, x.qparams}, beside_view));
}

}  // namespace

void rescale(Conversion& c, int input, const Affine& affine) {
  const ImportedValue& x = c.value(input);
  c.set_output(rescaled(c, x,
                        {for_one_sample(c, affine.scale, x.view),
                         for_one_sample(c, affine.offset, x.view)}));
}

}  // namespace octet::io::importing
