// Fences around the shape inference of onnx 1.12.
#include <algorithm>
#include <cstdint>
#include <string>

#include "rules.h"

namespace octet::io::rules {
namespace {

constexpr int kFirstSafeGemm = 7;

// The input that holds a convolution's weights, or -1 for other operators.
int weight_input(const std::string& name) {
  if (name == "Conv" || name == "ConvTranspose" || name == "ConvInteger") {
    return 1;
  }
  return name == "QLinearConv" ? 3 : -1;
}

// Whether onnx finds a kernel as long as the image has axes.
bool has_kernel(Context& c, size_t weights) {
  if (c.getAttribute("kernel_shape") != nullptr) return true;
  if (!onnx::hasInputShape(c, 0) || !onnx::hasInputShape(c, weights)) {
    return false;
  }
  const int image = onnx::getInputShape(c, 0).dim_size();
  const int rank = onnx::getInputShape(c, weights).dim_size();
  if (image != rank) {
    fail_shape_inference("expected weights of the image's rank ", image,
                         ", got rank ", rank);
  }
  return true;
}

// Whether the statistics of LayerNormalization have an axis to be along.
bool has_axis(Context& c) {
  if (c.getNumOutputs() < 2) return true;
  if (!onnx::hasInputShape(c, 0)) return false;
  const int rank = onnx::getInputShape(c, 0).dim_size();
  const int64_t axis = onnx::getAttribute(c, "axis", -1);
  if (axis < -rank || axis >= rank) {
    fail_shape_inference("expected an axis from ", -rank, " to ", rank - 1,
                         ", got ", axis);
  }
  return true;
}

bool has_matrices(Context& c) {
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (!onnx::hasInputShape(c, i)) return false;
    if (onnx::getInputShape(c, i).dim_size() != 2) {
      fail_shape_inference("expected inputs of rank 2, got rank ",
                           onnx::getInputShape(c, i).dim_size());
    }
  }
  return true;
}

}  // namespace

onnx::InferenceFunction safer(const onnx::OpSchema& schema) {
  const std::string& name = schema.Name();
  const auto onnxs = schema.GetTypeAndShapeInferenceFunction();
  // Without it, what can be told is the type.
  const auto where = [&onnxs](auto holds) -> onnx::InferenceFunction {
    return [onnxs, holds](Context& c) {
      if (holds(c)) return onnxs(c);
      onnx::propagateElemTypeFromInputToOutput(c, 0, 0);
    };
  };
  if (name == "MaxPool" || name == "AveragePool") return pool;
  if (name == "LayerNormalization") return where(has_axis);
  if (name == "Gemm" && schema.SinceVersion() < kFirstSafeGemm) {
    return where(has_matrices);
  }
  const int weights = weight_input(name);
  if (weights < 0) return {};
  const auto input = static_cast<size_t>(weights);
  return [onnxs, input, name](Context& c) {
    if (has_kernel(c, input)) return onnxs(c);
    if (name == "ConvInteger") {
      onnx::updateOutputElemType(c, 0, onnx::TensorProto::INT32);
    } else {
      // Of codes it is that of the result's zero point.
      onnx::propagateElemTypeFromInputToOutput(c, name == "QLinearConv" ? 7 : 0,
                                               0);
    }
  };
}

onnx::DataPropagationFunction safer_propagation(const onnx::OpSchema& schema) {
  const auto onnxs = schema.GetDataPropagationFunction();
  // Others than the first may be left out.
  const bool all = schema.Name() != "Slice";
  return [onnxs, all](onnx::DataPropagationContext& c) {
    for (size_t i = 0; i < (all ? c.getNumInputs() : 1); ++i) {
      if (c.getInputType(i) == nullptr) return;
      const auto* list = c.getInputData(i);
      if (list != nullptr && list->dim_size() == 0) return;
    }
    onnxs(c);
  };
}

}  // namespace octet::io::rules
