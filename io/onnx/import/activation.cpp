// Activation functions, and Softmax.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/clip_by_value.h>
#include <octet/layers/elu.h>
#include <octet/layers/leaky_relu.h>
#include <octet/layers/prelu.h>
#include <octet/layers/relu.h>
#include <octet/layers/rescaling.h>
#include <octet/layers/softmax.h>
#include <octet/runtime/error.h>
#include <octet/runtime/printable.h>

#include "converters.h"

namespace octet::io::importing {
namespace {

/// An elementwise layer, which is independent of the axis order.
void pointwise(Conversion& c, const LayerHandle& layer) {
  View y = c.view(0);
  y.tensor = c.add(layer, {c.as_it_lies(0)});
  c.set_output(std::move(y));
}

void activation(Conversion& c, const char* name) {
  pointwise(c, Activation({.activation = name}));
}

/// Whether a float32 equals a rounded decimal number.
bool is_about(float value, double expected) {
  return std::abs(static_cast<double>(value) - expected) <=
         1e-6 * std::max(1.0, std::abs(expected));
}

void clip(Conversion& c, float low, float high) {
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (low == 0 && high > 0) {
    // Exporters write the largest float for no bound.
    return pointwise(c, ReLU({.max_value = high >= kMost ? kInfinity : high}));
  }
  if (!(low <= high) || low == kInfinity || high == -kInfinity) {
    c.refuse(fmt::format("bounds must be in ascending order, got [{},{}]", low,
                         high));
  }
  ClipByValueOptions bounds;
  if (low != -kInfinity) bounds.min = low;
  if (high != kInfinity) bounds.max = high;
  pointwise(c, ClipByValue(bounds));
}

}  // namespace

bool convert_bound(Conversion& c) {
  if (c.inputs() != 2) return false;
  const int k = c.is_constant(1) ? 1 : 0;
  if (!c.is_constant(k) || c.is_constant(1 - k) || c.floats(k).size() != 1) {
    return false;
  }
  const float bound = c.scalar(k);
  if (!std::isfinite(bound)) return false;
  View y = c.view(1 - k);
  const bool least = c.op() == "Max";
  const auto layer = [&]() -> LayerHandle {
    if (least && bound == 0) return ReLU();
    return least ? ClipByValue({.min = bound}) : ClipByValue({.max = bound});
  };
  y.tensor = c.add(layer(), {c.as_it_lies(1 - k)});
  c.set_output(std::move(y));
  return true;
}

void convert_activation(Conversion& c) {
  struct Name {
    const char* op;
    const char* activation;
  };
  constexpr std::array<Name, 8> kNames{{{"Exp", "exponential"},
                                        {"HardSwish", "hard_swish"},
                                        {"Mish", "mish"},
                                        {"Relu", "relu"},
                                        {"Sigmoid", "sigmoid"},
                                        {"Softplus", "softplus"},
                                        {"Softsign", "softsign"},
                                        {"Tanh", "tanh"}}};
  const auto found = std::ranges::find_if(
      kNames, [&](const Name& name) { return c.op() == name.op; });
  if (c.op() == "Relu") return pointwise(c, ReLU());
  activation(c, found->activation);
}

void convert_clip(Conversion& c) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float low = -kInfinity;
  float high = kInfinity;
  if (c.opset() < 11) {
    low = c.number("min", low);
    high = c.number("max", high);
  } else {
    if (c.has(1)) low = c.scalar(1);
    if (c.has(2)) high = c.scalar(2);
  }
  clip(c, low, high);
}

// elu(x) for alpha 1, the only form in Keras.
void convert_celu(Conversion& c) {
  if (c.number("alpha", 1) != 1) c.refuse("alpha must be 1");
  activation(c, "celu");
}

void convert_elu(Conversion& c) {
  pointwise(c, ELU({.alpha = c.number("alpha", 1)}));
}

void convert_gelu(Conversion& c) {
  const std::string approximate = c.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    c.refuse(fmt::format("approximate must be none or tanh, got '{}'",
                         printable(approximate)));
  }
  activation(c, approximate == "none" ? "gelu" : "gelu_tanh");
}

void convert_hard_sigmoid(Conversion& c) {
  const float alpha = c.number("alpha", 0.2f);
  const float beta = c.number("beta", 0.5f);
  if (is_about(alpha, 1.0 / 6) && beta == 0.5f) {
    return activation(c, "hard_sigmoid");
  }
  if (alpha == 0 || !std::isfinite(alpha) || !std::isfinite(beta)) {
    c.refuse(
        fmt::format("slope must be finite and not 0, and the offset "
                    "finite, got {} and {}",
                    alpha, beta));
  }
  View y = c.view(0);
  const SymbolicTensor line =
      c.add(Rescaling({.scale = {alpha}, .offset = {beta}}), {c.as_it_lies(0)},
            {}, "/slope");
  y.tensor = c.add(ReLU({.max_value = 1}), {{line}});
  c.set_output(std::move(y));
}

