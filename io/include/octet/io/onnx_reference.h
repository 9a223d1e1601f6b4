// Execution of ONNX files, node by node: a reference implementation of the
// standard, and a check of exported files without another runtime.
//
//   const auto model = io::load_onnx_reference("int8.onnx");
//   const Tensor y = model.predict(x);  // x in the graph's layout: [N,c,h,w]
//
// Golden vectors from such a run, and the commands of trtexec and polygraphy
// that compare a TensorRT engine with them:
//
//   const GoldenVectors golden = write_golden("int8.onnx", {x});
//   std::cout << engine_commands("int8.onnx", {.golden = &golden});
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <octet/io/onnx.h>
#include <octet/runtime/file.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// A graph of standard operators, opsets 1 to 28. Computes the results of the
/// ONNX operator specification in the order of the file's nodes, without fusion
/// or constant folding. float16 and bfloat16 are represented as float32, inputs
/// and outputs included, and rounded in each node's outputs. Convolutions and
/// matrix products add float32 in float32, statistics in float64; results do
/// not depend on the number of threads. Copies share the graph. predict() is
/// thread-safe. docs/guides/onnx-run.md lists the operators.
class OnnxReference {
 public:
  /// Return the inputs, without those that have an initializer, and the
  /// outputs, in the file's order.
  const std::vector<OnnxTensorInfo>& inputs() const;
  const std::vector<OnnxTensorInfo>& outputs() const;

  /// Whether an If, Loop or Scan is left after constants are folded: samples of
  /// a batch may then decide together how it runs.
  bool has_control_flow() const;

  /// Returns the outputs. `inputs` has a tensor for each of inputs(), of its
  /// type and shape; dimensions of the same name must have the same size.
  /// Throws: ValueError for a wrong number of tensors or a wrong type;
  /// ShapeError naming the input, the expected and the actual shape;
  /// FormatError naming the node for sizes that prove inconsistent at run time,
  /// a value over 2 GiB, values over `memory_limit` in total, or a run over
  /// `time_limit`; UnsupportedError for unsupported cases of an operator
  /// (images with three axes, training mode of Dropout).
  std::vector<Tensor> predict(std::span<const Tensor> inputs) const;
  /// Returns the output of a model with one input and one output. Throws: as
  /// above; ValueError for other models.
  Tensor predict(const Tensor& input) const;

 private:
  friend OnnxReference onnx_reference_from_bytes(const std::string& bytes,
                                                 const FileLimits& limits);
  friend OnnxReference load_onnx_reference(const std::filesystem::path& path,
                                           const FileLimits& limits);
  struct Graph;
  explicit OnnxReference(std::shared_ptr<const Graph> graph);
  std::shared_ptr<const Graph> graph_;
};

/// Whether a file contains an ONNX model, valid or not. False for a file that
/// cannot be read.
bool is_onnx_file(const std::filesystem::path& path);

/// Loads and checks a file, as inspect_onnx() does, including external data in
/// its folder. The limits apply to each predict(): the bytes of node outputs,
/// which also limit external data, and the time, checked between nodes and
/// within long operators.
/// Throws: IoError; FormatError; UnsupportedError listing all operators, with a
/// node of each, and all element types that Octet does not run; ValueError for
/// limits out of range.
OnnxReference load_onnx_reference(const std::filesystem::path& path,
                                  const FileLimits& limits = {});
/// Loads the contents of a file, such as OnnxFile::bytes, without external
/// data.
OnnxReference onnx_reference_from_bytes(const std::string& bytes,
                                        const FileLimits& limits = {});

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
