// A model's ONNX graph before it is serialized. Internal to io.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/runtime/quantization.h>

#include "deferred_initializers.h"

namespace octet::io {

struct ExportedGraph {
  onnx::ModelProto model;
  int64_t qdq_pairs = 0;
  LargeConstants large;  ///< initializers without data
  /// By node name: index of the exported layer in Model::nodes(), of the folded
  /// model if folded.
  std::unordered_map<std::string, size_t> producers;
};

/// Whether a target supports float8e4m3fn, and int16, as quantized values.
bool takes_float8(Target target);
bool takes_int16(Target target);
/// "TensorRT 10", for messages.
std::string title_of(Target target);

/// Returns the first opset in which Q and DQ support quantized values.
int first_opset_of(const QuantParams& qparams);

/// Checks that the target supports the number formats of all quantizers.
/// Returns the first opset that has them.
/// Throws: UnsupportedError naming a quantizer or a layer.
int check_formats(const Model& model, Target target);

/// Builds the graph of to_onnx(), unchecked. Throws: as to_onnx().
ExportedGraph build_onnx(const Model& model, const OnnxExportOptions& options);

}  // namespace octet::io
