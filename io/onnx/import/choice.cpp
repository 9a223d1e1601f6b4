// Comparisons, logic, and selection by Where.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <octet/layers/merging.h>
#include <octet/layers/ops.h>
#include <octet/runtime/detail/exact_floats.h>
#include <octet/runtime/ops.h>

#include "converters.h"
#include "join.h"
#include "rescale.h"

namespace octet::io::importing {

namespace {

using Numeric = SymbolicTensor (*)(const SymbolicTensor& x, float number);

struct Comparison {
  std::string_view op;
  SymbolicTensor (*apply)(const SymbolicTensor& x, const SymbolicTensor& y);
  Numeric to_number = nullptr;    ///< x op number
  Numeric from_number = nullptr;  ///< number op x
};

// Boolean values are 1 and 0.
constexpr Comparison kComparisons[] = {
    {"And", logical_and},
    {"Equal", equal, equal, equal},
    {"Greater", greater, greater, less},
    {"GreaterOrEqual", greater_equal, greater_equal, less_equal},
    {"Less", less, less, greater},
    {"LessOrEqual", less_equal, less_equal, greater_equal},
    {"NotEqual", not_equal, not_equal, not_equal},
    {"Or", logical_or},
    {"Xor", logical_xor},
};

}  // namespace

bool is_comparison(std::string_view op) {
  return std::ranges::find(kComparisons, op, &Comparison::op) !=
         std::end(kComparisons);
}

void convert_compare(Conversion& c) {
  const Comparison& comparison =
      *std::ranges::find(kComparisons, c.op(), &Comparison::op);
  const int k = constant_input(c);
  const bool number = comparison.to_number != nullptr && k >= 0 &&
                      c.constant(k).dtype() != DType::boolean &&
                      c.constant(k).size() == 1;
  if (number) {
    const Tensor value = exact_floats(c.constant(k), "constant");
    const Numeric apply =
        k == 1 ? comparison.to_number : comparison.from_number;
    c.set_elementwise(1 - k, [&](const SymbolicTensor& x) {
      return apply(x, value.f32()[0]);
    });
  } else {
    join(c,
         [&](const std::vector<SymbolicTensor>& inputs) {
           return comparison.apply(inputs[0], inputs[1]);
         },
         {0, 1});
  }
  c.mark_truth();
}

void convert_not(Conversion& c) {
  c.set_elementwise(0, [](const SymbolicTensor& x) { return logical_not(x); });
  c.mark_truth();
}

namespace {

/// A Where with a constant condition that replaces values by a number so low
/// that adding a value does not change it: Softmax maps both to 0 if the row
/// has other values.
struct MaskForm {
  int values = 0;  ///< input of the values
  float number = 0;
  Tensor hidden;  ///< 1 for replaced values, otherwise 0
};

std::optional<MaskForm> mask_of(const OnnxGraph& graph, const OnnxNode& node) {
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

/// Whether adding the number to the values is equivalent: the only consumer is
/// a Softmax over the last axis, possibly after other masks, additions and
/// Q/DQ, and if a number is finite, no row is hidden completely.
bool may_be_added(const Conversion& c, const MaskForm& own) {
  Variable hidden(own.hidden);
  bool finite = std::isfinite(own.number);
  std::string value = c.output();
  for (;;) {
    const auto consumers = c.graph().consumers(value);
    if (c.graph().uses(value) != 1 || consumers.size() != 1) return false;
    const OnnxNode& node = *consumers[0];
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
  const OnnxNode& softmax = *c.graph().consumers(value)[0];
  const int64_t axis =
      integer_of(softmax.proto, "axis", c.opset() < 13 ? 1 : -1);
  return (axis == -1 || axis == c.value(own.values).rank() - 1) &&
         !(finite && has_row_of_ones(hidden.value()));
}

/// The form of PyTorch's masked_fill() in attention.
bool convert_mask(Conversion& c) {
  const auto mask = mask_of(c.graph(), c.node());
  (void)c.constant(0);  // throws for a batch axis that does not match
  if (!mask || !may_be_added(c, *mask)) return false;
  Tensor added = mask->hidden.clone();
  for (float& v : added.f32()) v = v == 1 ? mask->number : 0;
  rescale(c, mask->values, {Tensor::scalar(1), added});
  return true;
}

}  // namespace

void convert_where(Conversion& c) {
  if (c.is_constant(0) && convert_mask(c)) return;
  WhereOptions options;
  std::vector<int> inputs{0};
  const auto take = [&](int input, std::optional<float>& number) {
    if (c.is_constant(input) && c.floats(input).size() == 1) {
      number = c.scalar(input);
    } else {
      inputs.push_back(input);
    }
  };
  take(1, options.x);
  take(2, options.y);
  join(c, Where(options), inputs);
}

}  // namespace octet::io::importing
