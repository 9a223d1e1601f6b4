// Checked access to onnx::TensorProto and type fields of untrusted files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>

#include "printable.h"

namespace octet::io {

/// "float32", "int8", ...; "type 99" for unknown numbers.
std::string type_name(int32_t data_type);

/// Throws: UnsupportedError for the types added after bfloat16 except
/// float8e4m3fn: other float8 and types of 4 or 2 bits. `subject` is the
/// subject of the error.
void check_type_number(int64_t data_type, const std::string& subject);

/// "[64,1,3,3]".
std::string dims_text(std::span<const int64_t> dims);
std::string dims_text(const onnx::TensorProto& tensor);

/// Returns the shape of a tensor type; nothing for others. Names are printable.
OnnxShape shape_of(const onnx::TypeProto& type);
OnnxShape shape_of(const onnx::TensorProto& tensor);

/// Returns the size of a tensor's raw_data, from its type and dimensions.
/// Throws: FormatError for invalid types and dimensions, and for strings.
int64_t raw_bytes(const onnx::TensorProto& tensor, const std::string& subject);

/// Checks that a tensor's data matches its type and dimensions and is not
/// external. `subject` is the subject of the error. Throws: FormatError.
void check_tensor(const onnx::TensorProto& tensor, const std::string& subject);

bool is_float(const onnx::TensorProto& tensor);
/// REQUIRES: check_tensor() has passed.
int64_t element_count(const onnx::TensorProto& tensor);
/// Returns the elements of a float32, float16, bfloat16 or float8e4m3fn tensor.
/// REQUIRES: check_tensor() has passed, and the tensor has one of these types.
std::vector<float> float_values(const onnx::TensorProto& tensor);
/// Converts a float64 tensor to float32, rounding to nearest.
/// REQUIRES: check_tensor() has passed.
onnx::TensorProto as_float32(const onnx::TensorProto& tensor);

}  // namespace octet::io
