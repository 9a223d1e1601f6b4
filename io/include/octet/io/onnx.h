// Export to ONNX, the interface of ONNX files, and their summaries.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>
#include <octet/runtime/detail/language.h>
#include <octet/runtime/file.h>

namespace octet::io {

// Target: the runtime that executes an exported file.

/// The runtime that executes a file. Export writes files for it, lint checks
/// files for it, drawings forecast its precisions.
enum class Target {
  tensorrt8,     ///< 8.4 to 8.6
  tensorrt10,    ///< 10.x
  tensorrt11,    ///< 11.x
  tensorrt_rtx,  ///< TensorRT for RTX 1.x
  onnxruntime,   ///< on x86 processors
  openvino,      ///< on x86 processors
  any,           ///< what all of them support; for export only
};

/// Returns the name of a target: "tensorrt10".
/// Throws: ValueError for a value outside the enumeration.
std::string_view to_string(Target target);
/// Returns the target of a name.
/// Throws: ValueError, with similar names, for an unknown name.
Target target_named(std::string_view name);

// The interface of an ONNX file: names, element types and axis order of its
// inputs and outputs. A Model has float32 tensors with channels last, so the
// interface accompanies it from import to export:
//
//   io::OnnxImport read = io::import_onnx("in.onnx");
//   Model int8 = quant::quantize_model(read.model);
//   io::export_onnx(int8, "out.onnx", {.interface = read.interface});

/// An input or output of a file.
struct OnnxPort {
  std::string name = "";  ///< empty: the default name
  /// Element type in the file, see is_port_type(). The model computes in
  /// float32; the file contains the conversion.
  std::string type = "float32";
  /// Axis of the file's tensor for each axis of the model's: {0,2,3,1} for
  /// images [n,c,h,w]. Axis 0 of the model is the batch; in the file it may be
  /// another, {1,0,2} for sequences [t,n,c]. Empty: the default order, channels
  /// first.
  std::vector<int> axes = {};
  /// Whether the file's tensor has the batch dimension. Otherwise it is a
  /// single sample, for which `axes` includes the batch nevertheless. The batch
  /// size of a file with such an input is 1; such an output is the same for all
  /// samples.
  bool batched = true;

  bool operator==(const OnnxPort&) const = default;
};

/// Inputs, outputs and batch dimension of a file. An empty list of inputs or
/// outputs stands for the defaults of export.
struct OnnxInterface {
  std::vector<OnnxPort> inputs = {};   ///< in the model's order
  std::vector<OnnxPort> outputs = {};  ///< in the model's order
  int64_t batch = 0;             ///< batch size fixed by the file; 0: dynamic
  std::string batch_name = "N";  ///< name of a dynamic batch dimension

  /// Whether both lists are empty.
  bool empty() const { return inputs.empty() && outputs.empty(); }
  /// Whether the numbers of inputs and outputs match the model's, and the ranks
  /// of `axes` that are set. An empty list of inputs or outputs fits any model.
  bool fits(const Model& model) const;

