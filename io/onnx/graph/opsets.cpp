#include "opsets.h"

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "operator_traits.h"

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

int axes_as_input_since(std::string_view op_type) {
  const bool reduces = traits_of(op_type).axes == AxisRole::reduction;
  return reduces && op_type != "ReduceSum" ? 18 : 13;
}

bool takes_axes_as_input(std::string_view op_type, int opset) {
  const int since = axes_as_input_since(op_type);
  return since > kFirstOpsetWritten && opset >= since;
}

}  // namespace octet::io
