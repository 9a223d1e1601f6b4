// Elementwise functions of one value, and Softmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/ops.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

#include "constant_values.h"
#include "converters.h"

namespace octet::io::importing {
namespace {

/// Whether a float32 equals a rounded decimal number.
bool is_about(float value, double expected) {
  return std::abs(static_cast<double>(value) - expected) <=
         1e-6 * std::max(1.0, std::abs(expected));
}

void expect_alpha_one(const Conversion& c) {
  if (c.number("alpha", 1) != 1) c.refuse("alpha must be 1");
}

SymbolicTensor clip_of(const Conversion& c, const SymbolicTensor& x) {
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool old = c.opset() < 11;
  float low = old ? c.number("min", -kInfinity) : -kInfinity;
  float high = old ? c.number("max", kInfinity) : kInfinity;
  if (!old && c.has(1)) low = c.scalar(1);
  if (!old && c.has(2)) high = c.scalar(2);
  if (!(low <= high) || low == kInfinity || high == -kInfinity) {
    c.refuse(fmt::format("bounds must be in ascending order, got [{},{}]", low,
                         high));
  }
  // Exporters write the largest float for no bound.
  if (low == 0 && high >= kMost) high = kInfinity;
  return clip(x, low == -kInfinity ? std::nullopt : std::optional(low),
              high == kInfinity ? std::nullopt : std::optional(high));
}

SymbolicTensor gelu_of(const Conversion& c, const SymbolicTensor& x) {
  const std::string approximate = c.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    c.refuse(fmt::format("approximate must be none or tanh, got '{}'",
                         printable(approximate)));
  }
  return gelu(x, approximate == "tanh");
}

SymbolicTensor hard_sigmoid_of(const Conversion& c, const SymbolicTensor& x) {
  const float alpha = c.number("alpha", 0.2f);
  const float beta = c.number("beta", 0.5f);
  if (is_about(alpha, 1.0 / 6) && beta == 0.5f) return hard_sigmoid(x);
  if (alpha == 0 || !std::isfinite(alpha) || !std::isfinite(beta)) {
    c.refuse(
        fmt::format("slope must be finite and not 0, and the offset "
                    "finite, got {} and {}",
                    alpha, beta));
  }
  return clip(affine(x, {alpha}, {beta}), 0.0f, 1.0f);
}

// Source: ONNX Selu-6; Klambauer et al. (2017), the values used by Keras.
SymbolicTensor selu_of(const Conversion& c, const SymbolicTensor& x) {
  const bool old = c.opset() < 6;  // defaults with fewer digits
  if (!is_about(c.number("alpha", old ? 1.6732f : 1.67326319f),
                1.67326324235437728) ||
      !is_about(c.number("gamma", old ? 1.0507f : 1.05070102f),
                1.05070098735548049)) {
    c.refuse("alpha and gamma must have their standard values");
  }
  return selu(x);
}

template <SymbolicTensor (*kFunction)(const SymbolicTensor&)>
SymbolicTensor plain(const Conversion&, const SymbolicTensor& x) {
  return kFunction(x);
}

/// For alpha 1, the only form in Keras.
template <SymbolicTensor (*kFunction)(const SymbolicTensor&)>
SymbolicTensor with_alpha_one(const Conversion& c, const SymbolicTensor& x) {
  expect_alpha_one(c);
  return kFunction(x);
}

struct Elementwise {
  std::string_view op;
  SymbolicTensor (*apply)(const Conversion& c, const SymbolicTensor& x);
};

constexpr Elementwise kElementwise[] = {
    {"Abs", plain<octet::abs>},
    {"Ceil", plain<octet::ceil>},
    {"Celu", with_alpha_one<celu>},
    {"Clip", clip_of},
    {"Cos", plain<octet::cos>},
    {"Elu",
     [](const Conversion& c, const SymbolicTensor& x) {
       return elu(x, c.number("alpha", 1));
     }},
    {"Erf", plain<octet::erf>},
    {"Exp", plain<octet::exp>},
    {"Floor", plain<octet::floor>},
    {"Gelu", gelu_of},
    {"HardSigmoid", hard_sigmoid_of},
    {"HardSwish", plain<hard_silu>},
    {"LeakyRelu",
     [](const Conversion& c, const SymbolicTensor& x) {
       return leaky_relu(x, c.number("alpha", 0.01f));
     }},
    {"Log", plain<octet::log>},
    {"Mish", plain<mish>},
    {"Neg", plain<negative>},
    {"Reciprocal", plain<reciprocal>},
    {"Relu", plain<relu>},
    {"Round", plain<octet::round>},
    {"Selu", selu_of},
    {"Sigmoid", plain<sigmoid>},
    {"Sign", plain<sign>},
    {"Sin", plain<octet::sin>},
    {"Softplus", plain<softplus>},
    {"Softsign", plain<softsign>},
    {"Sqrt", plain<octet::sqrt>},
    {"Swish", with_alpha_one<silu>},
    {"Tanh", plain<octet::tanh>},
    {"ThresholdedRelu",
     [](const Conversion& c, const SymbolicTensor& x) {
       return ReLU({.threshold = c.number("alpha", 1)})(x);
     }},
};

const Elementwise* find_elementwise(std::string_view op) {
  const auto* found = std::ranges::find(kElementwise, op, &Elementwise::op);
  return found == std::end(kElementwise) ? nullptr : found;
}

}  // namespace

