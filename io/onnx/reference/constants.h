// Conversion of a file's tensors to Octet's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <onnx/onnx_pb.h>

#include <octet/runtime/tensor.h>

namespace octet::io::run {

/// Returns the type for an onnx::TensorProto::DataType: float32 also for
/// float16 and bfloat16 (see precision.h) and for float8e4m3fn, whose values
/// only Q and DQ produce and consume; nothing for unsupported types.
std::optional<DType> dtype_of(int32_t data_type);
/// Returns the onnx::TensorProto::DataType of a type.
int32_t onnx_type_of(DType type);
/// Returns the name in ONNX: "float32".
std::string type_name(DType type);

/// Copies a tensor. REQUIRES: check_tensor() has passed and dtype_of() supports
/// the type. Throws: UnsupportedError for more dimensions than a Shape has.
Tensor constant(const onnx::TensorProto& tensor);

/// Whether a Constant node has a value of a supported type: no sparse tensor or
/// strings.
bool has_constant(const onnx::NodeProto& node);
/// Returns that value. REQUIRES: has_constant(node).
Tensor constant(const onnx::NodeProto& node);

}  // namespace octet::io::run
