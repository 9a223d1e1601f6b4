// The error of a rejected import.
#pragma once

#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/runtime/error.h>

#include "support.h"

namespace octet::io {

inline Failure import_refusal(const onnx::ModelProto& model,
                              const OnnxImportOptions& options = {}) {
  return failure_of<UnsupportedError>(
      [&] { (void)from_onnx(model.SerializeAsString(), options); });
}

}  // namespace octet::io
