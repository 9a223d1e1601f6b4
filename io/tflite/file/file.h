// Loads and checks .tflite files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tflite/schema/schema.h"

namespace octet::io::tflite {

/// Parses a file and checks properties beyond FlatBuffers' verifier: a single
/// graph, indices of tensors, buffers and operators in range, operators in
/// topological order, sizes of constants, quantization parameters that fit.
/// Throws: FormatError; UnsupportedError for several graphs and for constants
/// behind the FlatBuffer.
std::shared_ptr<const schema::ModelT> parse_tflite(const std::string& bytes);

/// Returns the operator code, of old files too.
schema::Op op_of(const schema::ModelT& model, const schema::OperatorT& op);
/// Returns the public name: "CONV_2D"; "operator 150" for one that Octet does
/// not know.
std::string name_of(schema::Op op);
/// Returns the name of an element type: "INT8"; "type 30" for an unknown one.
std::string name_of(schema::TensorType type);
/// Returns the bytes per element; 0 for types that Octet does not read.
int64_t element_size(schema::TensorType type);
/// Returns the constant data of a tensor; empty for activations.
std::string_view constant_of(const schema::ModelT& model,
                             const schema::TensorT& tensor);

}  // namespace octet::io::tflite
