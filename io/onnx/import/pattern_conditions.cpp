#include "pattern_conditions.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "onnx/graph/attributes.h"
#include "onnx/normalize/spelling.h"

namespace octet::io::importing {
namespace {

const Tensor* floats_of(const OnnxGraph& graph, const std::string& value) {
  const Constant* constant = graph.constant(value);
  const bool floats =
      constant != nullptr && constant->value.dtype() == DType::f32;
  return floats ? &constant->value : nullptr;
}

/// Returns "factor", or "offset" if there is none.
const Tensor& parameter_of(const OnnxGraph& graph, const PatternMatch& m) {
  const std::string& factor = m.value("factor");
  return graph.constant(factor.empty() ? m.value("offset") : factor)->value;
}

/// Whether a constant varies along an axis of a value only.
bool is_along(const Tensor& constant, int64_t axis,
              const std::optional<Integers>& value) {
  const Shape& shape = constant.shape();
  if (axis >= 0 && !value) return false;
  if (axis >= 0) axis -= static_cast<int64_t>(value->size());
  const int64_t at = shape.rank() + axis;
  return at >= 0 && at < shape.rank() && constant.size() > 1 &&
         (!value || shape.rank() <= std::ssize(*value)) &&
         shape[static_cast<int>(at)] == constant.size();
}

bool has_epsilon(const PatternMatch& m) {
  const auto epsilon = m.scalar("epsilon");
  return !epsilon || *epsilon > 0;
}

bool all_equal(const OnnxGraph& graph, const std::string& value, float number) {
  const Tensor* tensor = floats_of(graph, value);
  return tensor != nullptr &&
         std::ranges::all_of(std::as_const(*tensor).f32(),
                             [&](float v) { return v == number; });
}

/// Returns the sizes of a Reshape if they are constants.
std::optional<Integers> constant_sizes(const OnnxGraph& graph,
                                       const std::string& value) {
  const Constant* constant = graph.constant(value);
  if (constant == nullptr || constant->value.dtype() != DType::i64) {
    return std::nullopt;
  }
  const auto sizes = std::as_const(constant->value).data<int64_t>();
  return Integers(sizes.begin(), sizes.end());
}

/// Whether a Reshape to `sizes` restores the shape of `x`.
bool restores(OnnxGraph& graph, const std::string& sizes, const std::string& x,
              const Integers& shape) {
  if (const OnnxNode* node = graph.producer(sizes)) {
    return is_op(*node, "Shape") && node->proto.input(0) == x &&
           integer_of(node->proto, "start", 0) == 0 &&
           find_attribute(node->proto, "end") == nullptr;
  }
  const auto target = constant_sizes(graph, sizes);
  if (!target || target->size() != shape.size()) return false;
  // At most one size may be inferred, and the batch may be dynamic.
  int inferred = 0;
  for (size_t i = 1; i < shape.size(); ++i) {
    const int64_t size = (*target)[i];
    if (size == -1) ++inferred;
    const bool same = size == -1 || (size == shape[i] && size > 0);
    if (!same) return false;
  }
  const int64_t batch = (*target)[0];
  return inferred + (batch == -1 ? 1 : 0) <= 1 &&
         (batch == 0 || batch == -1 || batch == shape[0]);
}

/// Whether a mask hides the keys after each query, and no others. `hides`
/// returns whether an entry of [...,queries,keys] hides its key.
template <class Hides>
bool is_causal(const Shape& shape, const Hides& hides) {
  if (shape.rank() < 2 || shape[-1] * shape[-2] != shape.size()) return false;
  for (int64_t i = 0; i < shape.size(); ++i) {
    const bool later = i % shape[-1] > i / shape[-1];
    if (hides(static_cast<size_t>(i)) != later) return false;
  }
  return true;
}

/// Numbers by which exporters hide keys: their weight is 0 in float32.
constexpr float kHidden = -1e9f;

bool adds_causal_mask(const Tensor& mask) {
  const auto values = mask.f32();
  const bool plain = std::ranges::all_of(
      values, [](float v) { return v == 0 || v <= kHidden; });
  return plain && is_causal(mask.shape(),
                            [&](size_t i) { return values[i] <= kHidden; });
}

bool selects_causally(const OnnxGraph& graph, const PatternMatch& m) {
  const bool hides = !m.value("hidden").empty();
  const Constant* mask = graph.constant(m.value(hides ? "hidden" : "visible"));
  const Tensor* low = floats_of(graph, m.value("low"));
  if (mask == nullptr || mask->value.dtype() != DType::boolean ||
      low == nullptr || low->size() != 1 || !(low->f32()[0] <= kHidden)) {
    return false;
  }
  const auto values = mask->value.data<bool>();
  return is_causal(mask->value.shape(),
                   [&](size_t i) { return values[i] == hides; });
}

}  // namespace

bool is_over_one_axis(OnnxGraph& graph, const PatternMatch& m,
                      onnx::NodeProto& by) {
  if (m.axes->size() != 1 || !has_epsilon(m)) return false;
  const int64_t axis = (*m.axes)[0];
  for (const char* variable : {"factor", "offset"}) {
    const Tensor* parameter = floats_of(graph, m.value(variable));
    if (parameter != nullptr &&
        !is_along(*parameter, axis, graph.stated(m.value("x")))) {
      return false;
    }
  }
  const bool unit = by.op_type() == "UnitNormalization";
  set_integer(by, unit ? "axis" : kOverOneAxis, axis);
  return true;
}

bool is_over_the_last_axis(OnnxGraph& graph, const PatternMatch& m,
                           onnx::NodeProto&) {
  const auto shape = graph.stated(m.value("x"));
  const int64_t axis = (*m.axes)[0];
  const bool last = axis == -1 || (shape && axis == std::ssize(*shape) - 1);
  return m.axes->size() == 1 && last && has_epsilon(m) &&
         is_along(parameter_of(graph, m), -1, shape);
}

bool is_over_images(OnnxGraph& graph, const PatternMatch& m,
                    onnx::NodeProto& by) {
  const auto shape = graph.stated(m.value("x"));
  if (!shape || shape->size() < 3 || (*shape)[1] < 1 || !has_epsilon(m) ||
      m.axes->size() + 2 != shape->size()) {
    return false;
  }
  Integers axes = *m.axes;
  for (int64_t& axis : axes) {
    if (axis < 0) axis += std::ssize(*shape);
  }
  std::ranges::sort(axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!std::cmp_equal(axes[i], i + 2)) return false;
  }
  set_integer(by, "num_groups", (*shape)[1]);
  set_integer(by, kFromParts, 1);
  return true;
}

