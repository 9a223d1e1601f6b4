// C99 source of a quantized model, for microcontrollers: weights and code
// without allocator, operating system or library.
//
//   const io::CReport report = io::export_c(int8, "firmware/net");
//
// docs/guides/microcontrollers.md shows the files and how to build them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>

namespace octet::io {

/// Arithmetic between the sums of a layer and its INT8 outputs.
enum class CArithmetic {
  floating,  ///< float32: bit-identical to the model; needs an FPU to be fast
  /// 32-bit integers: bit-identical to TensorFlow Lite Micro. Needs INT8 values
  /// everywhere, inputs and outputs included.
  fixed,
};

/// Returns "float" or "fixed".
std::string_view to_string(CArithmetic arithmetic);
/// Returns the arithmetic of a name. Throws: ValueError for an unknown name.
CArithmetic c_arithmetic_named(std::string_view name);

/// Implementation of convolutions and other layers.
enum class CKernels {
  portable,  ///< C99 in model.c, with SIMD instructions of the target
  /// Calls of CMSIS-NN for the layers that it computes with the same results,
  /// C99 for others. Needs CArithmetic::fixed.
  cmsis_nn,
};

/// Returns "portable" or "cmsis-nn".
std::string_view to_string(CKernels kernels);
/// Returns the kernels of a name. Throws: ValueError for an unknown name.
CKernels c_kernels_named(std::string_view name);

/// Options of export_c().
/// Fields in order: name, arithmetic, kernels, golden
struct COptions {
  /// Prefix of functions and, in capitals, of macros. A C identifier.
  std::string name = "net";
  /// Arithmetic between sums and outputs.
  CArithmetic arithmetic = CArithmetic::floating;
  /// Implementation of layers.
  CKernels kernels = CKernels::portable;
  /// Number of inputs in model_test.c, >= 1.
  int64_t golden = 4;
};

/// A step of the generated code.
struct CLayer {
  std::string layer;          ///< name of the layer that computes it
  std::string op;             ///< operator, such as "conv2d"
  std::string output;         ///< "int8 25x5x64"
  int64_t flash = 0;          ///< bytes of constants
  int64_t ram = 0;            ///< bytes of the arena in use
  int64_t multiply_adds = 0;  ///< per sample
};

/// Result of to_c() and export_c().
struct CReport {
  std::string name;            ///< COptions::name
  int64_t flash = 0;           ///< bytes of constants: weights and parameters
  int64_t arena = 0;           ///< bytes of the arena
  int64_t inputs = 0;          ///< bytes of the inputs, outside of the arena
  int64_t outputs = 0;         ///< bytes of the outputs, outside of the arena
  int64_t multiply_adds = 0;   ///< per sample
  std::vector<CLayer> layers;  ///< in the order of execution

  /// Returns a table of the layers and the totals.
  std::string to_string() const;
};

/// A generated file.
struct CFile {
  std::string name;      ///< "model.c"
  std::string contents;  ///< text
};

/// Result of to_c().
struct CCode {
  std::vector<CFile> files;  ///< in the order of to_c()
  CReport report;            ///< sizes and multiply-adds
};

/// Converts a model, float or quantized, to C99: model.h, model.c,
/// model_test.c, CMakeLists.txt and report.txt. The code runs one sample per
/// call in an arena that the caller provides. Inputs and outputs are INT8 if
/// the model quantizes them, otherwise float.
/// The golden outputs are the model's on the instruction set `baseline`, which
/// is active meanwhile: no other thread may use Octet. Those of the fixed form
/// come from a reference of its arithmetic.
/// Throws: UnsupportedError listing all steps without a C form, and for values
/// above 2 GiB; ValueError for a name that is no C identifier, and weights that
/// are not finite; as Model::compile().
CCode to_c(const Model& model, const COptions& options = {});

/// Writes the files of to_c() into `folder`, which is created. Throws: as
/// to_c(); IoError.
CReport export_c(const Model& model, const std::filesystem::path& folder,
                 const COptions& options = {});

}  // namespace octet::io
