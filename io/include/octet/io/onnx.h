// ONNX: export of float and quantized models, and a readable view of a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <octet/io/onnx_interface.h>
#include <octet/layers/model.h>
#include <octet/runtime/config.h>

namespace octet::io {

/// How quantized weights are stored.
enum class OnnxWeights {
  /// Float32 on the grid, then Q and DQ: every TensorRT takes it.
  float32,
  /// Int8 codes, then DQ: a quarter of the size, the same results. TensorRT 8
  /// refuses it.
  int8,
};

/// Who is to read a file.
enum class OnnxTarget {
  any,         ///< every TensorRT since 8.0, ONNX Runtime, OpenVINO
  tensorrt8,   ///< 8.4 to 8.6
  tensorrt10,  ///< 10.x
  tensorrt11,  ///< 11.x
  openvino,
  onnxruntime,
};

/// "tensorrt10". onnx_target() is the way back. Throws: ValueError, with the
/// nearest names, for a word that is none.
std::string_view to_string(OnnxTarget target);
/// Whether it reads uint8 codes: of quantizers without a sign, too.
bool takes_uint8(OnnxTarget target);
OnnxTarget onnx_target(std::string_view name);

/// Axis order of a file's inputs and outputs. Weights and the values between
/// layers are channels first in any case.
enum class OnnxLayout {
  /// As OnnxOptions::interface has them, else channels first.
  as_given,
  /// Images [n,c,h,w]; sequences that convolutions consume [n,c,l].
  channels_first,
  /// Images [n,h,w,c], as in Keras and from a camera, sequences [n,l,c].
  channels_last,
};

/// How a model is written. What is right for a reader, with changes:
///
///   auto options = OnnxOptions::for_target(OnnxTarget::tensorrt10);
///   options.opset = 17;
///   export_onnx(model, "int8.onnx", options);
/// Fields in order: opset, input_name, output_name, input_names, output_names,
/// description, classes, preprocess, resize, fold_batch_norm, weights,
/// uint8_activations, target, float16, interface, layout, batch
struct OnnxOptions {
  int opset = 13;  ///< [13, 21]; its IR version comes with it
  /// Of a model with one input, one output.
  std::string input_name = "input";
  std::string output_name = "logits";
  /// Of a model with several, one name for each; without them, the names of
  /// the layers, without wrappers, "conv_1" where "conv" is taken.
  std::vector<std::string> input_names = {};
  std::vector<std::string> output_names = {};
  std::string description = "";  ///< the model's doc_string
  /// Names of the classes in the order of the outputs, as ImageFolder has them:
  /// a JSON list under "classes" in the file's metadata.
  std::vector<std::string> classes = {};
  /// What bytes become before they are the model's inputs, as in SaveOptions:
  /// "preprocess" in the file's metadata. The graph does none of it.
  std::string preprocess = {};
  /// How images of other sizes were resized, as in SaveOptions: "resize" in the
  /// file's metadata.
  std::string resize = {};
  /// Writes quant::fold_batch_norm(model), with the names of this one.
  /// TensorRT folds by itself; other readers may not.
  bool fold_batch_norm = false;
  OnnxWeights weights = OnnxWeights::float32;
  /// Codes of activations as uint8, those with a sign around 128: the same
  /// numbers, of one type, as ONNX Runtime wants them on both sides of a
  /// convolution. Not for TensorRT. For `openvino`, activations between a
  /// Concat and a convolution are uint8 anyway: it computes int8 wrongly there.
  bool uint8_activations = false;
  /// What it does not read is refused: see io/README.md.
  OnnxTarget target = OnnxTarget::any;
  /// What is float32 within the file becomes float16, for TensorRT 11, which
  /// takes types from it; inputs and outputs stay. Of a quantized model with
  /// int8 weights from opset 19 on, with scales in float16.
  bool float16 = false;
  /// Names, element types, axis order and batch dimension of the inputs and
  /// outputs: those of the file that the model was imported from. Empty gives
  /// the names above, float32, channels first. input_names and output_names
  /// take precedence over its names.
  OnnxInterface interface = {};
  /// Axis order of the inputs and outputs. A Transpose converts where layers
  /// need another one.
  OnnxLayout layout = OnnxLayout::as_given;
  /// Fixed batch size, up to 2^20. 0: that of the interface, else dynamic, "N".
  int64_t batch = 0;

