#include "operator_traits.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace octet::io {
namespace {

constexpr auto kOther = AxisRole::other;
constexpr auto kPointwise = AxisRole::pointwise;
constexpr auto kChannelsFirst = AxisRole::channels_first;
using F = quant::FusionKind;

/// Pointwise operators without fusion kind or limits of ranks.
constexpr std::array<std::string_view, 35> kPlainPointwise = {
    "Abs",     "Acos",
    "Acosh",   "And",
    "Asin",    "Asinh",
    "Atan",    "Atanh",
    "Cast",    "Ceil",
    "Celu",    "Cos",
    "Cosh",    "Div",
    "Equal",   "Floor",
    "Greater", "GreaterOrEqual",
    "IsInf",   "IsNaN",
    "Less",    "LessOrEqual",
    "Mean",    "Mod",
    "Neg",     "Not",
    "Or",      "Reciprocal",
    "Round",   "Sign",
    "Sin",     "Sinh",
    "Tan",     "ThresholdedRelu",
    "Where"};

constexpr std::array<std::string_view, 10> kReductions = {
    "ReduceL1",  "ReduceL2",       "ReduceLogSum", "ReduceLogSumExp",
    "ReduceMax", "ReduceMean",     "ReduceMin",    "ReduceProd",
    "ReduceSum", "ReduceSumSquare"};

// The others, by name. Source of the ranks: onnx, docs/Operators.md; ONNX
// Runtime also accepts scalars as lists of one axis.
constexpr OperatorTraits kTraits[] = {
    {"Add", kPointwise, F::add},
    {"Attention", kOther, F::floating},
    {"AveragePool", kChannelsFirst, F::average_pool, "2+"},
    {"BatchNormalization", kOther, F::normalization, "1+ 1 1 1 1"},
    {"Clip", kOther, F::activation},
    {"Concat", kOther, F::concatenation, "1+..."},
    {"ConstantOfShape", kOther, F::other, "1"},
    {"Conv", kChannelsFirst, F::linear, "2+ 2+ 1"},
    {"ConvInteger", kOther, F::other, "2+ 2+"},
    {"ConvTranspose", kChannelsFirst, F::linear, "2+ 2+ 1"},
    {"DepthToSpace", kOther, F::other, "4"},
    {"Elu", kPointwise, F::activation},
    {"Erf", kPointwise, F::floating},
    {"Exp", kPointwise, F::floating},
    {"Expand", kOther, F::other, "* 1"},
    {"EyeLike", kOther, F::other, "2"},
    {"Flatten", kOther, F::movement},
    {"GRU", kOther, F::floating, "3 3 3 2 1 3"},
    {"Gather", kOther, F::other, "1+"},
    {"GatherElements", kOther, F::other, "1+ 1+"},
    {"GatherND", kOther, F::other, "1+ 1+"},
    {"Gelu", kPointwise, F::function},
    {"Gemm", kOther, F::linear, "2 2 0-2"},
    {"GlobalAveragePool", kChannelsFirst, F::average_pool, "2+"},
    {"GlobalMaxPool", kChannelsFirst, F::movement, "2+"},
    {"GridSample", kOther, F::other, "4-5 4-5"},
    {"GroupNormalization", kChannelsFirst, F::floating},
    {"HardSigmoid", kPointwise, F::gate},
    {"HardSwish", kPointwise, F::activation},
    {"Identity", kPointwise, F::movement},
    {"InstanceNormalization", kChannelsFirst, F::floating, "2+ 1 1"},
    {"LRN", kChannelsFirst, F::other, "2+"},
    {"LSTM", kOther, F::floating, "3 3 3 2 1 3 3 2"},
    {"LayerNormalization", kOther, F::floating, "1+"},
    {"LeakyRelu", kPointwise, F::activation},
    {"Log", kPointwise, F::floating},
    {"LogSoftmax", kOther, F::floating},
    {"MatMul", kOther, F::linear, "1+ 1+"},
    {"MatMulInteger", kOther, F::other, "1+ 1+"},
    {"Max", kPointwise, F::merge},
    {"MaxPool", kChannelsFirst, F::movement, "2+"},
    {"Min", kPointwise, F::merge},
    {"Mish", kPointwise, F::activation},
    {"Mul", kPointwise, F::multiply},
    {"OneHot", kOther, F::other, "* 0-1 1"},
    {"PRelu", kPointwise, F::activation},
    {"Pad", kOther, F::other, "* 1-2"},
    {"Pow", kPointwise, F::floating},
    {"QLinearConv", kOther, F::other, "2+ * * 2+"},
    {"QLinearMatMul", kOther, F::other, "1+ * * 1+"},
    {"RMSNormalization", kOther, F::floating},
    {"RNN", kOther, F::floating, "3 3 3 2 1 3"},
    {"Relu", kPointwise, F::activation},
    {"Reshape", kOther, F::movement, "* 1"},
    {"Resize", kChannelsFirst},
    {"ScatterElements", kOther, F::other, "1+ 1+ 1+"},
    {"ScatterND", kOther, F::other, "1+ 1+"},
    {"Selu", kPointwise, F::activation},
    {"Sigmoid", kPointwise, F::gate},
    {"Slice", kOther, F::other, "* 1 1 1 1"},
    {"Softmax", kOther, F::floating},
    {"Softplus", kPointwise, F::function},
    {"Softsign", kPointwise, F::activation},
    {"SpaceToDepth", kOther, F::other, "4"},
    {"Split", kOther, F::other, "1+ 0-1"},
    {"Sqrt", kPointwise, F::floating},
    {"Squeeze", kOther, F::movement, "* 0-1"},
    {"Sub", kPointwise, F::merge},
    {"Sum", kPointwise, F::merge},
    {"Swish", kOther, F::activation},
    {"Tanh", kPointwise, F::function},
    {"TopK", kOther, F::other, "1+ 0-1"},
    {"Transpose", kOther, F::movement},
    {"Trilu", kOther, F::other, "2+"},
    {"Unsqueeze", kOther, F::movement, "* 0-1"},
    {"Xor", kPointwise}};

}  // namespace

std::span<const std::string_view> reductions() { return kReductions; }

const OperatorTraits& traits_of(std::string_view op) {
  static constexpr OperatorTraits kNone;
  static constexpr OperatorTraits kPlain{"", kPointwise};
  static constexpr OperatorTraits kReduction{"", AxisRole::reduction};
  if (std::ranges::binary_search(kPlainPointwise, op)) return kPlain;
  if (std::ranges::binary_search(kReductions, op)) return kReduction;
  const auto* found =
      std::ranges::lower_bound(kTraits, op, {}, &OperatorTraits::name);
  return found == std::end(kTraits) || found->name != op ? kNone : *found;
}

}  // namespace octet::io
