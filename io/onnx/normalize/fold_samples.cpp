#include "fold_samples.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <octet/runtime/error.h>

#include "onnx/import/inputs.h"
#include "onnx/import/layout.h"
#include "onnx/reference/operators.h"

namespace octet::io::importing {
namespace {

/// Whether a constant contains sizes of the batch.
bool has_sizes(const Constant& constant) {
  return !constant.times_batch.empty();
}

/// Operators that map entries linear in the sample index to linear ones, if
/// they preserve entries per sample at all, and a size linear in the batch to
/// as many entries: a result valid for one, two and three samples is valid for
/// any number.
bool keeps_counting(const onnx::NodeProto& node) {
  // Other types round numbers or reduce them to booleans.
  if (node.op_type() == "Cast") {
    return integer_of(node, "to", 0) == onnx::TensorProto::INT64;
  }
  return is_one_of(node.op_type(),
                   "Add ConstantOfShape Expand Identity Mul Neg Range Reshape "
                   "Shape Squeeze Sub Tile Transpose Unsqueeze");
}

/// Operators that apply to each sample in the same way.
bool treats_samples_alike(std::string_view op) {
  return is_one_of(op,
                   "Cast Abs And Concat Cos CumSum Div Exp Floor Equal Not Or "
                   "Pow Sin Sqrt Tanh Where");
}

/// Whether the operator moves the values of an input without reading them.
bool moves_input(std::string_view op, int input) {
  if (op == "Concat") return true;
  if (op == "Where") return input > 0;
  return input == 0 && is_one_of(op, "Gather Slice");
}

/// Whether the result for sizes of the batch is valid for any batch: sizes that
/// are moved, quotients without remainder, and comparisons with numbers below
/// 1.
bool holds_for_any_batch(const OnnxGraph& graph, const onnx::NodeProto& node) {
  std::vector<const Constant*> inputs;
  bool moves = true;
  for (int i = 0; i < node.input_size(); ++i) {
    if (node.input(i).empty()) continue;
    inputs.push_back(graph.constant(node.input(i)));
    if (inputs.back()->samples_axis) return false;
    moves =
        moves && (!has_sizes(*inputs.back()) || moves_input(node.op_type(), i));
  }
  if (moves) return true;
  if (inputs.size() != 2 || inputs[0]->value.dtype() != DType::i64 ||
      inputs[1]->value.dtype() != DType::i64) {
    return false;
  }
  const auto x = std::as_const(inputs[0]->value).data<int64_t>();
  const auto y = std::as_const(inputs[1]->value).data<int64_t>();
  if (node.op_type() == "Equal") {
    return std::ranges::all_of(has_sizes(*inputs[0]) ? y : x,
                               [](int64_t v) { return v < 1; });
  }
  return node.op_type() == "Div" && x.size() == 1 && y.size() == 1 &&
         x[0] > 0 && y[0] > 0 && x[0] % y[0] == 0;
}

/// Whether Slice or Gather select entries along another axis than the batch.
bool keeps_samples(const OnnxGraph& graph, const onnx::NodeProto& node) {
  const Constant& x = *graph.constant(node.input(0));
  const int rank = x.value.shape().rank();
  const auto is_samples = [&](int64_t axis) {
    return x.samples_axis && (axis < 0 ? axis + rank : axis) == *x.samples_axis;
  };
  if (node.op_type() == "Gather") {
    return x.samples_axis && !is_samples(integer_of(node, "axis", 0));
  }
  if (node.op_type() != "Slice" || node.input_size() < 4 ||
      node.input(3).empty() || !x.samples_axis) {
    return false;
  }
  const Tensor axes = graph.constant(node.input(3))->value;
  return axes.dtype() == DType::i64 &&
         std::ranges::none_of(axes.data<int64_t>(), is_samples);
}

bool can_fold(const OnnxGraph& graph, const onnx::NodeProto& node) {
  if (node.output_size() != 1) return false;
  if (keeps_counting(node) || holds_for_any_batch(graph, node)) return true;
  if (!treats_samples_alike(node.op_type()) && !keeps_samples(graph, node)) {
    return false;
  }
  // No input may contain sample numbers or sizes of the batch.
  for (int i = 0; i < node.input_size(); ++i) {
    if (node.input(i).empty()) continue;
    const Constant& constant = *graph.constant(node.input(i));
    const bool first = i == 0 || treats_samples_alike(node.op_type());
    if (constant.samples_step != 0 || (constant.samples_axis && !first) ||
        has_sizes(constant)) {
      return false;
    }
  }
  return true;
}

/// Moves the axis to the front.
Tensor by_entries(const Tensor& value, int axis) {
  return value.transposed(axis_first(value.shape().rank(), axis));
}

/// Returns the constant for a given number of samples.
Tensor with_samples(const Constant& constant, int64_t samples) {
  const Tensor& value = constant.value;
  if (!constant.samples_axis) {
    if (!has_sizes(constant)) return value;
    Tensor result = value.clone();
    const auto sizes = result.data<int64_t>();
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (constant.times_batch[i] &&
          __builtin_mul_overflow(sizes[i], samples, &sizes[i])) {
        throw ValueError("size_limit", "", "size exceeds 64 bits");
      }
    }
    return result;
  }
  const int axis = *constant.samples_axis;
  const Tensor one = by_entries(value, axis);
  Tensor result(one.shape().with(0, samples), one.dtype());
  auto* to = static_cast<char*>(result.raw());
  const auto bytes = static_cast<size_t>(one.bytes());
  for (int64_t i = 0; i < samples; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * bytes, one.raw(), bytes);
  }
  if (constant.samples_step != 0) {
    const int64_t size = one.size();
    auto numbers = result.data<int64_t>();
    for (int64_t i = 0; i < result.size(); ++i) {
      numbers[static_cast<size_t>(i)] += i / size * constant.samples_step;
    }
  }
  std::vector<int> back;
  for (int i = 1; i <= axis; ++i) back.push_back(i);
  back.push_back(0);
  for (int i = axis + 1; i < value.shape().rank(); ++i) back.push_back(i);
  return result.transposed(back);
}

