// Target: the runtime that executes an exported file.
#pragma once

#include <string_view>

#include <octet/runtime/detail/language.h>

namespace octet::io {

/// The runtime that executes a file. Export writes files for it, lint checks
/// files for it, drawings forecast its precisions.
enum class Target {
  tensorrt8,     ///< 8.4 to 8.6
  tensorrt10,    ///< 10.x
  tensorrt11,    ///< 11.x
  tensorrt_rtx,  ///< TensorRT for RTX 1.x
  onnxruntime,   ///< on x86 processors
  openvino,      ///< on x86 processors
  any,           ///< what all of them support; for export only
};

/// Returns the name of a target: "tensorrt10".
/// Throws: ValueError for a value outside the enumeration.
std::string_view to_string(Target target);
/// Returns the target of a name.
/// Throws: ValueError, with similar names, for an unknown name.
Target target_named(std::string_view name);

}  // namespace octet::io
