// Import of ONNX files: converts a graph of operators to a Model of layers that
// can be trained, quantized and exported.
//
//   Model model = io::load_onnx("resnet18.onnx");  // of PyTorch, tf2onnx, ...
//   const Tensor y = model.predict(x);             // x is [n,h,w,c]
//   Model int8 = quant::quantize_model(model);
//
// By default, export writes images as [n,c,h,w] and chooses names. The
// interface returned by import_onnx() preserves names, types and axis order of
// the file:
//
//   io::OnnxImport read = io::import_onnx("resnet18.onnx");
//   io::export_onnx(int8, "int8.onnx", {.interface = read.interface});
//
// load_onnx_reference() (onnx_model.h) runs graphs with operators that have no
// equivalent layer.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <octet/io/file_limits.h>
#include <octet/io/onnx.h>
#include <octet/layers/model.h>

namespace octet::io {

/// Options of the import.
/// Fields in order: input_shapes, drop_quantizers, symmetric_activations,
/// limits
struct OnnxImportOptions {
  /// Shape of a sample for each input in Octet's order, images [h,w,c] and
  /// sequences [l,c]. Required for sizes that the file leaves dynamic. Shape()
  /// leaves an input as in the file.
  std::vector<Shape> input_shapes = {};
  /// Imports the float model alone, for a new calibration: removes the Q/DQ
  /// pairs of activations and replaces weights by their dequantized values.
  /// ONNX Runtime's quantizer removes a ReLU or ReLU6 whose effect a range from
  /// 0 has; import restores it and logs a warning. A removed Clip to other
  /// bounds cannot be told from a range.
  bool drop_quantizers = false;
  /// Gives 8-bit activations with another zero point, or of uint8, the
  /// symmetric int8 range that covers theirs, as TensorRT requires, at up to
  /// twice the step. Weights keep their quantized values.
  bool symmetric_activations = false;
  /// The memory limit covers weights, computed constants and the activations of
  /// a sample. The file is always parsed in this process.
  FileLimits limits = {};
};

/// Result of the import of a node.
struct OnnxNodeImport {
  std::string node;  ///< its name, otherwise its first output
  std::string op;    ///< operator: "Conv"
  /// The layer that replaces the node or contains it. Empty for constants and
  /// for nodes that only change the axis order.
  std::string layer;
  std::string
      note;  ///< for people: "constant", "order of axes", "part of Gelu"
};

/// Results of the import of all nodes.
struct OnnxImportReport {
  std::vector<OnnxNodeImport> nodes;  ///< in the file's order
  /// Returns a table with a line for each node.
  std::string to_string() const;
};

/// Result of import_onnx().
struct [[nodiscard]] OnnxImport {
  Model model;              ///< with channels last
  OnnxImportReport report;  ///< on every node of the file
  /// Names, types and axis order of the file's inputs and outputs, for
  /// OnnxOptions::interface and SaveOptions::interface.
  OnnxInterface interface = {};
};

/// Imports a file of standard operators as a model.
///
/// Axis order: images are [n,h,w,c] and sequences that convolutions consume
/// [n,l,c] in the model, [n,c,h,w] and [n,c,l] in the file. The file's
/// transposes cancel or become Permute layers.
/// Types: inputs of other types are float32 in the model; those of integers and
/// bool must contain whole numbers, or 0 and 1. Integers may be moved and cast,
/// but arithmetic with them is not supported.
/// Batch: a fixed batch becomes dynamic. Vectors of fixed size, such as [5],
/// get a batch axis; a dynamic [n] has a value per sample. Inputs that nothing
/// consumes are dropped with a warning.
/// Layers: constants are folded, and exporters' decompositions (Gelu,
/// HardSwish, LayerNormalization, attention, a bias as Add, Flatten as Reshape)
/// become one layer again. Layers have the names of nodes, without a leading
/// slash and, in files with Q/DQ pairs, without "quant_"; a layer of several
/// nodes has the name of its output, if that was named by a person. Nodes with
/// equal weights and options become one layer, called several times.
/// Quantization: Q/DQ pairs become quantizers with the file's scales; those of
/// weights are fixed. Activations may have any zero point
/// (QuantizerConfig::zero_point), weights 0, or 128 for uint8, which is
/// equivalent. ONNX Runtime's QOperator form (QLinearConv, QGemm, ...) is
/// imported as the equivalent pairs and operators, listed in the report;
/// quantized values are the same except for ties.
/// Nothing is approximated: outputs equal the file's up to the order of float
/// sums.
/// Throws: IoError; FormatError for an invalid file, as inspect_onnx();
/// UnsupportedError listing all nodes that cannot be imported, each with the
/// reason; ValueError for options that do not fit the file.
Model load_onnx(const std::filesystem::path& path,
                const OnnxImportOptions& options = {});

/// Imports the contents of a file, such as OnnxFile::bytes.
Model from_onnx(const std::string& bytes,
                const OnnxImportOptions& options = {});

/// Imports a file and returns a report on every node and the file's interface.
OnnxImport import_onnx(const std::filesystem::path& path,
                       const OnnxImportOptions& options = {});

}  // namespace octet::io
