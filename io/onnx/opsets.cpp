#include "opsets.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io {

void check_opset(int opset) {
  if (opset >= kFirstOpsetWritten && opset <= kLastOpsetWritten) return;
  throw ValueError("out_of_range", "ONNX opset",
                   fmt::format("must be from {} to {}, got {}. Hint: every "
                               "TensorRT since 8.0 supports opset {}",
                               kFirstOpsetWritten, kLastOpsetWritten, opset,
                               kFirstOpsetWritten));
}

int ir_version_of(int opset) {
  if (opset <= 14) return 7;
  if (opset <= 18) return 8;
  return opset <= 20 ? 9 : 10;
}

bool takes_axes_as_input(std::string_view op_type, int opset) {
  // ReduceSum changed in opset 13.
  constexpr std::array<std::string_view, 9> kSince18 = {
      "ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
      "ReduceMean", "ReduceMin", "ReduceProd",   "ReduceSumSquare"};
  return opset >= 18 && std::ranges::find(kSince18, op_type) != kSince18.end();
}

}  // namespace octet::io
