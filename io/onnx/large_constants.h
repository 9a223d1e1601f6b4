// Weights that stay where the model has them until its file is written, so that
// there is no second copy of them all. Internal to io.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include <onnx/onnx_pb.h>

#include <octet/layers/onnx_builder.h>
#include <octet/runtime/file.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

struct LargeConstant {
  Tensor value;
  Arrangement stored;  // how the file has it
};

/// By the names of initializers, which have a type and dimensions and no data.
using LargeConstants = std::unordered_map<std::string, LargeConstant>;

/// Constants of fewer bytes have their data in the graph.
inline constexpr int64_t kLargeConstant = int64_t{1} << 16;

/// Gives the graph's initializers their data.
void fill_in(onnx::GraphProto& graph, const LargeConstants& constants);

/// Writes a model as a file, the same bytes for the same model; returns how
/// many. It takes the initializers without data out of the graph and leaves
/// inputs of the graph in their place, with which it can be checked still.
/// Throws: UnsupportedError from 2 GiB on.
int64_t write_onnx(onnx::ModelProto& model, const LargeConstants& constants,
                   const PutBytes& put);

}  // namespace octet::io
