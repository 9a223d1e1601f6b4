// ONNX files as models: a graph of operators becomes a Model of layers that
// trains, is quantized and leaves again as ONNX.
//
//   Model model = io::load_onnx("resnet18.onnx");  // of PyTorch, tf2onnx, ...
//   const Tensor y = model.predict(x);             // x is [n,h,w,c]
//   Model int8 = quant::quantize_model(model);
//
// A file written of it has images [n,c,h,w] and new names. With the interface
// of import_onnx() it has names, types and axis order of the file that came:
//
//   io::OnnxImport read = io::import_onnx("resnet18.onnx");
//   io::export_onnx(int8, "int8.onnx", {.interface = read.interface});
//
// Where a graph has operators that are no layers, load_onnx_reference()
// (onnx_model.h) still runs it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <octet/io/file_limits.h>
#include <octet/io/onnx_interface.h>
#include <octet/layers/model.h>

namespace octet::io {

/// Fields in order: input_shapes, drop_quantizers, limits
struct OnnxImportOptions {
  /// One sample for each input in Octet's order, images [h,w,c] and sequences
  /// [l,c], where a file leaves sizes open.
  std::vector<Shape> input_shapes = {};
  /// The float model alone: Q/DQ pairs of activations are left out and weights
  /// are those that the pairs make, to be calibrated anew. A ReLU or ReLU6 that
  /// ONNX Runtime's quantizer left out, since codes from zero on do its work,
  /// is put back, which is warned of: a Clip to other bounds that it left out
  /// as well cannot be told from a range.
  bool drop_quantizers = false;
  /// Memory is for the weights, for constants that are computed, and for the
  /// activations of one sample. The file is read in this process whatever they
  /// say.
  FileLimits limits = {};
};

/// What became of one node of the file.
struct OnnxNodeImport {
  std::string node;  ///< its name or, where it has none, its first output
  std::string op;
  /// The layer that it is or that it became part of; empty where it is none:
  /// a constant, or a node that only says in which order values are.
  std::string layer;
  std::string note;  ///< in words: "constant", "order of axes", "part of Gelu"
};

struct OnnxImportReport {
  std::vector<OnnxNodeImport> nodes;  ///< in the file's order
  /// One line a node, as a table.
  std::string to_string() const;
};

struct [[nodiscard]] OnnxImport {
  Model model;
  OnnxImportReport report;
  /// Names, types and axis order of the file's inputs and outputs, for
  /// OnnxOptions::interface and SaveOptions::interface.
  OnnxInterface interface = {};
};

/// Reads a file of standard operators as a model. Images are [n,h,w,c] and
/// sequences that convolutions read [n,l,c] inside it and at its ends, where
/// the file has [n,c,h,w] and [n,c,l]; transposes of the file cancel or become
/// Permute layers. Inputs of integers and bool are float32 in the model, which
/// has to get whole numbers, and 0 and 1; integers may be moved and cast to
/// float32, but not calculated with. A fixed batch is left open. Constants are
/// computed, and what exporters take apart (Gelu, HardSwish,
/// LayerNormalization, attention, a bias that is an Add, a Flatten that is a
/// Reshape) is one layer again. Layers have the names of nodes, without a slash
/// in front, and without "quant_" in a file with Q/DQ pairs; those that make
/// one of several outputs have the output's, if somebody gave it one. Nodes
/// with the same weights and options are one layer, called several times. Q/DQ
/// pairs become quantizers with the file's scales, also those of weights, which
/// are fixed. Codes of activations may lie around any zero point
/// (QuantizerConfig::zero_point), those of weights around 0, or 128 of uint8,
/// which is the same. ONNX Runtime's QOperator form (QLinearConv, QGemm, ...)
/// is read as the pairs and operators that it stands for, which the report
/// lists; the codes are the same but for ties.
/// Nothing is approximated: outputs are those of the file but for the order of
/// float sums.
/// Throws: IoError; FormatError for a file that is not sound, as
/// inspect_onnx(); UnsupportedError listing all nodes that are no layers, with
/// the reason of each; ValueError for options that do not fit the file.
Model load_onnx(const std::filesystem::path& path,
                const OnnxImportOptions& options = {});

/// load_onnx() of a file's contents, such as OnnxFile::bytes.
Model from_onnx(const std::string& bytes,
                const OnnxImportOptions& options = {});

/// load_onnx() with an account of every node, and the file's interface.
OnnxImport import_onnx(const std::filesystem::path& path,
                       const OnnxImportOptions& options = {});

}  // namespace octet::io
