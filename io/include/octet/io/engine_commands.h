// From an exported file to a TensorRT engine: commands for trtexec and
// polygraphy, and golden vectors to compare the engine with.
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

/// Batch sizes of an engine, for files with a dynamic batch.
struct BatchProfile {
  int64_t min = 1;
  int64_t opt = 8;  ///< optimized size
  int64_t max = 32;
};

/// A tensor stored in two files: NumPy's .npy, and raw little-endian numbers
/// for trtexec.
struct GoldenVector {
  std::string name;
  Shape shape;
  std::filesystem::path npy;
  std::filesystem::path raw;
};

struct GoldenVectors {
  std::vector<GoldenVector> inputs;
  std::vector<GoldenVector> outputs;
  /// Python script with a load_data() that yields the inputs for polygraphy.
  std::filesystem::path loader = {};
};

/// Runs the file on `inputs`, a tensor for each of its inputs in the file's
/// axis order, by OnnxModel, and writes inputs and outputs into the folder
/// "int8.golden" beside "int8.onnx": input_0.npy, input_0.raw, output_0.npy,
/// ..., and load_inputs.py for polygraphy's --data-loader-script. Vectors have
/// the types of the file; float16 is written as float32. An INT8 engine adds
/// exactly, but may round ties between two quantized values differently.
/// Throws: as load_onnx_reference() and OnnxModel::predict(); IoError.
GoldenVectors write_golden(const std::filesystem::path& onnx,
                           std::span<const Tensor> inputs,
                           const FileLimits& limits = {});

/// Fields in order: target, batches, golden
struct EngineCommandOptions {
  /// A TensorRT version, or `any`: commands for 8.6, 10 and 11.
  Target target = Target::any;
  BatchProfile batches = {};
  const GoldenVectors* golden = nullptr;  ///< compared with, if not null
};

/// Returns commented shell commands, to run in the file's folder: build the
/// engine with a timing cache, time its layers, list those in INT8, compare it.
/// Throws: as inspect_onnx(); ValueError for other targets, and for batches
/// below 1, in descending order, or other than that of the golden vectors.
std::string engine_commands(const std::filesystem::path& onnx,
                            const EngineCommandOptions& options = {});

}  // namespace octet::io
