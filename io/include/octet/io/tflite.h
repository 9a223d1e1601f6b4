// TensorFlow Lite files (.tflite) for LiteRT, TensorFlow Lite Micro, CMSIS-NN
// and Ethos-U: export and import of float and INT8 models.
//
//   const Model int8 = quant::quantize_model(
//       model, {.policy = quant::Policy::tflite});
//   quant::calibrate(int8, data);
//   io::export_tflite(int8, "model.tflite");
//   const Model again = io::load_tflite("model.tflite");
//
// docs/guides/tflite.md lists layers and operators.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// Element type of the inputs and outputs of a quantized file.
enum class TfliteIo {
  int8,     ///< quantized values; int16 for activations of 16 bits
  uint8,    ///< quantized values + 128, converted by QUANTIZE operators
  float32,  ///< real values, converted by QUANTIZE and DEQUANTIZE operators
};

/// Returns "int8", "uint8" or "float32".
std::string_view to_string(TfliteIo io);
/// Returns the type of a name. Throws: ValueError for an unknown name.
TfliteIo tflite_io_named(std::string_view name);

/// Export options.
/// Fields in order: io, input_names, output_names, description, classes,
/// preprocess, resize
struct TfliteOptions {
  /// Element type of inputs and outputs. Float models have float32.
  TfliteIo io = TfliteIo::int8;
  /// Names of the inputs, one each. Default: layer names without wrapper
  /// prefixes.
  std::vector<std::string> input_names = {};
  std::vector<std::string> output_names = {};  ///< likewise
  std::string description = "";  ///< description field of the file
  /// Class names in the order of the outputs, stored as a JSON list in the
  /// metadata entry "classes".
  std::vector<std::string> classes = {};
  std::string preprocess = "";  ///< metadata entry, as in OnnxExportOptions
  std::string resize = "";      ///< metadata entry, as in OnnxExportOptions
};

/// Contents of an exported file.
struct TfliteReport {
  int64_t bytes = 0;      ///< size of the file
  int64_t operators = 0;  ///< number of operators
  int64_t weights = 0;    ///< bytes of constant tensors
  bool int8 = false;      ///< whether the model is quantized
};

/// Result of to_tflite().
struct TfliteFile {
  std::string bytes;    ///< of a .tflite file
  TfliteReport report;  ///< its size and number of operators
};

/// Converts a model to a .tflite file with batch size 1 (LiteRT resizes it,
/// except for TRANSPOSE_CONV), images [n,h,w,c], folded batch normalization and
/// fused ReLU. In a quantized model every activation must be INT8, or 16 bits
/// with zero point 0: exactly the parameters of the model's quantizers, biases
/// int32, int64 with 16 bits, with scale s_input * s_weight. Layers over
/// sequences are exported as images of height 1. Throws: UnsupportedError
/// listing all layers without an operator, and all values without a quantizer
/// in a quantized model; ValueError for an uncalibrated quantizer, a quantizer
/// that int8 and int16 cannot represent, uint8 inputs and outputs with 16 bits,
/// weights that are not finite, a wrong number of names, and files over 2 GiB.
TfliteFile to_tflite(const Model& model, const TfliteOptions& options = {});

/// Writes to_tflite(model, options) to `path` atomically. Throws: as
/// to_tflite(); IoError.
TfliteReport export_tflite(const Model& model,
                           const std::filesystem::path& path,
                           const TfliteOptions& options = {});

// Execution of .tflite files, operator by operator: a reference of TensorFlow
// Lite's integer arithmetic, and a check of exported files.

/// Rounding of the multiplication by s_in * s_w / s_out.
enum class TfliteRounding {
  /// Rounds the 32-bit product, then the shift: TensorFlow Lite Micro and
  /// CMSIS-NN by default.
  twice,
  /// Rounds once: builds with TFLITE_SINGLE_ROUNDING.
  once,
  /// As LiteRT's reference kernels: FULLY_CONNECTED rounds once, other
  /// operators twice.
  litert,
};

