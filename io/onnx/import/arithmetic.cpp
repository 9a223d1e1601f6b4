// Sums, products and the like: of two values, or of a value and constants.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include <octet/layers/add.h>
#include <octet/layers/average.h>
#include <octet/layers/compare.h>
#include <octet/layers/divide.h>
#include <octet/layers/maximum.h>
#include <octet/layers/minimum.h>
#include <octet/layers/multiply.h>
#include <octet/layers/power.h>
#include <octet/layers/rescaling.h>
#include <octet/layers/subtract.h>
#include <octet/layers/unary.h>
#include <octet/layers/where.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "attention.h"
#include "converters.h"
#include "rescale.h"

namespace octet::io::importing {
namespace {

/// Numbers of inputs.
using Inputs = std::vector<int>;

Inputs all_inputs(const Conversion& c) {
  Inputs all(static_cast<size_t>(c.inputs()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// An order of axes in which the inputs are taken, best as the largest lies.
std::vector<int> common_order(const Conversion& c, const Inputs& inputs) {
  const View* largest = nullptr;
  for (const int i : inputs) {
    const View& view = c.view(i);
    if (largest == nullptr || sample_size(view) > sample_size(*largest)) {
      largest = &view;
    }
  }
  return natural_order(*largest);
}

/// Whether the inputs have their axes in the same places of equal tensors.
bool lie_alike(const Conversion& c, const Inputs& inputs) {
  const View& first = c.view(inputs[0]);
  for (const int i : inputs) {
    const View& view = c.view(i);
    if (view.axes != first.axes || view.parts != first.parts ||
        view.tensor.shape() != first.tensor.shape()) {
      return false;
    }
  }
  return true;
}

void join(Conversion& c, const LayerHandle& layer, const Inputs& inputs) {
  std::vector<Operand> operands;
  const View& first = c.view(inputs[0]);
  if (lie_alike(c, inputs)) {
    for (const int i : inputs) operands.push_back(c.as_it_lies(i));
    View y = first;
    y.tensor = c.add(layer, operands);
    return c.give(std::move(y));
  }
  for (const int i : inputs) {
    if (c.view(i).rank() == first.rank()) continue;
    c.refuse(fmt::format("expected values of one rank, got {} and {}",
                         importing::text_of(first),
                         importing::text_of(c.view(i))));
  }
  if (first.samples_lead() || first.batch() + 1 == first.axes.size()) {
    const std::vector<int> order = common_order(c, inputs);
    for (const int i : inputs) operands.push_back(c.operand(i, order));
    return c.give(view_of(c.add(layer, operands), order));
  }
  const Rows rows(first, first.rank() - 1);
  for (const int i : inputs) {
    const View& view = c.view(i);
    if (!samples_lie_alike(view, first)) {
      c.refuse(
          fmt::format("expected the samples in the same place, got {} "
                      "and {}",
                      importing::text_of(first), importing::text_of(view)));
    }
    operands.push_back(c.operand(i, Rows(view, view.rank() - 1)));
  }
  c.give(rows.back(c.add(layer, operands)));
}

void merge(Conversion& c, const LayerHandle& layer) {
  if (c.inputs() == 1) return c.pass(c.view(0));
  join(c, layer, all_inputs(c));
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
  constexpr std::array<Name, 11> kNames{{{"Abs", "abs"},
                                         {"Ceil", "ceil"},
                                         {"Cos", "cos"},
                                         {"Erf", "erf"},
                                         {"Floor", "floor"},
                                         {"Log", "log"},
                                         {"Reciprocal", "reciprocal"},
                                         {"Round", "round"},
                                         {"Sign", "sign"},
                                         {"Sin", "sin"},
                                         {"Sqrt", "sqrt"}}};
  const auto found = std::ranges::find_if(
      kNames, [&](const Name& name) { return c.op() == name.op; });
  View y = c.view(0);
  y.tensor = c.add(Unary(found->operation), {c.as_it_lies(0)});
  c.give(std::move(y));
}

void convert_compare(Conversion& c) {
  struct Names {
    const char* op;
    const char* operation;
    const char* swapped;
  };
  constexpr std::array<Names, 5> kNames{
      {{"Equal", "equal", "equal"},
       {"Greater", "greater", "less"},
       {"GreaterOrEqual", "greater_equal", "less_equal"},
       {"Less", "less", "greater"},
       {"LessOrEqual", "less_equal", "greater_equal"}}};
  const auto found = std::ranges::find_if(
      kNames, [&](const Names& names) { return c.op() == names.op; });
  const int k = constant_input(c);
  if (k < 0) {
    join(c, Compare({.operation = found->operation}), {0, 1});
    return c.mark_truth();
  }
  if (c.floats(k).size() != 1) {
    c.refuse("expected one number to compare with, got several");
  }
  join(c,
       Compare({.operation = k == 1 ? found->operation : found->swapped,
                .value = c.scalar(k)}),
       {1 - k});
  c.mark_truth();
}

// Truth is 1 and 0.
void convert_logical(Conversion& c) {
  if (c.op() == "Not") {
    rescale(c, 0, {Tensor::scalar(-1), one()});
    return c.mark_truth();
  }
  if (constant_input(c) >= 0) {
    c.refuse("expected two values that depend on the inputs, got a constant");
  }
  const auto layer = [&]() -> LayerHandle {
    if (c.op() == "And") return Multiply();
    if (c.op() == "Or") return Maximum();
    return Compare({.operation = "not_equal"});
  };
  join(c, layer(), {0, 1});
  c.mark_truth();
}

namespace {

/// A Where by a constant that puts a number in the place of values, so low that
/// a value added to it is lost: beside another one of a row, Softmax makes 0 of
/// both.
struct MaskForm {
  int values = 0;  ///< the input that they are
  float number = 0;
  Tensor hidden;  ///< 1 where it takes their place, else 0
};

std::optional<MaskForm> mask_of(const ImportGraph& graph,
                                const ImportNode& node) {
  constexpr float kLow = -1e9f;
  const auto constant = [&](int input) {
    return graph.constant(node.proto.input(input));
  };
  if (node.proto.input_size() != 3 || constant(0) == nullptr ||
      constant(0)->value.dtype() != DType::boolean) {
    return {};
  }
  for (const int at : {1, 2}) {
    const Constant* given = constant(at);
    if (given == nullptr || constant(3 - at) != nullptr ||
        given->value.dtype() != DType::f32 || given->value.size() != 1) {
      continue;
    }
    MaskForm form{3 - at, std::as_const(given->value).f32()[0],
                  Tensor(constant(0)->value.shape())};
    if (!(form.number <= kLow)) continue;
    const auto from = constant(0)->value.data<bool>();
    for (size_t i = 0; i < from.size(); ++i) {
      form.hidden.f32()[i] = from[i] == (at == 1) ? 1.0f : 0.0f;
    }
    return form;
  }
  return {};
}

bool has_row_of_ones(const Tensor& mask) {
  const int64_t row = mask.shape().rank() == 0 ? 1 : mask.shape()[-1];
  const auto values = mask.f32();
  for (int64_t i = 0; i < mask.size(); i += row) {
    const auto* first = values.data() + i;
    if (std::all_of(first, first + row, [](float v) { return v == 1; })) {
      return true;
    }
  }
  return false;
}

/// Whether it comes to the same to add the number to the values: only a Softmax
/// over the last axis reads them, behind other masks, what is added and Q/DQ,
/// and where the number is finite, no row is hidden as a whole.
bool may_be_added(const Conversion& c, const MaskForm& own) {
  Variable hidden(own.hidden);
  bool finite = std::isfinite(own.number);
  std::string value = c.output();
  for (;;) {
    const auto readers = c.graph().readers(value);
    if (c.graph().uses(value) != 1 || readers.size() != 1) return false;
    const ImportNode& node = *readers[0];
    if (is_op(node, "Softmax")) break;
    if (is_op(node, "Where")) {
      const auto next = mask_of(c.graph(), node);
      if (!next || node.proto.input(next->values) != value) return false;
      hidden = maximum(hidden, next->hidden);
      finite |= std::isfinite(next->number);
    } else if (!is_op(node, "Add") && !is_op(node, "DequantizeLinear")) {
      return false;
    }
    value = node.proto.output(0);
  }
  const ImportNode& softmax = *c.graph().readers(value)[0];
  const int64_t axis =
      integer_of(softmax.proto, "axis", c.opset() < 13 ? 1 : -1);
  return (axis == -1 || axis == c.view(own.values).rank() - 1) &&
         !(finite && has_row_of_ones(hidden.value()));
}

/// As PyTorch writes masked_fill() in attention.
bool convert_mask(Conversion& c) {
  const auto mask = mask_of(c.graph(), c.node());
  if (!mask || !may_be_added(c, *mask)) return false;
  Tensor added = mask->hidden.clone();
  for (float& v : added.f32()) v = v == 1 ? mask->number : 0;
  rescale(c, mask->values, {one(), added});
  return true;
}

}  // namespace

void convert_where(Conversion& c) {
  if (c.is_constant(0)) {
    if (convert_mask(c)) return;
    c.refuse(
        "expected a condition that depends on the inputs, or a mask in front "
        "of a Softmax that puts a very low number in the place of some values "
        "of each row");
  }
  WhereOptions options;
  Inputs inputs{0};
  const auto take = [&](int input, std::optional<float>& number) {
    if (!c.is_constant(input)) {
      inputs.push_back(input);
    } else if (c.floats(input).size() == 1) {
      number = c.scalar(input);
    } else {
      c.refuse(fmt::format(
          "input {}: expected one number or a value that depends on the "
          "inputs, got a constant of {} numbers",
          input, c.floats(input).size()));
    }
  };
  take(1, options.x);
  take(2, options.y);
  join(c, Where(options), inputs);
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
  const auto layer = [&]() -> LayerHandle {
    if (operation != nullptr) return Unary(operation);
    return Power(exponent);
  };
  View y = c.view(0);
  y.tensor = c.add(layer(), {c.as_it_lies(0)});
  c.give(std::move(y));
}

}  // namespace octet::io::importing
