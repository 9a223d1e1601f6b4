// Edits of .tflite files.
#pragma once

#include <functional>
#include <string>

#include "tflite/schema/schema.h"

namespace octet::io {

/// Returns the file after a change.
inline std::string edited(
    const std::string& bytes,
    const std::function<void(tflite::schema::ModelT&)>& change) {
  const auto model = tflite::schema::UnPackModel(bytes.data());
  change(*model);
  flatbuffers::FlatBufferBuilder file;
  file.Finish(tflite::schema::Model::Pack(file, model.get()),
              tflite::schema::ModelIdentifier());
  return {reinterpret_cast<const char*>(file.GetBufferPointer()),
          file.GetSize()};
}

/// Returns the first operator with a code.
inline tflite::schema::OperatorT& operator_of(tflite::schema::ModelT& model,
                                              tflite::schema::Op code) {
  for (const auto& op : model.subgraphs[0]->operators) {
    if (model.operator_codes[op->opcode_index]->builtin_code == code) {
      return *op;
    }
  }
  throw std::runtime_error("no such operator");
}

/// Returns an input of an operator.
inline tflite::schema::TensorT& input_of(tflite::schema::ModelT& model,
                                         const tflite::schema::OperatorT& op,
                                         size_t i) {
  return *model.subgraphs[0]->tensors[static_cast<size_t>(op.inputs[i])];
}
inline tflite::schema::TensorT& output_of(tflite::schema::ModelT& model,
                                          const tflite::schema::OperatorT& op) {
  return *model.subgraphs[0]->tensors[static_cast<size_t>(op.outputs[0])];
}

}  // namespace octet::io