bool is_elementwise(std::string_view op) {
  return find_elementwise(op) != nullptr;
}

void convert_elementwise(Conversion& c) {
  c.set_elementwise(0, [&](const SymbolicTensor& x) {
    return find_elementwise(c.op())->apply(c, x);
  });
}

bool convert_bound(Conversion& c) {
  if (c.inputs() != 2) return false;
  const int k = c.is_constant(1) ? 1 : 0;
  if (!c.is_constant(k) || c.is_constant(1 - k) || c.floats(k).size() != 1) {
    return false;
  }
  const float bound = c.scalar(k);
  if (!std::isfinite(bound)) return false;
  c.set_elementwise(1 - k, [&](const SymbolicTensor& x) {
    return c.op() == "Max" ? clip(x, bound, {}) : clip(x, {}, bound);
  });
  return true;
}

// Slopes broadcast from the input's last axis: [c,1,1] has one for each
// channel.
void convert_prelu(Conversion& c) {
  add_leading_axes(c, {0, 1});
  const ImportedValue& given = c.value(0);
  const LayerAxes axes(given);
  const Tensor slope = c.floats(1);
  if (c.opset() < 7 && slope.size() > 1 && slope.shape().rank() == 1 &&
      given.rank() > 2) {
    c.refuse(
        "slopes per channel are supported from opset 7 on, which changed "
        "broadcasting");
  }
  const Tensor alpha = aligned(c, slope, given, axes);
  const Shape sample = axes.sample();
  std::vector<int64_t> shared;
  for (int axis = 0; axis < sample.rank(); ++axis) {
    if (alpha.shape()[axis] != sample[axis]) shared.push_back(axis + 1);
  }
  c.set_output(axes.back(c.add(PReLU({.shared_axes = shared}),
                               {c.operand(axes)}, {{"alpha", alpha}})));
}

// Softmax and LogSoftmax.
void convert_softmax(Conversion& c) {
  const bool logarithm = c.op() == "LogSoftmax";
  const Dims dims = c.value(0).dims();
  const int rank = c.value(0).rank();
  const bool old = c.opset() < 13;
  const int axis = c.axis_of(c.integer("axis", old && rank > 1 ? 1 : -1), rank);
  // Before opset 13, Softmax covers all axes from `axis` on.
  if (old && std::ranges::any_of(
                 std::span(dims).subspan(static_cast<size_t>(axis) + 1),
                 [](const Dim& dim) { return !dim.is_one(); })) {
    c.set_value(0, c.value(0).with(with_merged_axes(c.value(0).layout, axis)));
  }
  const ImportedValue x = c.value(0);
  if (x.has_batch(axis)) c.refuse("axis must not be the batch axis");
  const auto function = [&](const SymbolicTensor& of, int64_t along) {
    return logarithm ? log_softmax(of, along) : octet::softmax(of, along);
  };
  const auto set_output = [&](const ImportedValue& y) {
    c.set_output(y.with(y.layout.reshaped(dims).value()));
  };
  // The result does not depend on the order of the features.
  if (x.rank() == 2 && x.samples_lead()) {
    const Operand features = c.features(0);
    const SymbolicTensor y = c.named(function(features.tensor, -1), {features});
    return set_output(value_of(y, x.layout));
  }
  // LogSoftmax layers apply to the last axis only.
  const LayerAxes axes =
      logarithm || !x.samples_lead() ? LayerAxes(x, axis) : LayerAxes(x);
  const int64_t at = axes.position(axis);
  const bool last = std::cmp_equal(at + 1, axes.order.size());
  const Operand operand = c.operand(axes);
  set_output(
      axes.back(c.named(function(operand.tensor, last ? -1 : at), {operand})));
}

}  // namespace octet::io::importing
