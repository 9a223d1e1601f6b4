#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "fake_quantize_format.h"
#include "weights.h"

namespace octet {
namespace {

void check(const Shape& shape, const QuantParams& qparams) {
  if (qparams.empty()) {
    throw ValueError("missing_value", "fake_quantize",
                     "the quantization parameters have no scale");
  }
  constexpr int kMostCode = 1 << 22;  // rounding of floats is exact up to here
  if (qparams.low > qparams.high || qparams.low < -kMostCode ||
      qparams.high > kMostCode) {
    throw ValueError("out_of_range", "fake_quantize",
                     fmt::format("low must not exceed high, and both must be "
                                 "within +-2^22, got [{},{}]",
                                 qparams.low, qparams.high));
  }
  for (const float s : std::as_const(qparams.scale).f32()) {
    if (!(s > 0) || std::isinf(s)) {
      throw ValueError(
          "out_of_range", "fake_quantize",
          fmt::format("scales must be finite and positive, got {}", s));
    }
  }
  if (qparams.format != NumberFormat::integer) {
    const int largest = largest_value(qparams.format);
    if (qparams.low != -largest || qparams.high != largest) {
      throw ValueError("out_of_range", "fake_quantize",
                       fmt::format("the range of {} is [{},{}], got [{},{}]",
                                   to_string(qparams.format), -largest, largest,
                                   qparams.low, qparams.high));
    }
  }
  (void)ElementScales(shape, qparams);  // throws if the scales do not fit
}

// Whether calls with equal parameters return the same node: its consumers then
// share a gradient, masked once. Not for leaves, which may be written in
// between, nor in eager mode.
bool shares(const autograd::Node& x) {
  return grad_enabled() && !autograd::eager() &&
         dynamic_cast<const autograd::Leaf*>(&x) == nullptr;
}

// The node of an earlier call with equal parameters, or null.
autograd::NodePtr made_before(autograd::Node& x, const QuantParams& qparams,
                              StraightThrough mode) {
  autograd::NodePtr node = x.quantized.lock();
  if (node == nullptr || node->released) return nullptr;
  const autograd::Expression* e = node->expression();
  const bool same = e != nullptr && e->scale.node == nullptr &&
                    e->clipped_gradient == (mode == StraightThrough::clipped) &&
                    same_qparams(e->qparams, qparams);
  return same ? node : nullptr;
}

Variable fake_quantize_with(const Variable& x, const QuantParams& given,
                            StraightThrough mode, const LearnedScale& learned) {
  check(x.shape(), given);
  QuantParams qparams = given;
  qparams.scale = given.scale.clone();  // the caller may write its scale later
  if (!qparams.plain_integer() || learned.offset) {
    return fake_quantize_format(x, qparams, mode, learned);
  }
  if (qparams.per_channel()) {
    auto node =
        std::make_shared<ChannelQuantizeNode>(x, qparams, mode, learned);
    if (autograd::eager()) autograd::value_of(*node);
    return Variable(std::move(node));
  }
  const bool shared = !learned.scale && shares(*x.node());
  if (shared) {
    if (autograd::NodePtr node = made_before(*x.node(), qparams, mode)) {
      return Variable(std::move(node));
    }
  }
  autograd::Expression e = autograd::extendable(x);
  e.qparams = qparams;
  e.clipped_gradient = mode == StraightThrough::clipped;
  if (learned.scale) {
    e.scale = scale_target(learned);
  }
  Variable y = autograd::wrap("fake_quantize", std::move(e));
  if (shared) x.node()->quantized = y.node();
  return y;
}

}  // namespace

Variable fake_quantize(const Variable& x, const QuantParams& qparams,
                       StraightThrough mode) {
  return fake_quantize_with(x, qparams, mode, {});
}

autograd::ScaleTarget scale_target(const LearnedScale& learned) {
  return {.node = learned.scale.node().get(),
          .factor = learned.gradient_factor,
          .log2 = learned.log2,
          .between = learned.slope == ScaleSlope::rounding ? 1.0f : 0.0f};
}

Variable fake_quantize(const Variable& x, const LearnedScale& learned,
                       const QuantParams& given, StraightThrough mode) {
  if (!given.empty()) {
    throw ValueError("conflicting_options", "fake_quantize",
                     "the quantization parameters must have no scale beside a "
                     "trainable scale");
  }
  const bool affine = static_cast<bool>(learned.offset);
  if (affine && (learned.log2 || learned.slope == ScaleSlope::none ||
                 !given.plain_integer())) {
    throw ValueError("conflicting_options", "fake_quantize",
                     "an offset requires integers, a scale that is no "
                     "logarithm, and ScaleSlope::rounding");
  }
  if (!std::isfinite(learned.gradient_factor)) {
    throw ValueError("not_finite", "fake_quantize",
                     fmt::format("gradient_factor must be finite, got {}",
                                 learned.gradient_factor));
  }
  QuantParams qparams = given;
  qparams.scale = learned.log2 ? scales_of_log2(learned.scale.value())
                               : learned.scale.value();
  return fake_quantize_with(x, qparams, mode, learned);
}

}  // namespace octet
