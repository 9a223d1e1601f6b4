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

#include <octet/io/onnx.h>
#include <octet/runtime/file.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// Batch sizes of an engine, for files with a dynamic batch. Required: 1 <= min
/// <= opt <= max.
struct BatchProfile {
  int64_t min = 1;   ///< least size
  int64_t opt = 8;   ///< size for which TensorRT optimizes
  int64_t max = 32;  ///< largest size
};

/// A tensor stored in two files: NumPy's .npy, and raw little-endian numbers
/// for trtexec.
struct GoldenVector {
  std::string name;           ///< of the input or output in the ONNX file
  Shape shape;                ///< in the ONNX file's axis order
  std::filesystem::path npy;  ///< path of the .npy file
  std::filesystem::path raw;  ///< path of the raw file
};

/// Inputs of an ONNX file and the outputs computed from them.
struct GoldenVectors {
  std::vector<GoldenVector> inputs;   ///< in the ONNX file's order
  std::vector<GoldenVector> outputs;  ///< in the ONNX file's order
  /// Python script with a load_data() that yields the inputs for polygraphy.
  std::filesystem::path loader = {};
};

/// Runs the file on `inputs`, a tensor for each of its inputs in the file's
/// axis order, by OnnxReference, and writes inputs and outputs into the folder
/// "int8.golden" beside "int8.onnx": input_0.npy, input_0.raw, output_0.npy,
/// ..., and load_inputs.py for polygraphy's --data-loader-script. Vectors have
/// the types of the file; float16 is written as float32. An INT8 engine adds
/// exactly, but may round ties between two quantized values differently.
/// Throws: as load_onnx_reference() and OnnxReference::predict(); IoError.
GoldenVectors write_golden(const std::filesystem::path& onnx,
                           std::span<const Tensor> inputs,
                           const FileLimits& limits = {});

/// Options of engine_commands().
/// Fields in order: target, batches, golden
struct EngineCommandOptions {
  /// A TensorRT version, or `any`: commands for 8.6, 10 and 11.
  Target target = Target::any;
  BatchProfile batches = {};  ///< of a file with a dynamic batch
  /// Vectors that the commands compare the engine with. Null: random inputs.
  const GoldenVectors* golden = nullptr;
};

/// Returns commented shell commands, to run in the file's folder: build the
/// engine with a timing cache, time its layers, list those in INT8, compare it.
/// Throws: as inspect_onnx(); ValueError for other targets, and for batches
/// below 1, in descending order, or other than that of the golden vectors.
std::string engine_commands(const std::filesystem::path& onnx,
                            const EngineCommandOptions& options = {});

}  // namespace octet::io
