// Runs ONNX models from text.
#pragma once

#include <string>
#include <vector>

#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>

#include "onnx_models.h"
#include "support.h"

namespace octet::io {

inline OnnxReference to_run(const onnx::ModelProto& model) {
  return onnx_reference_from_bytes(model.SerializeAsString());
}

/// `nodes` is the body of a graph, `ends` its inputs and outputs: "(float[N] x)
/// => (float[N] y)".
inline OnnxReference to_run(const std::string& ends, const std::string& nodes,
                            int64_t opset = 13) {
  onnx::ModelProto model = model_of("g " + ends + " {\n" + nodes + "\n}");
  model.mutable_opset_import(0)->set_version(opset);
  model.set_ir_version(opset < 15 ? 7 : 8);
  return to_run(model);
}

inline Tensor numbers(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, values);
}
inline Tensor numbers(const std::vector<float>& values) {
  return numbers(Shape{static_cast<int64_t>(values.size())}, values);
}
inline Tensor integers(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())},
                             values);
}

inline std::vector<float> values_of(const Tensor& tensor) {
  return {tensor.f32().begin(), tensor.f32().end()};
}

/// Returns the message of the FormatError from running the node.
inline Failure refusal(const OnnxReference& model,
                       const std::vector<Tensor>& inputs) {
  return failure_of<FormatError>([&] { model.predict(inputs); });
}

}  // namespace octet::io
