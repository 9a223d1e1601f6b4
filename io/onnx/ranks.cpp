#include "ranks.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace octet::io::rules {
namespace {

constexpr int kAnyRank = 1 << 20;
constexpr int kAllInputs = -1;

struct RankRule {
  std::string_view op;
  int input;  // or kAllInputs
  int least;
  int most = kAnyRank;
};

// Source: onnx, docs/Operators.md. ONNX Runtime also accepts scalars as lists
// of one axis.
constexpr RankRule kRules[] = {
    {"AveragePool", 0, 2},
    {"BatchNormalization", 0, 1},
    {"BatchNormalization", 1, 1, 1},
    {"BatchNormalization", 2, 1, 1},
    {"BatchNormalization", 3, 1, 1},
    {"BatchNormalization", 4, 1, 1},
    {"Concat", kAllInputs, 1},
    {"ConstantOfShape", 0, 1, 1},
    {"Conv", 0, 2},
    {"Conv", 1, 2},
    {"Conv", 2, 1, 1},
    {"ConvInteger", 0, 2},
    {"ConvInteger", 1, 2},
    {"ConvTranspose", 0, 2},
    {"ConvTranspose", 1, 2},
    {"ConvTranspose", 2, 1, 1},
    {"DepthToSpace", 0, 4, 4},
    {"Expand", 1, 1, 1},
    {"EyeLike", 0, 2, 2},
    {"Gather", 0, 1},
    {"GatherElements", 0, 1},
    {"GatherElements", 1, 1},
    {"GatherND", 0, 1},
    {"GatherND", 1, 1},
    {"Gemm", 0, 2, 2},
    {"Gemm", 1, 2, 2},
    {"Gemm", 2, 0, 2},
    {"GlobalAveragePool", 0, 2},
    {"GlobalMaxPool", 0, 2},
    {"InstanceNormalization", 0, 2},
    {"InstanceNormalization", 1, 1, 1},
    {"InstanceNormalization", 2, 1, 1},
    {"LRN", 0, 2},
    {"LayerNormalization", 0, 1},
    {"MatMul", 0, 1},
    {"MatMul", 1, 1},
    {"MatMulInteger", 0, 1},
    {"MatMulInteger", 1, 1},
    {"MaxPool", 0, 2},
    {"OneHot", 1, 0, 1},
    {"OneHot", 2, 1, 1},
    {"Pad", 1, 1, 2},
    {"QLinearConv", 0, 2},
    {"QLinearConv", 3, 2},
    {"QLinearMatMul", 0, 1},
    {"QLinearMatMul", 3, 1},
    {"Reshape", 1, 1, 1},
    {"ScatterElements", 0, 1},
    {"ScatterElements", 1, 1},
    {"ScatterElements", 2, 1},
    {"ScatterND", 0, 1},
    {"ScatterND", 1, 1},
    {"Slice", 1, 1, 1},
    {"Slice", 2, 1, 1},
    {"Slice", 3, 1, 1},
    {"Slice", 4, 1, 1},
    {"SpaceToDepth", 0, 4, 4},
    {"Split", 0, 1},
    {"Split", 1, 0, 1},
    {"Squeeze", 1, 0, 1},
    {"TopK", 0, 1},
    {"TopK", 1, 0, 1},
    {"Trilu", 0, 2},
    {"Unsqueeze", 1, 0, 1},
};

std::string ranks_text(const RankRule& rule) {
  if (rule.most == kAnyRank) return "at least " + std::to_string(rule.least);
  if (rule.most == rule.least) return std::to_string(rule.least);
  return std::to_string(rule.least) + " to " + std::to_string(rule.most);
}

void check_rank(Context& c, const RankRule& rule, size_t input) {
  if (!onnx::hasInputShape(c, input)) return;
  const int rank = onnx::getInputShape(c, input).dim_size();
  if (rank >= rule.least && rank <= rule.most) return;
  fail_shape_inference("input ", input, " must have rank ", ranks_text(rule),
                       ", got rank ", rank);
}

}  // namespace

onnx::InferenceFunction rank_check(const std::string& op) {
  std::vector<RankRule> rules;
  for (const RankRule& rule : kRules) {
    if (rule.op == op) rules.push_back(rule);
  }
  if (rules.empty()) return {};
  return [rules](Context& c) {
    for (const RankRule& rule : rules) {
      if (rule.input != kAllInputs) {
        check_rank(c, rule, static_cast<size_t>(rule.input));
        continue;
      }
      for (size_t i = 0; i < c.getNumInputs(); ++i) check_rank(c, rule, i);
    }
  };
}

}  // namespace octet::io::rules