  bool operator==(const OnnxInterface&) const = default;
};

/// Whether inputs and outputs may have an element type: float32, float16,
/// bfloat16, float64, bool, and integers that float32 represents or rounds as
/// Cast does (uint8, int8, uint16, int16, int32, int64).
bool is_port_type(std::string_view type);

/// Returns the axes of a channels-first tensor, as in ONNX: {0,2,3,1} for rank
/// 4, {0,2,1} for rank 3; the identity for other ranks.
std::vector<int> channels_first_axes(int rank);
/// Returns the identity, {0,1,2,...}.
std::vector<int> channels_last_axes(int rank);

/// Returns the interface of an ONNX file, or the ONNX interface stored in a
/// file of save_model(). Empty for other files. Imports an ONNX file as a
/// whole: prefer OnnxImport::interface if the model is needed as well.
/// Throws: as import_onnx() and load_model().
OnnxInterface onnx_interface(const std::filesystem::path& path,
                             const FileLimits& limits = {});

// ONNX: export of float and quantized models, and summaries of ONNX files.

/// Storage of quantized weights.
enum class OnnxWeights {
  /// Float32 values that quantization leaves unchanged, followed by Q and DQ.
  /// Accepted by every TensorRT version.
  float32,
  /// Int8 values followed by DQ: a quarter of the size, the same results.
  /// TensorRT 8 rejects them.
  int8,
};

/// Whether the target supports uint8 values, also of unsigned quantizers.
bool takes_uint8(Target target);

/// Axis order of a file's inputs and outputs. Weights and intermediate values
/// are always channels first.
enum class OnnxLayout {
  /// The order of OnnxExportOptions::interface, channels first by default.
  as_given,
  /// Images [n,c,h,w]; sequences that convolutions consume [n,c,l].
  channels_first,
  /// Images [n,h,w,c], as in Keras and from cameras; sequences [n,l,c].
  channels_last,
};

/// Export options. Start from the options of a target, then change fields:
///
///   auto options = OnnxExportOptions::for_target(Target::tensorrt10);
///   options.opset = 17;
///   export_onnx(model, "int8.onnx", options);
/// Fields in order: opset, input_name, output_name, input_names, output_names,
/// description, classes, preprocess, resize, fold_batch_norm, weights,
/// uint8_activations, target, float16, interface, layout, batch
struct OnnxExportOptions {
  /// [13, 21]; determines the IR version. 0: the first that the model needs:
  /// 13; 19 for float8 and float16; 21 for int16.
  int opset = 0;
  /// Name of the input of a model with a single input.
  std::string input_name = "input";
  std::string output_name = "logits";  ///< likewise
  /// Names of several inputs, one each. Default: layer names without wrapper
  /// prefixes; "conv_1" if "conv" is taken.
  std::vector<std::string> input_names = {};
  std::vector<std::string> output_names = {};  ///< likewise
  std::string description = "";                ///< the model's doc_string
  /// Class names in the order of the outputs, as in ImageFolder. Stored as a
  /// JSON list under "classes" in the file's metadata.
  std::vector<std::string> classes = {};
  /// Preprocessing of input bytes, as in SaveModelOptions. Stored under
  /// "preprocess" in the file's metadata; the graph does not apply it.
  std::string preprocess = {};
  /// Resizing of images to the input size, as in SaveModelOptions. Stored under
  /// "resize" in the file's metadata.
  std::string resize = {};
  /// Exports quant::fold_batch_norm(model) under the original names. TensorRT
  /// folds by itself; other runtimes may not.
  bool fold_batch_norm = false;
  OnnxWeights weights = OnnxWeights::float32;  ///< storage of quantized weights
  /// Quantizes activations to uint8, signed ones with zero point 128. The
  /// results are the same; ONNX Runtime requires a single type on both sides of
  /// a convolution. Not for TensorRT. For `openvino`, activations between a
  /// Concat and a convolution are always uint8: it computes int8 wrongly there.
  bool uint8_activations = false;
  /// Export throws for models that the target does not support: see
  /// docs/guides/onnx-export.md.
  Target target = Target::any;
  /// Converts float32 within the graph to float16, for TensorRT 11, which takes
  /// types from the file; inputs and outputs keep their types. Quantized models
  /// need int8 weights and opset >= 19, and get float16 scales.
  bool float16 = false;
  /// Names, element types, axis order and batch dimension of the inputs and
  /// outputs, usually from the imported file. Default: the names above,
  /// float32, or int64 for indices, channels first. input_names and
  /// output_names take precedence over its names.
  OnnxInterface interface = {};
  /// Axis order of the inputs and outputs. Export inserts a Transpose if layers
  /// need another order.
  OnnxLayout layout = OnnxLayout::as_given;
  /// Fixed batch size, up to 2^20. 0: batch size of the interface, otherwise
  /// dynamic, named "N".
  int64_t batch = 0;

  /// Returns the best options for a target: int8 weights except for `any` and
  /// tensorrt8, folded batch normalization and uint8 activations for
  /// onnxruntime.
  static OnnxExportOptions for_target(Target target);