/// A tensor of a .tflite file.
struct TfliteTensorInfo {
  std::string name;          ///< may be empty
  DType dtype = DType::f32;  ///< element type
  Shape shape;               ///< as stored, batch size 1
  float scale = 0;           ///< of quantized values; 0: not quantized
  int zero_point = 0;        ///< quantized value of 0

  /// Whether its values are int8, uint8 or int16 with a scale.
  bool quantized() const;
  /// Returns real values as the tensor stores them: quantized, rounded to
  /// nearest even and limited to the type; otherwise unchanged.
  /// Throws: ValueError for NaN in a quantized tensor.
  Tensor to_stored(const Tensor& x) const;
  /// Returns the real values of stored ones.
  Tensor to_real(const Tensor& q) const;

  bool operator==(const TfliteTensorInfo&) const = default;
};

/// A value of a run: an input of the file, or the output of an operator.
struct TfliteValue {
  TfliteTensorInfo tensor;          ///< its tensor in the file
  std::string op;                   ///< "CONV_2D"; empty: an input
  std::vector<size_t> inputs = {};  ///< indices of values, without constants
};

/// A file of operators that export_tflite() writes. Integer operators compute
/// the results of TensorFlow Lite Micro, or of LiteRT's reference kernels with
/// TfliteRounding::litert, bit for bit. Copies share the file. predict() is
/// thread-safe.
class TfliteModel {
 public:
  /// Return the inputs and outputs, in the file's order.
  const std::vector<TfliteTensorInfo>& inputs() const;
  const std::vector<TfliteTensorInfo>& outputs() const;

  /// Returns the inputs, then the outputs of operators in order of execution.
  const std::vector<TfliteValue>& values() const;
  /// Returns the indices of outputs() in values().
  /// Throws: UnsupportedError for an output that is a constant.
  std::vector<size_t> output_values() const;
  /// Returns a tensor for each of values(). Throws: as predict().
  std::vector<Tensor> trace(
      std::span<const Tensor> inputs,
      TfliteRounding rounding = TfliteRounding::twice) const;

  /// Returns the outputs. `inputs` has a tensor for each of inputs(), of its
  /// type, and of its shape with any batch size.
  /// Throws: ValueError for a wrong number of tensors or a wrong type;
  /// ShapeError.
  std::vector<Tensor> predict(
      std::span<const Tensor> inputs,
      TfliteRounding rounding = TfliteRounding::twice) const;
  /// Returns the output of a model with one input and one output. Throws: as
  /// above; ValueError for other models.
  Tensor predict(const Tensor& input,
                 TfliteRounding rounding = TfliteRounding::twice) const;

 private:
  friend TfliteModel tflite_from_bytes(const std::string& bytes);
  struct File;
  explicit TfliteModel(std::shared_ptr<const File> file);
  std::shared_ptr<const File> file_;
};

/// Loads and checks a file.
/// Throws: IoError; FormatError for files that are not valid .tflite models;
/// UnsupportedError listing all operators and element types that Octet does not
/// run.
TfliteModel load_tflite_reference(const std::filesystem::path& path);
/// Loads the contents of a file, such as TfliteFile::bytes.
TfliteModel tflite_from_bytes(const std::string& bytes);

/// Options of load_tflite().
struct TfliteImportOptions {
  /// Imports the float model alone, for a new calibration: weights are the
  /// dequantized values of the file.
  bool drop_quantizers = false;
};

/// Loads a float or INT8 file as a model with batch normalization as in the
/// file, i.e. mostly folded. Quantizers are placed as by quant::Policy::tflite
/// and have the scales and zero points of the file, so that export_tflite()
/// writes the same quantized values again.
/// Throws: IoError; FormatError for files that are not valid; UnsupportedError
/// listing all operators without a layer, and for uint8 models unless
/// `drop_quantizers`.
Model load_tflite(const std::filesystem::path& path,
                  const TfliteImportOptions& options = {});

/// Loads the contents of a file, such as TfliteFile::bytes.
Model from_tflite(const std::string& bytes,
                  const TfliteImportOptions& options = {});

/// Whether a file contains a TensorFlow Lite model, valid or not. False for a
/// file that cannot be read.
bool is_tflite_file(const std::filesystem::path& path);

}  // namespace octet::io
