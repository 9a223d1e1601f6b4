// Compares the activations of two models and finds the layers that differ.
//
//   const auto a = io::TracedModel(io::load_keras("model.h5"));
//   const auto b = io::TracedModel::from_onnx("int8.onnx");
//   const io::ModelComparison result = io::compare_models(a, b, x);
//   for (const auto& layer : result.by_noise()) ...  // largest error first
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <octet/io/onnx.h>
#include <octet/io/tflite.h>
#include <octet/layers/model.h>
#include <octet/runtime/config.h>
#include <octet/runtime/file.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// Quantization parameters of a value in a file: q = round(value / scale) +
/// zero_point, clamped to [lowest, highest].
struct TensorQuantParams {
  float scale = 1;       ///< value of one step
  float zero_point = 0;  ///< q that represents 0
  float lowest = -128;   ///< least q
  float highest = 127;   ///< largest q
  /// Only quantized consumers, and the lowest q represents 0: the quantizer may
  /// have dropped a preceding ReLU. Values are compared after ReLU (ReLU6 if
  /// the range ends at 6).
  bool rectifies = false;

  bool operator==(const TensorQuantParams&) const = default;
};

/// An activation, input or output of a model.
struct TracedValue {
  std::string name;  ///< of its layer, without wrapper, or its node
  std::string op;    ///< class of the layer or operator: "Conv2D", "Conv"
  std::vector<size_t> reads;  ///< indices of the values it is computed from
  /// Of its quantized consumers in a file; none if there are no such consumers,
  /// and for values of a Model.
  std::optional<TensorQuantParams> qparams = {};
};

/// A model with one input whose activations are all observable. Copies share
/// the model; run() is thread-safe.
class TracedModel {
 public:
  /// With the interface of the imported ONNX file, input and outputs have the
  /// file's axis order; without, channels last.
  /// Throws: UnsupportedError for a model of several inputs; ValueError for an
  /// interface that does not fit.
  explicit TracedModel(Model model, const OnnxInterface& interface = {});
  /// Loads a file and runs it node by node with the reference of the ONNX
  /// standard (onnx_model.h).
  /// Throws: as load_onnx_reference(); UnsupportedError for a file with several
  /// inputs, without a batch dimension, or with an input type that
  /// is_port_type() rejects.
  static TracedModel from_onnx(const std::filesystem::path& path,
                               const FileLimits& limits = {});
  /// Loads the contents of a file likewise.
  static TracedModel from_onnx_bytes(const std::string& bytes,
                                     const FileLimits& limits = {});
  /// Runs a .tflite file sample by sample in the arithmetic of TensorFlow Lite
  /// Micro; quantized values are dequantized.
  /// Throws: UnsupportedError for several inputs, constant outputs, and values
  /// other than float32, int8 and uint8.
  explicit TracedModel(const TfliteModel& file);

  /// Values in topological order; the first is the input. For an ONNX file: the
  /// float32 values except outputs of Q and DQ; a Q/DQ pair appears as its
  /// input. For a .tflite file: TfliteModel::values().
  const std::vector<TracedValue>& values() const;
  /// Indices of the model's outputs in values(), in order.
  const std::vector<size_t>& outputs() const;
  /// Whether activations are [n,c,h,w], as in ONNX, not [n,h,w,c].
  bool channels_first() const;
  /// Whether the input is [n,c,h,w] or [n,c,l]; nothing if the file does not
  /// define it.
  std::optional<bool> input_channels_first() const;
  /// Layout of an output of rank 3 or 4, as an index in outputs(); nothing if
  /// the file does not define it.
  std::optional<OnnxLayout> output_layout(size_t output) const;
  /// Whether input and outputs have the axis order of a file.
  bool is_file() const;
  /// Shape of the input, [n,...]; Shape::kAnySize for dynamic sizes.
  Shape input_shape() const;
  /// Returns a float32 tensor for each of values().
  /// Throws: as Model::run(), OnnxReference::predict() or TfliteModel::trace().
  std::vector<Tensor> run(const Tensor& x) const;