void convert_leaky_relu(Conversion& c) {
  pointwise(c, LeakyReLU({.negative_slope = c.number("alpha", 0.01f)}));
}

// Slopes broadcast from the input's last axis: [c,1,1] has one for each
// channel.
void convert_prelu(Conversion& c) {
  const View view = c.view(0);
  const std::vector<int> order = natural_order(view);
  const Operand x = c.operand(0, order);
  const Tensor slope = c.floats(1);
  const int rank = view.rank();
  if (c.opset() < 7 && slope.size() > 1 && slope.shape().rank() == 1 &&
      rank > 2) {
    c.refuse(
        "slopes per channel are supported from opset 7 on, which changed "
        "broadcasting");
  }
  if (slope.shape().rank() > rank) {
    c.refuse(fmt::format("slopes {} do not fit {}", slope.shape().to_string(),
                         importing::text_of(view)));
  }
  std::vector<int64_t> dims(static_cast<size_t>(rank - slope.shape().rank()),
                            1);
  dims.insert(dims.end(), slope.shape().dims().begin(),
              slope.shape().dims().end());
  const Tensor alpha =
      slope.reshaped(Shape(std::span<const int64_t>(dims))).transposed(order);
  if (alpha.shape()[0] != 1) {
    c.refuse("slopes must be the same for all samples");
  }
  std::vector<int64_t> shared;
  for (int axis = 1; axis < rank; ++axis) {
    if (alpha.shape()[axis] != x.tensor.shape()[axis]) shared.push_back(axis);
    if (alpha.shape()[axis] != 1 &&
        alpha.shape()[axis] != x.tensor.shape()[axis]) {
      c.refuse(fmt::format("slopes {} do not fit {}", slope.shape().to_string(),
                           importing::text_of(view)));
    }
  }
  const SymbolicTensor y =
      c.add(PReLU({.shared_axes = shared}), {x},
            {{"alpha", alpha.reshaped(alpha.shape().slice(1, rank))}});
  c.set_output(view_of(y, order));
}

// Source: ONNX Selu-6; Klambauer et al. (2017), the values used by Keras.
void convert_selu(Conversion& c) {
  const bool old = c.opset() < 6;  // defaults with fewer digits
  if (!is_about(c.number("alpha", old ? 1.6732f : 1.67326319f),
                1.67326324235437728) ||
      !is_about(c.number("gamma", old ? 1.0507f : 1.05070102f),
                1.05070098735548049)) {
    c.refuse("alpha and gamma must have their standard values");
  }
  activation(c, "selu");
}

// Softmax and LogSoftmax.
void convert_softmax(Conversion& c) {
  const bool logarithm = c.op() == "LogSoftmax";
  const View view = c.view(0);
  const int rank = view.rank();
  const bool old = c.opset() < 13;
  const int axis = c.axis_of(c.integer("axis", old ? 1 : -1), rank);
  if (std::cmp_equal(axis, view.batch())) {
    c.refuse("axis must not be the batch axis");
  }
  // Before opset 13, Softmax covers all axes from `axis` on.
  for (int behind = axis + 1; old && behind < rank; ++behind) {
    if (sizes_of(view)[static_cast<size_t>(behind)] != 1) {
      c.refuse(
          fmt::format("axis must be the last one before opset 13, got {} of {}",
                      axis, importing::text_of(view)));
    }
  }
  // The result does not depend on the order of the features.
  if (rank == 2 && view.samples_lead()) {
    View y = view;
    y.tensor = logarithm ? c.add(Activation("log_softmax"), {c.features(0)})
                         : c.add(Softmax(), {c.features(0)});
    return c.set_output(std::move(y));
  }
  // LogSoftmax layers apply to the last axis only, and Softmax needs a leading
  // batch axis.
  if (logarithm || !view.samples_lead()) {
    const RowLayout rows(view, axis);
    const Operand x = c.operand(0, rows);
    return c.set_output(rows.back(logarithm
                                      ? c.add(Activation("log_softmax"), {x})
                                      : c.add(Softmax(), {x})));
  }
  const std::vector<int> order = natural_order(view);
  const auto at = std::ranges::find(order, axis) - order.begin();
  const SymbolicTensor y =
      c.add(Softmax({.axis = at == rank - 1 ? -1 : at}), {c.operand(0, order)});
  c.set_output(view_of(y, order));
}

void convert_thresholded_relu(Conversion& c) {
  pointwise(c, ReLU({.threshold = c.number("alpha", 1)}));
}

// x * sigmoid(alpha * x), since opset 24.
void convert_swish(Conversion& c) {
  if (c.number("alpha", 1) != 1) c.refuse("alpha must be 1");
  activation(c, "silu");
}

}  // namespace octet::io::importing
