#include "supported.h"

#include <map>
#include <string>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "../bounds.h"
#include "../schemas.h"
#include "../tensors.h"
#include "constants.h"
#include "operators.h"

namespace octet::io::run {
namespace {

// What is missing, and the first place that requires it.
using Missing = std::map<std::string, std::string>;

std::string text_of(const Missing& missing) {
  const std::string type_problem = fmt::format(
      "values must be float32, float16, bfloat16, int8, uint8, int32, int64 or "
      "bool, got {}",
      text_of(types));
  if (operators.empty()) {
    throw UnsupportedError("unsupported_type", "ONNX model", type_problem);
  }
  throw UnsupportedError(
      "unsupported_operator", "ONNX model",
      fmt::format("operators are not supported: {}{}", text_of(operators),
                  types.empty() ? "" : "; " + type_problem));
}

}  // namespace octet::io::run
