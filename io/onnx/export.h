// A model's ONNX graph before it is serialized. Internal to io.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>

#include "large_constants.h"

namespace octet::io {

struct ExportedGraph {
  onnx::ModelProto model;
  int64_t qdq_pairs = 0;
  LargeConstants large;  ///< initializers without data
  /// By the name of a node of the graph: which of Model::nodes() wrote it, of
  /// the folded model where it is folded.
  std::unordered_map<std::string, size_t> makers;
};

/// What to_onnx() writes, not checked yet. Throws: as to_onnx().
ExportedGraph build_onnx(const Model& model, const OnnxOptions& options);

}  // namespace octet::io