 private:
  struct Body;
  explicit TracedModel(std::shared_ptr<const Body> body);
  std::shared_ptr<const Body> body_;
};

/// Difference of a value that both models compute.
struct ValueDifference {
  std::string name;      ///< TracedValue::name in the first model
  std::string op;        ///< TracedValue::op in the first model
  int64_t elements = 0;  ///< number of compared elements, over all samples
  double max_error = 0;  ///< largest |b - a|
  double largest = 0;    ///< largest |a|
  /// Power of b - a relative to that of a: 0 if equal, infinite if only a is 0,
  /// NaN if a value is NaN in only one model.
  double noise = 0;
  /// Largest `noise` of the values it is computed from.
  double noise_read = 0;
  int64_t codes = 0;       ///< number of quantized elements
  int64_t flips = 0;       ///< quantized elements whose q differs
  bool is_output = false;  ///< whether it is an output of the models

  /// Signal-to-quantization-noise ratio in dB, -10 log10(noise); infinity if
  /// equal.
  double sqnr() const;
  /// Noise that the layer adds to that of its inputs, >= 0.
  double added_noise() const;
};

/// Differences between model `a` and model `b`.
struct ModelComparison {
  int64_t samples = 0;                       ///< number of compared samples
  std::vector<ValueDifference> values = {};  ///< in the order of a
  int64_t only_in_a = 0;  ///< number of values without a comparable one in b
  int64_t only_in_b = 0;  ///< number of values without a comparable one in a
  /// Share of samples for which the first outputs [n,classes] have the same
  /// argmax.
  std::optional<double> agreement = {};
  /// Share of samples for which the first output of `a` has the label as
  /// argmax, if there are labels.
  std::optional<double> accuracy_a = {};
  std::optional<double> accuracy_b = {};  ///< likewise for `b`

  /// `values` by added noise, in descending order.
  std::vector<ValueDifference> by_noise() const;
  /// Lowest SQNR of the outputs, in dB.
  double output_sqnr() const;
  /// flips / codes over all values; 0 without quantized values.
  double flip_share() const;
};

/// Options of compare_models().
/// Fields in order: batch, labels, layout
struct ModelComparisonOptions {
  /// Samples per run, >= 1. The fixed batch size of a file takes precedence.
  int64_t batch = 16;
  Tensor labels = {};  ///< class of each sample, i64 [n], or empty
  /// Axis order of the samples if their shape is ambiguous. as_given: that of
  /// the first model.
  OnnxLayout layout = OnnxLayout::as_given;
};

/// Runs both models on x, [n,...], and compares values of the same name. x may
/// have the axis order of `a` or, if its shape is unambiguous, that of `b`, or
/// channels first or last. Values of a channels-first file are transposed for a
/// channels-last model. If one model has folded a layer (batch normalization,
/// an activation) into its predecessor, the output of the last of these layers
/// is compared. Outputs are compared by position.
/// Throws: ShapeError for samples that fit neither model, no samples, a number
/// of samples that is not a multiple of a file's fixed batch size, fixed batch
/// sizes that differ, or outputs of different shapes; ValueError for labels
/// that are not one class per sample or without a first output [n,classes],
/// different numbers of outputs, or a batch below 1.
ModelComparison compare_models(const TracedModel& a, const TracedModel& b,
                               const Tensor& x,
                               const ModelComparisonOptions& options = {});

/// Returns x in the axis order of `model`, transposed as by compare_models() if
/// x has that of `other`.
/// Throws: ShapeError as compare_models().
Tensor samples_as_in(const TracedModel& model, const TracedModel& other,
                     const Tensor& x, OnnxLayout layout = OnnxLayout::as_given);

/// Returns the largest difference of an output between batch size 1 and a batch
/// of all samples, relative to the largest output. 0 for a file with a fixed
/// batch size.
/// Throws: as run().
double batch_difference(const TracedModel& model, const Tensor& x);

/// Returns the comparison as a tree for JSON, values by added noise. Numbers
/// that are not finite become null.
Config to_config(const ModelComparison& comparison);

}  // namespace octet::io
