// The tensors that a file holds, as Octet's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <onnx/onnx_pb.h>

#include <octet/runtime/tensor.h>

namespace octet::io::run {

/// The type that holds a number of onnx::TensorProto::DataType: float32 also
/// for float16 and bfloat16 (precision.h); nothing for those that Octet lacks.
std::optional<DType> dtype_of(int32_t data_type);
/// "float32", as ONNX calls it.
std::string type_name(DType type);

/// A copy. REQUIRES: check_tensor() has passed and dtype_of() has the type.
/// Throws: UnsupportedError for more dimensions than a Shape has.
Tensor constant(const onnx::TensorProto& tensor);

/// Whether a Constant node has a value that Octet takes: no sparse tensor, no
/// strings and no other type.
bool has_constant(const onnx::NodeProto& node);
/// That value. REQUIRES: has_constant(node).
Tensor constant(const onnx::NodeProto& node);

}  // namespace octet::io::run
