// Weights that stay in the model's memory until the file is written, which
// avoids a second copy of all of them. Internal to io.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include <onnx/onnx_pb.h>

#include <octet/layers/custom_layer.h>
#include <octet/runtime/file.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

struct LargeConstant {
  Tensor value;
  Arrangement stored;  // arrangement in the file
};

/// By the names of initializers, which have a type and dimensions but no data.
using LargeConstants = std::unordered_map<std::string, LargeConstant>;

/// Smaller constants, in bytes, have their data in the graph.
inline constexpr int64_t kLargeConstant = int64_t{1} << 16;

/// Sets the data of the graph's initializers.
void fill_in(onnx::GraphProto& graph, const LargeConstants& constants);

/// Writes a model as a file, deterministically; returns the number of bytes.
/// Replaces the initializers without data by graph inputs, so that the graph
/// can still be checked.
/// Throws: UnsupportedError from 2 GiB on.
int64_t write_onnx(onnx::ModelProto& model, const LargeConstants& constants,
                   const PutBytes& put);

}  // namespace octet::io
