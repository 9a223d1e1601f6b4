// Sums, products and the like: of two values, or of a value and constants.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include <octet/layers/add.h>
#include <octet/layers/average.h>
#include <octet/layers/divide.h>
#include <octet/layers/maximum.h>
#include <octet/layers/minimum.h>
#include <octet/layers/multiply.h>
#include <octet/layers/position_embedding.h>
#include <octet/layers/rescaling.h>
#include <octet/layers/reshape.h>
#include <octet/layers/subtract.h>
#include <octet/layers/unary.h>
#include <octet/runtime/error.h>

#include "attention.h"
#include "converters.h"

namespace octet::io::importing {
namespace {

/// An order of axes in which all inputs are taken, best as the largest lies.
std::vector<int> common_order(const Conversion& c) {
  const View* largest = nullptr;
  for (int i = 0; i < c.inputs(); ++i) {
    const View& view = c.view(i);
    if (largest == nullptr || sample_size(view) > sample_size(*largest)) {
      largest = &view;
    }
  }
  return natural_order(*largest);
}

/// Whether all inputs have their axes in the same places of equal tensors.
bool lie_alike(const Conversion& c) {
  const View& first = c.view(0);
  for (int i = 1; i < c.inputs(); ++i) {
    const View& view = c.view(i);
    if (view.axes != first.axes || view.parts != first.parts ||
        view.tensor.shape() != first.tensor.shape()) {
      return false;
    }
  }
  return true;
}

void merge(Conversion& c, const LayerHandle& layer) {
  if (c.inputs() == 1) return c.pass(c.view(0));
  std::vector<Operand> operands;
  if (lie_alike(c)) {
    for (int i = 0; i < c.inputs(); ++i) operands.push_back(c.as_it_lies(i));
    View y = c.view(0);
    y.tensor = c.add(layer, operands);
    return c.give(std::move(y));
  }
  for (int i = 1; i < c.inputs(); ++i) {
    if (c.view(i).rank() == c.view(0).rank()) continue;
    c.refuse(fmt::format("expected values of one rank, got {} and {}",
                         importing::text_of(c.view(0)),
                         importing::text_of(c.view(i))));
  }
  const std::vector<int> order = common_order(c);
  for (int i = 0; i < c.inputs(); ++i) operands.push_back(c.operand(i, order));
  c.give(view_of(c.add(layer, operands), order));
}

/// x * scale + offset, constants that broadcast.
struct Affine {
  Tensor scale;
  Tensor offset;
};

/// A constant with as many axes as `view`, in `order`, without the batch.
Tensor beside(const Conversion& c, const Tensor& value, const View& view,
              std::span<const int> order) {
  const int rank = view.rank();
  const Shape& own = value.shape();
  if (own.rank() > rank) {
    c.refuse(fmt::format("expected a constant that broadcasts over {}, got {}",
                         importing::text_of(view), own.to_string()));
  }
  std::vector<int64_t> dims(static_cast<size_t>(rank - own.rank()), 1);
  dims.insert(dims.end(), own.dims().begin(), own.dims().end());
  const Sizes sizes = sizes_of(view);
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const bool fits = dims[axis] == 1 ||
                      (!has_batch(sizes[axis]) && dims[axis] == sizes[axis]);
    if (!fits) {
      c.refuse(fmt::format(
          "expected a constant that broadcasts over the samples of {}, got {}",
          importing::text_of(view), own.to_string()));
    }
  }
  const Tensor turned =
      value.reshaped(Shape(std::span<const int64_t>(dims))).transposed(order);
  return turned.reshaped(turned.shape().slice(1, rank));
}

bool is_per_channel(const Tensor& value) {
  return value.size() == value.shape()[-1];
}

std::vector<float> numbers_of(const Tensor& value) {
  return {value.f32().begin(), value.f32().end()};
}

/// A constant of the size of `shape`, over which it broadcasts.
Tensor spread(const Tensor& value, const Shape& shape) {
  Tensor result(shape);
  const auto to = result.f32();
  const auto from = value.f32();
  for (size_t i = 0; i < to.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t at = 0;
    int64_t stride = 1;
    for (int axis = shape.rank(); axis-- > 0;) {
      const int64_t size = value.shape()[axis];
      if (size != 1) at += rest % shape[axis] * stride;
      stride *= size;
      rest /= shape[axis];
    }
    to[i] = from[static_cast<size_t>(at)];
  }
  return result;
}

/// For a constant beside `given`, the same beside apart(given).
Tensor beside_apart(const Conversion& c, const Tensor& value,
                    const View& given) {
  const int rank = given.rank();
  const auto more = static_cast<size_t>(apart(given).rank() - rank);
  const Shape& own = value.shape();
  if (more == 0 || own.rank() > rank) return value;
  std::vector<int64_t> dims(static_cast<size_t>(rank - own.rank()), 1);
  dims.insert(dims.end(), own.dims().begin(), own.dims().end());
  const size_t batch = given.batch();
  if (dims[batch] != 1) {
    c.refuse(fmt::format(
        "expected a constant that broadcasts over the samples of {}, got {}",
        importing::text_of(given), own.to_string()));
  }
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(batch), more, 1);
  return value.reshaped(Shape(std::span<const int64_t>(dims)));
}