  /// Int8 weights for all but `any` and tensorrt8; batch normalization folded
  /// for onnxruntime. The rest is as without a target.
  static OnnxOptions for_target(OnnxTarget target);

  /// What can be said without a model; to_onnx() says it, too.
  /// Throws: ValueError for an opset or batch out of range, and for what the
  /// target does not read.
  void check() const;
};

struct OnnxReport {
  int64_t bytes = 0;
  int64_t nodes = 0;
  int64_t qdq_pairs = 0;  ///< weights that are stored as codes included
};

struct OnnxFile {
  std::string bytes;  ///< of an .onnx file
  OnnxReport report;
};

/// The model as ONNX: inputs and outputs in the model's order, images NCHW and
/// sequences that convolutions read NCL (but see OnnxOptions::interface and
/// layout), batch of any size by default, Conv weights OIHW, Gemm weights
/// [out,in], BatchNormalization kept as a node unless it is to be folded.
/// Quantized weights are FP32 initializers on the grid followed by
/// QuantizeLinear and DequantizeLinear, unless options.weights is int8. The
/// bytes have passed onnx::checker and strict shape inference. Throws:
/// ValueError for an uncalibrated quantizer (naming it), options out of range,
/// class names that are not as many as outputs, an interface that does not fit
/// the model, or weights that are not finite,
/// and for what options.target does not read; UnsupportedError for a layer
/// without ONNX form.
OnnxFile to_onnx(const Model& model, const OnnxOptions& options = {});

/// Puts to_onnx() of the model in place at `path`, or leaves what is there.
/// Throws: as to_onnx(); IoError.
OnnxReport export_onnx(const Model& model, const std::filesystem::path& path,
                       const OnnxOptions& options = {});

/// A size, or the name of one that is open: "N", "?" if it has no name.
using OnnxDim = std::variant<int64_t, std::string>;
/// Nothing if the rank is unknown.
using OnnxShape = std::optional<std::vector<OnnxDim>>;

/// One node as `octet inspect` shows it.
struct OnnxNodeInfo {
  std::string op;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  OnnxShape shape;  ///< of the first output
};

/// One QuantizeLinear -> DequantizeLinear pair.
struct OnnxQdqPair {
  std::string tensor;  ///< what is quantized
  std::string reader;  ///< the node after the pair, the first if several
  std::string kind;    ///< "weight" (an initializer) or "activation"
  std::string type;    ///< of the codes: "int8", "uint8", "int32"
  std::optional<int64_t> axis;  ///< per channel
  int64_t scales = 0;
  float smallest_scale = 0;
  float largest_scale = 0;
};

struct OnnxTensorInfo {
  std::string name;
  std::string type;
  OnnxShape shape;
};

struct OnnxSummary {
  int64_t bytes = 0;
  int64_t ir_version = 0;
  int64_t opset = 0;
  std::string producer;
  std::string description;
  std::vector<OnnxTensorInfo> inputs;
  std::vector<OnnxTensorInfo> outputs;
  std::vector<OnnxNodeInfo> nodes;
  std::vector<OnnxQdqPair> qdq_pairs;
  /// Under that key in the metadata, if preprocess_mode() knows it.
  std::string preprocess = {};
  /// The same for resize_mode().
  std::string resize = {};
  /// Names of the classes, if a list of JSON under "classes" in the metadata
  /// has them.
  std::vector<std::string> classes = {};
  int64_t initializers = 0;
  int64_t parameters = 0;  ///< elements of all initializers
};

/// Reads and checks a file of IR version 3 to 13 and opset 1 to 26; operators
/// that Octet does not know are listed like others. Throws: IoError;
/// FormatError for anything that is not a sound ONNX model, including what
/// onnx::checker lets through (strides of 0, initializers shorter than their
/// shape, scales that do not fit, external
/// data outside the file's folder or behind links); UnsupportedError for later
/// versions and for element types of less than 8 bits or float8.
OnnxSummary inspect_onnx(const std::filesystem::path& path);

/// "[N,16,28,28]"; empty if unknown.
std::string to_text(const OnnxShape& shape);

/// The summary as a table for people, and as a tree for JSON, where a shape is
/// a list (["N",16,28,28]) or null.
std::string to_table(const OnnxSummary& summary);
Config to_config(const OnnxSummary& summary);

}  // namespace octet::io
