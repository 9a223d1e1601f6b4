// How each op is fused. Ops that are not listed run their own `forward`.
#include <algorithm>
#include <array>

#include "fusion.h"

namespace octet::inference {
namespace {

constexpr std::array kRows{
    OpRow{"constant", &Fusion::constant},
    OpRow{"input", &Fusion::input},
    // Deferred pointwise expressions.
    OpRow{"add", &Fusion::expression},
    OpRow{"batch_norm", &Fusion::expression},
    OpRow{"bias_add", &Fusion::expression},
    OpRow{"fake_quantize", &Fusion::expression},
    OpRow{"output", &Fusion::expression},  // of a layer that is called
    OpRow{"relu", &Fusion::expression},
    // Sums of products with an epilogue.
    OpRow{"conv1d", &Fusion::linear},
    OpRow{"conv2d", &Fusion::linear},
    OpRow{"conv2d_transpose", &Fusion::linear},
    OpRow{"dense", &Fusion::linear},
    OpRow{"depthwise_conv1d", &Fusion::linear},
    OpRow{"depthwise_conv2d", &Fusion::linear},
    // Functions of a value, after an expression.
    OpRow{"elu", &Fusion::activation},
    OpRow{"exponential", &Fusion::activation},
    OpRow{"gelu", &Fusion::activation},
    OpRow{"hard_sigmoid", &Fusion::activation},
    OpRow{"hard_swish", &Fusion::activation},
    OpRow{"leaky_relu", &Fusion::activation},
    OpRow{"selu", &Fusion::activation},
    OpRow{"sigmoid", &Fusion::activation},
    OpRow{"softplus", &Fusion::activation},
    OpRow{"softsign", &Fusion::activation},
    OpRow{"swish", &Fusion::activation},
    OpRow{"tanh", &Fusion::activation},
    // Others.
    OpRow{"concatenate", &Fusion::concatenation},
    OpRow{"max_pool1d", &Fusion::max_pool},
    OpRow{"max_pool2d", &Fusion::max_pool},
    OpRow{"multiply", &Fusion::product},
    OpRow{"pad1d", &Fusion::zero_padding},
    OpRow{"pad2d", &Fusion::zero_padding},
    OpRow{"reshape", &Fusion::reshape},
    OpRow{"resize2d", &Fusion::resize},
    OpRow{"slice", &Fusion::slice},
    OpRow{"upsample2d", &Fusion::resize},
};

}  // namespace

OpRow op_row(std::string_view op) {
  const auto* const row = std::ranges::find(kRows, op, &OpRow::op);
  return row == kRows.end() ? OpRow{op, &Fusion::unfused} : *row;
}

}  // namespace octet::inference