/// Whether it takes values out of a Softmax behind the sum, and lets others be.
bool is_mask(const Tensor& offset) {
  const auto values = offset.f32();
  const float least = *std::ranges::min_element(values);
  return std::isinf(least) ||
         (least < 0 && std::ranges::all_of(values, [&](float v) {
            return v == 0 || v == least;
          }));
}

/// A sample of numbers that are added to each sample, as tokens.
View plus_tokens(Conversion& c, Operand x, const View& view,
                 std::span<const int> order, const Tensor& offset) {
  const Shape sample = x.tensor.shape().slice(1, view.rank());
  if (sample.size() >
      c.options().limits.memory_limit / static_cast<int64_t>(sizeof(float))) {
    c.refuse("expected a sum that fits into memory_limit");
  }
  const int64_t d = sample[-1];
  const int64_t tokens = sample.size() / d;
  if (sample.rank() != 2) {
    x.tensor = Reshape(
        {.target_shape = {tokens, d}, .name = c.namer()("reshape")})(x.tensor);
  }
  const Tensor all = spread(beside(c, offset, view, order), sample);
  const PositionEmbedding layer;
  layer->set_trainable(!is_mask(all));
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

/// Numbers of the file for every value, or one for each of the last axis.
void rescale(Conversion& c, int input, const Affine& affine) {
  if (affine.scale.size() == 1 && affine.offset.size() == 1) {
    View y = c.view(input);
    y.tensor = c.add(Rescaling({.scale = numbers_of(affine.scale),
                                .offset = numbers_of(affine.offset)}),
                     {c.as_it_lies(input)});
    return c.give(std::move(y));
  }
  const View given = c.view(input);
  const View view = apart(given);
  const auto give = [&](const View& y) {
    const auto more = static_cast<size_t>(view.rank() - given.rank());
    c.give(joined(y, given.batch(), 1 + more));
  };
  const auto operand = [&](std::span<const int> order) {
    return Operand{arranged(view, order, c.namer()), c.value(input).grid};
  };
  const std::vector<int> order = natural_order(view);
  const Tensor offsets = beside_apart(c, affine.offset, given);
  const Tensor scale =
      beside(c, beside_apart(c, affine.scale, given), view, order);
  const Tensor offset = beside(c, offsets, view, order);
  if (is_per_channel(scale) && is_per_channel(offset)) {
    const SymbolicTensor y = c.add(
        Rescaling({.scale = numbers_of(scale), .offset = numbers_of(offset)}),
        {operand(order)});
    return give(view_of(y, order));
  }
  if (affine.scale.size() == 1 && view.rank() > 2) {
    const std::vector<int> tokens = view.rank() == 3 ? file_order(3) : order;
    Operand x = operand(tokens);
    const float factor = affine.scale.f32()[0];
    if (factor != 1) {
      x = {c.add(Rescaling({.scale = {factor}}), {x}, {}, "/scale")};
    }
    return give(plus_tokens(c, x, view, tokens, offsets));
  }
  c.refuse(
      fmt::format("expected one number, or one a channel, beside {}, got {}",
                  importing::text_of(given),
                  (affine.scale.size() == 1 ? affine.offset : affine.scale)
                      .shape()
                      .to_string()));
}

Tensor one() { return Tensor::scalar(1); }
Tensor zero() { return Tensor::scalar(0); }

Tensor mapped(const Tensor& x, const std::function<float(float)>& f) {
  Tensor y = x.clone();
  for (float& v : y.f32()) v = f(v);
  return y;
}

/// Where the second operand lies, before NumPy's rules.
void check_axis(const Conversion& c) {
  if (c.opset() < 7 && c.has_attribute("axis")) {
    c.refuse("axis: expected none; save the file with opset 7 or newer");
  }
}

/// The number of the input that is a constant, of two; -1 if none is.
int constant_input(const Conversion& c) {
  check_axis(c);
  if (c.inputs() != 2) return -1;
  if (c.is_constant(1)) return 1;
  return c.is_constant(0) ? 0 : -1;
}

// A number divided by a value.
void divide_constant(Conversion& c) {
  if (c.floats(0).size() != 1) {
    c.refuse("expected one number to divide, got several");
  }
  const float number = c.scalar(0);
  View y = c.view(1);
  if (number == 1) {
    y.tensor = c.add(Unary("reciprocal"), {c.as_it_lies(1)});
    return c.give(std::move(y));
  }
  if (number == 0) c.refuse("expected a number that is not 0 to divide");
  const SymbolicTensor inverse =
      c.add(Unary("reciprocal"), {c.as_it_lies(1)}, {}, "/reciprocal");
  y.tensor = c.add(Rescaling({.scale = {number}}), {{inverse}});
  c.give(std::move(y));
}

}  // namespace

