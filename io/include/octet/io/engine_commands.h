// From an exported file to a TensorRT engine: the lines of trtexec and
// polygraphy, and inputs with the outputs that the engine has to give.
//
//   export_onnx(model, "int8.onnx", options);
//   const GoldenVectors golden = write_golden("int8.onnx", {x});
//   std::cout << engine_commands("int8.onnx", {.golden = &golden});
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <octet/io/file_limits.h>
#include <octet/io/onnx.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// The batches that an engine takes, of a file whose batch is open.
struct BatchProfile {
  int64_t min = 1;
  int64_t opt = 8;  ///< the one it is made fast for
  int64_t max = 32;
};

/// A tensor of a file, twice beside it: as NumPy's .npy, and as the raw
/// little-endian numbers that trtexec reads.
struct GoldenVector {
  std::string name;
  Shape shape;
  std::filesystem::path npy;
  std::filesystem::path raw;
};

struct GoldenVectors {
  std::vector<GoldenVector> inputs;
  std::vector<GoldenVector> outputs;
  /// Python script whose load_data() gives polygraphy the inputs.
  std::filesystem::path loader = {};
};

/// Runs the file on `inputs`, one for each of its own and in its order of axes,
/// as OnnxModel does, and writes both into the folder "int8.golden" beside
/// "int8.onnx": input_0.npy, input_0.raw, output_0.npy, ..., and load_inputs.py
/// for polygraphy's --data-loader-script. An engine in INT8
/// sums exactly, but where it rounds at the border of two codes it may go on
/// with the other one. Throws: as load_onnx_reference() and
/// OnnxModel::predict(); IoError. Vectors have the types of the file: float16
/// is written as float32.
GoldenVectors write_golden(const std::filesystem::path& onnx,
                           std::span<const Tensor> inputs,
                           const FileLimits& limits = {});

/// Fields in order: target, batches, golden
struct EngineCommandOptions {
  /// One of TensorRT's, or `any`: lines for 8.6, 10 and 11.
  OnnxTarget target = OnnxTarget::any;
  BatchProfile batches = {};
  const GoldenVectors* golden = nullptr;  ///< to be loaded, if not null
};

/// Commands for a shell in the file's folder, with comments: build the engine
/// with a timing cache, time its layers, say which run in INT8, compare it.
/// Throws: as inspect_onnx(); ValueError for other targets, and for batches
/// below 1, not in order, or none that the golden vectors have.
std::string engine_commands(const std::filesystem::path& onnx,
                            const EngineCommandOptions& options = {});

}  // namespace octet::io