  /// Checks the options without a model, as to_onnx() does first.
  /// Throws: ValueError for an opset or batch out of range, and for options
  /// that the target does not support.
  void check() const;
};

/// Contents of an exported file.
struct OnnxExportReport {
  int64_t bytes = 0;      ///< size of the file
  int64_t nodes = 0;      ///< number of nodes
  int64_t qdq_pairs = 0;  ///< includes weights stored as int8
};

/// Result of to_onnx().
struct OnnxFile {
  std::string bytes;        ///< of an .onnx file
  OnnxExportReport report;  ///< its size and number of nodes
};

/// Converts a model to ONNX. Inputs and outputs are in the model's order, with
/// a dynamic batch; images are NCHW, sequences that convolutions consume NCL
/// (see OnnxExportOptions::interface and layout), Conv weights OIHW, Gemm
/// weights [out,in]. BatchNormalization stays a node unless folded. Quantized
/// weights are float32 initializers followed by QuantizeLinear and
/// DequantizeLinear, unless options.weights is int8. The bytes have passed
/// onnx::checker and strict shape inference. Throws: ValueError for an
/// uncalibrated quantizer (naming it), options out of range, a number of class
/// names other than that of outputs, an interface that does not fit the model,
/// weights that are not finite, and models that options.target does not
/// support; UnsupportedError for a layer without an ONNX equivalent.
OnnxFile to_onnx(const Model& model, const OnnxExportOptions& options = {});

/// Writes to_onnx(model, options) to `path` atomically: an existing file is
/// replaced as a whole or left as it is. Throws: as to_onnx(); IoError.
OnnxExportReport export_onnx(const Model& model,
                             const std::filesystem::path& path,
                             const OnnxExportOptions& options = {});

/// A size, or the name of a dynamic dimension: "N", "?" without a name.
using OnnxDim = std::variant<int64_t, std::string>;
/// Empty if the rank is unknown.
using OnnxShape = std::optional<std::vector<OnnxDim>>;

/// A node as listed by `octet inspect`.
struct OnnxNodeInfo {
  std::string op;                    ///< operator: "Conv"
  std::string name;                  ///< may be empty
  std::vector<std::string> inputs;   ///< names of its inputs; "": omitted
  std::vector<std::string> outputs;  ///< names of its outputs; "": omitted
  OnnxShape shape;                   ///< of the first output
};

/// A QuantizeLinear -> DequantizeLinear pair.
struct OnnxQdqPair {
  std::string tensor;    ///< the quantized value
  std::string consumer;  ///< first node that consumes the pair; "": none
  std::string kind;      ///< "weight" (an initializer) or "activation"
  std::string type;      ///< of the quantized values: "int8", "uint8", "int32"
  std::optional<int64_t> axis;  ///< of the channels; none: a single scale
  int64_t scales = 0;           ///< number of scales; 0: computed at run time
  float smallest_scale = 0;     ///< 0: computed at run time
  float largest_scale = 0;      ///< 0: computed at run time
};

/// An input or output of a file.
struct OnnxTensorInfo {
  std::string name;  ///< unique in the file
  std::string type;  ///< element type: "float32"
  OnnxShape shape;   ///< in the file's axis order
};

/// Contents of an ONNX file, see inspect_onnx().
struct OnnxSummary {
  int64_t bytes = 0;                    ///< size, without external data
  int64_t ir_version = 0;               ///< of the file format
  int64_t opset = 0;                    ///< of the standard operators
  std::string producer;                 ///< exporter and its version
  std::string description;              ///< the model's doc_string
  std::vector<OnnxTensorInfo> inputs;   ///< without initializers
  std::vector<OnnxTensorInfo> outputs;  ///< in the file's order
  std::vector<OnnxNodeInfo> nodes;      ///< in the file's order
  std::vector<OnnxQdqPair> qdq_pairs;   ///< in the order of their DQ
  /// Whether weights or values are float16 or bfloat16.
  bool half_precision = false;
  /// Metadata "preprocess", if preprocess_mode() knows it.
  std::string preprocess = {};
  /// Metadata "resize", if resize_mode() knows it.
  std::string resize = {};
  /// Metadata "classes", if a JSON list of names.
  std::vector<std::string> classes = {};
  int64_t initializers = 0;  ///< number of stored tensors
  int64_t parameters = 0;    ///< elements of all initializers
};

/// Loads and checks a file of IR version 3 to 14 and opset 1 to 28. Unknown
/// operators are listed like others. Throws: IoError; FormatError for files
/// that are not valid ONNX models, including faults that onnx::checker misses
/// (strides of 0, initializers shorter than their shape, scales that do not
/// fit, external data outside the file's folder or behind links);
/// UnsupportedError for later versions and for element types of less than 8
/// bits or float8.
OnnxSummary inspect_onnx(const std::filesystem::path& path);

/// "[N,16,28,28]"; empty if unknown.
std::string to_string(const OnnxShape& shape);

/// The summary as a table for people, and as a tree for JSON, with shapes as
/// lists (["N",16,28,28]) or null.
std::string to_table(const OnnxSummary& summary);
Config to_config(const OnnxSummary& summary);

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
  /// OnnxExportOptions::interface and SaveModelOptions::interface.
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