// A third input is a factor: see forms.h.
void convert_add(Conversion& c) {
  if (c.inputs() == 3) return rescale(c, 0, {c.floats(2), c.floats(1)});
  const int k = constant_input(c);
  if (k < 0) return merge(c, Add());
  rescale(c, 1 - k, {one(), c.floats(k)});
}

void convert_sub(Conversion& c) {
  const int k = constant_input(c);
  if (k < 0) return merge(c, Subtract());
  if (k == 1) {
    return rescale(c, 0, {one(), mapped(c.floats(1), std::negate<>())});
  }
  rescale(c, 1, {Tensor::scalar(-1), c.floats(0)});
}

void convert_mul(Conversion& c) {
  const int k = constant_input(c);
  if (k < 0) return merge(c, Multiply());
  if (c.floats(k).size() == 1 &&
      convert_attention_scale(c, 1 - k, c.scalar(k))) {
    return;
  }
  rescale(c, 1 - k, {c.floats(k), zero()});
}

void convert_div(Conversion& c) {
  const int k = constant_input(c);
  if (k < 0) return merge(c, Divide());
  if (k == 0) return divide_constant(c);
  const Tensor divisor = c.floats(1);
  const auto values = divisor.f32();
  if (std::ranges::any_of(values, [](float v) { return v == 0; })) {
    c.refuse("expected a divisor that is not 0");
  }
  if (divisor.size() == 1 && convert_attention_scale(c, 0, 1 / values[0])) {
    return;
  }
  rescale(c, 0, {mapped(divisor, [](float v) { return 1 / v; }), zero()});
}

void convert_neg(Conversion& c) { rescale(c, 0, {Tensor::scalar(-1), zero()}); }

void convert_sum(Conversion& c) { merge(c, Add()); }
void convert_mean(Conversion& c) { merge(c, Average()); }
void convert_max(Conversion& c) {
  if (!convert_bound(c)) merge(c, Maximum());
}
void convert_min(Conversion& c) {
  if (!convert_bound(c)) merge(c, Minimum());
}

void convert_unary(Conversion& c) {
  struct Name {
    const char* op;
    const char* operation;
  };
  constexpr std::array<Name, 4> kNames{{{"Abs", "abs"},
                                        {"Log", "log"},
                                        {"Reciprocal", "reciprocal"},
                                        {"Sqrt", "sqrt"}}};
  const auto found = std::ranges::find_if(
      kNames, [&](const Name& name) { return c.op() == name.op; });
  View y = c.view(0);
  y.tensor = c.add(Unary(found->operation), {c.as_it_lies(0)});
  c.give(std::move(y));
}

// By the exponents of squares, roots and quotients.
void convert_pow(Conversion& c) {
  if (!c.is_constant(1) || c.floats(1).size() != 1) {
    c.refuse("expected one constant exponent, got another");
  }
  const float exponent = c.scalar(1);
  if (exponent == 1) return c.pass(c.view(0));
  const char* operation = exponent == 2      ? "square"
                          : exponent == 0.5f ? "sqrt"
                          : exponent == -1   ? "reciprocal"
                                             : nullptr;
  if (operation == nullptr) {
    c.refuse(
        fmt::format("expected the exponent 2, 0.5, -1 or 1, got {}", exponent));
  }
  View y = c.view(0);
  y.tensor = c.add(Unary(operation), {c.as_it_lies(0)});
  c.give(std::move(y));
}

}  // namespace octet::io::importing