bool is_along_normalized_axis(OnnxGraph& graph, const PatternMatch& m,
                              onnx::NodeProto& by) {
  const int64_t axis = integer_of(by, kOverOneAxis, integer_of(by, "axis", -1));
  return is_along(parameter_of(graph, m), axis, graph.stated(m.value("x")));
}

bool is_over_groups(OnnxGraph& graph, const PatternMatch& m,
                    onnx::NodeProto& by) {
  const std::string& x = m.value("x");
  const auto shape = graph.stated(x);
  const auto groups = constant_sizes(graph, m.value("split"));
  if (!shape || shape->size() < 2 || !groups || groups->size() != 3 ||
      (*groups)[1] < 1 || (*groups)[2] != -1 ||
      ((*groups)[0] != 0 && (*groups)[0] != (*shape)[0]) ||
      !all_equal(graph, m.value("ones"), 1) ||
      !all_equal(graph, m.value("zeros"), 0) ||
      graph.constant(m.value("ones"))->value.size() != (*groups)[1] ||
      !restores(graph, m.value("shape"), x, *shape)) {
    return false;
  }
  const onnx::NodeProto& norm = m.part("InstanceNormalization")->proto;
  by.set_name(norm.name());
  if (const auto* epsilon = find_attribute(norm, "epsilon")) {
    *by.add_attribute() = *epsilon;
  }
  set_integer(by, "num_groups", (*groups)[1]);
  set_integer(by, kFromParts, 1);
  return true;
}

bool is_per_channel(OnnxGraph& graph, const PatternMatch& m, onnx::NodeProto&) {
  const auto shape = graph.stated(m.value("x"));
  return shape && is_along(parameter_of(graph, m), 1, shape);
}

bool is_bias(OnnxGraph& graph, const PatternMatch& m, onnx::NodeProto& by) {
  const Shape& w = graph.constant(m.value("weight"))->value.shape();
  const Shape& bias = graph.constant(m.value("bias"))->value.shape();
  if (w.rank() < 2) return false;
  if (by.op_type() == "MatMul") {
    return w.rank() == 2 && bias.rank() >= 1 && bias[-1] == w[1] &&
           bias.size() == w[1];
  }
  const bool conv = by.op_type() == "Conv";
  if (!conv && integer_of(by, "group", 1) != 1) return false;
  // A number for each channel of [N,c,...] that broadcasts: [c,1,1] for images.
  const int64_t channels = conv ? w[0] : w[1];
  const int axis = bias.rank() - (w.rank() - 1);
  return bias.rank() <= w.rank() && bias.size() == channels &&
         (channels == 1 || (axis >= 0 && bias[axis] == channels));
}

bool is_slope(OnnxGraph&, const PatternMatch& m, onnx::NodeProto&) {
  const float alpha = *m.scalar("alpha");
  return alpha > 0 && alpha < 1;
}

bool sets_alpha(OnnxGraph&, const PatternMatch&, onnx::NodeProto& by) {
  set_number(by, "alpha", 1.0f / 6);
  return true;
}

bool sets_tanh(OnnxGraph&, const PatternMatch&, onnx::NodeProto& by) {
  set_text(by, "approximate", "tanh");
  return true;
}

bool is_attention(OnnxGraph& graph, const PatternMatch& m,
                  onnx::NodeProto& by) {
  for (const char* variable : {"factor", "divisor"}) {
    const Constant* constant = graph.constant(m.value(variable));
    if (constant != nullptr && constant->value.size() != 1) return false;
  }
  const bool adds = !m.value("mask").empty();
  const bool selects = !m.value("low").empty();
  if (adds && !adds_causal_mask(graph.constant(m.value("mask"))->value)) {
    return false;
  }
  if (selects && !selects_causally(graph, m)) return false;
  const int64_t otherwise = graph.opset() < 13 ? 1 : -1;
  set_integer(by, "axis",
              integer_of(m.part("Softmax")->proto, "axis", otherwise));
  if (!adds && !selects) return true;
  const char* const mask = adds                        ? "mask"
                           : m.value("hidden").empty() ? "visible"
                                                       : "hidden";
  const Shape& shape = graph.constant(m.value(mask))->value.shape();
  set_integer(by, "masked_queries", shape[-2]);
  set_integer(by, "masked_keys", shape[-1]);
  return true;
}

}  // namespace octet::io::importing
