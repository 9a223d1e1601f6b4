// Reading onnx::TensorProto and type fields without trusting them.
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

/// "float32", "int8", ...; "type 99" for a number ONNX does not know.
std::string type_name(int32_t data_type);

/// Throws: UnsupportedError for a type that came after float16 and its peers:
/// of 8, 4 or 2 bits. `what` names the place.
void check_type_number(int64_t data_type, const std::string& what);

/// "[64,1,3,3]".
std::string dims_text(std::span<const int64_t> dims);
std::string dims_text(const onnx::TensorProto& tensor);

/// Of a tensor type; nothing for others. Names are printable.
OnnxShape shape_of(const onnx::TypeProto& type);
OnnxShape shape_of(const onnx::TensorProto& tensor);

/// Bytes of a tensor's elements in raw_data, from its type and dimensions.
/// Throws: FormatError for those that cannot be, and for strings.
int64_t raw_bytes(const onnx::TensorProto& tensor, const std::string& what);

/// Refuses a tensor whose data is not what its type and dimensions say, or
/// lies in another file. `what` names it in messages. Throws: FormatError.
void check_tensor(const onnx::TensorProto& tensor, const std::string& what);

bool is_float(const onnx::TensorProto& tensor);
/// REQUIRES: check_tensor() has passed.
int64_t element_count(const onnx::TensorProto& tensor);
/// The elements of a tensor of float32, float16 or bfloat16.
/// REQUIRES: the same, and is_float(tensor).
std::vector<float> float_values(const onnx::TensorProto& tensor);

}  // namespace octet::io