/// Returns the axis with as many entries as samples.
std::optional<int> axis_of_samples(const Shape& one, const Shape& two) {
  std::optional<int> axis;
  if (one.rank() != two.rank()) return {};
  for (int i = 0; i < one.rank(); ++i) {
    if (one[i] == two[i]) continue;
    if (axis || one[i] != 1 || two[i] != 2) return {};
    axis = i;
  }
  return axis;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
}

/// Returns the difference between the numbers of two entries; nothing if it is
/// not the same for all numbers.
std::optional<int64_t> step_between(const Tensor& two) {
  const Tensor first = two.slice(0, 1);
  const Tensor second = two.slice(1, 1);
  if (two.dtype() != DType::i64) {
    if (!same(first, second)) return {};
    return 0;
  }
  if (two.size() == 0) return {};
  const auto from = first.data<int64_t>();
  const auto to = second.data<int64_t>();
  int64_t step = 0;
  if (__builtin_sub_overflow(to[0], from[0], &step)) return {};
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t next = 0;
    if (__builtin_add_overflow(from[i], step, &next) || next != to[i]) {
      return {};
    }
  }
  return step;
}

/// Whether the numbers fit 64 bits for any number of samples.
bool stays_small(const Tensor& one, int64_t step) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const auto is_small = [](int64_t v) { return v > -kMost && v < kMost; };
  return one.dtype() != DType::i64 ||
         (is_small(step) && std::ranges::all_of(one.data<int64_t>(), is_small));
}

/// Returns the constant for results for one, two and three samples of the same
/// shape; nothing unless each element is the same, or a size of the batch.
std::optional<Constant> sizes_of(const Tensor& one, const Tensor& two,
                                 const Tensor& three) {
  Constant result{.value = one};
  if (same(one, two) && same(one, three)) return result;
  if (one.dtype() != DType::i64) return {};
  const auto a = one.data<int64_t>();
  const auto b = two.data<int64_t>();
  const auto c = three.data<int64_t>();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool batch = b[i] != a[i];
    if (c[i] != (batch ? b[i] + a[i] : a[i]) ||
        (batch && (a[i] < 1 || b[i] - a[i] != a[i]))) {
      return {};
    }
    result.times_batch.push_back(batch);
  }
  return result;
}

/// Returns the only output for a number of samples; nothing if there is none.
std::optional<Tensor> evaluated(OnnxGraph& graph, const onnx::NodeProto& node,
                                int64_t samples) {
  try {
    std::vector<Tensor> inputs;
    for (const std::string& input : node.input()) {
      const Constant* constant =
          input.empty() ? nullptr : graph.constant(input);
      inputs.push_back(constant == nullptr ? Tensor()
                                           : with_samples(*constant, samples));
    }
    const run::NodeContext context(node, graph.opset(), inputs, graph.budget());
    context.check_time();
    const std::vector<Tensor> values = run::find_operator(node)(context);
    if (values.size() != 1) return {};
    return values[0];
  } catch (const ShapeError&) {
    return {};
  } catch (const ValueError&) {
    return {};
  } catch (const FormatError&) {
    return {};  // sizes do not fit for this number of samples
  }
}

/// Compares sizes of a batch that the file fixes.
std::optional<Constant> for_fixed_batch(OnnxGraph& graph,
                                        const onnx::NodeProto& node) {
  const int64_t batch = fixed_batch(graph);
  const bool sizes = std::ranges::none_of(node.input(), [&](const auto& input) {
    return input.empty() || graph.constant(input)->samples_axis.has_value();
  });
  if (batch == 0 || !sizes ||
      !is_one_of(node.op_type(),
                 "Equal Greater GreaterOrEqual Less LessOrEqual")) {
    return {};
  }
  const auto value = evaluated(graph, node, batch);
  if (!value) return {};
  return Constant{.value = *value, .source = node.output(0)};
}

}  // namespace

std::optional<Constant> fold_for_samples(OnnxGraph& graph,
                                         const onnx::NodeProto& node) {
  if (!can_fold(graph, node)) return for_fixed_batch(graph, node);
  const auto one = evaluated(graph, node, 1);
  const auto two = evaluated(graph, node, 2);
  const auto three = evaluated(graph, node, 3);
  if (!one || !two || !three) return {};
  if (one->shape() == two->shape() && one->shape() == three->shape()) {
    // Its count of numbers is rounded up: one may be enough for three samples.
    if (node.op_type() == "Range") return {};
    auto sizes = sizes_of(*one, *two, *three);
    if (sizes) sizes->source = node.output(0);
    return sizes;
  }
  const auto axis = axis_of_samples(one->shape(), two->shape());
  if (!axis) return {};
  const auto step = step_between(by_entries(*two, *axis));
  if (!step || !stays_small(*one, *step)) return {};
  Constant result{.value = *one,
                  .source = node.output(0),
                  .samples_axis = axis,
                  .samples_step = *step};
  if (!same(with_samples(result, 2), *two) ||
      !same(with_samples(result, 3), *three)) {
    return {};
  }
  return result;
}

}  // namespace octet::io::importing
