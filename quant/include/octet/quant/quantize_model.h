// Quantization of a model: insertion of Q/DQ pairs by policy, spec or plan.
#pragma once

#include <string>
#include <vector>

#include <octet/quant/plan.h>
#include <octet/quant/quantizer.h>
#include <octet/quant/spec.h>

namespace octet::quant {

// The wrapper route: builds a plan from a policy, overridden by cases and the
// user's spec, and applies it.

/// Layers that quantize_model() considers.
enum class QuantizationMode {
  full,     ///< all layers, by policy unless a spec or case decides
  partial,  ///< only layers named by the spec or a case
};

/// Placement policy for layers without a decision by spec or case.
enum class Policy {
  /// TensorRT's fusions, rule by rule: see TensorrtPolicy.
  tensorrt,
  /// The class defaults of NVIDIA's tensorflow-quantization.
  toolkit,
  /// TensorFlow Lite's integer operators, for io::export_tflite(): outputs and
  /// weights of every layer, asymmetric activations, fixed scales of softmax
  /// and the sigmoid, equal scales around Concatenate, pooling and reshaping.
  /// See docs/guides/tflite.md.
  tflite,
};

/// Treatment of unknown names in a spec.
enum class OnUnknown {
  error,  ///< throw an error
  warn,   ///< log a warning and ignore the name
};

/// Options of Policy::tensorrt. P04, A06, ... are the ids of its rules;
/// docs/guides/placement-tensorrt.md describes them.
/// Source: TensorRT developer guide, "Q/DQ placement recommendations", and
/// ModelOpt's onnx quantization.
struct TensorrtPolicy {
  bool residual = true;        ///< quantize inputs of Add: P04, P06 to P08, P22
  bool average_pools = true;   ///< quantize inputs of average pooling: P11
  bool squeeze_excite = true;  ///< quantize inputs of Multiply by a gate: P15
  /// Quantize linear layers without a linear predecessor: A06.
  bool first_layer = true;
  /// Quantize linear layers without a linear successor: A06.
  bool last_layer = true;
  /// Skip convolutions with fewer than 16 channels in or out, but for
  /// ModelOpt's exceptions: P24.
  bool skip_narrow_convs = false;
  /// Skip Dense with fewer than 16 features in or out: P25.
  bool skip_tiny_gemms = false;
  /// Skip convolutions with one filter per channel: P26.
  bool skip_depthwise = false;
  /// Skip layers too small for FP8 kernels: P32. Always on if the activations
  /// have NumberFormat::fp8_e4m3.
  bool skip_without_fp8 = false;
};

/// Options of Policy::toolkit.
/// Source: tensorflow-quantization 0.2.0, quantize_config.py.
struct ToolkitPolicy {
  /// Reproduce the toolkit's placement even where Octet's differs on purpose:
  /// class entries switch a class on regardless of flags, names override
  /// classes regardless of the source, and a case's names override the user's.
  /// Errors remain errors.
  bool strict = false;
};

/// Options of Policy::tflite.
struct TflitePolicy {
  /// Whether weights of Dense layers have a scale per output channel. False: a
  /// scale per tensor, for runtimes whose FULLY_CONNECTED applies the first
  /// scale to all channels.
  bool per_channel_dense = true;
};

/// Options of place() and quantize_model().
/// Fields in order: mode, spec, cases, policy, tensorrt, toolkit, tflite,
/// on_unknown, activation, weight, weights_only, bits
struct QuantizeOptions {
  /// Whether the policy decides on layers without a decision by spec or case.
  QuantizationMode mode = QuantizationMode::full;
  QuantizationSpec spec = {};  ///< the user's requests, which override others
  std::vector<InsertionCase> cases = {};  ///< later cases override earlier ones
  Policy policy = Policy::tensorrt;       ///< for QuantizationMode::full
  TensorrtPolicy tensorrt = {};           ///< for Policy::tensorrt only
  ToolkitPolicy toolkit = {};             ///< for Policy::toolkit only
  TflitePolicy tflite = {};               ///< for Policy::tflite only
  /// Treatment of unknown names, and of layers without a wrapper, in specs.
  OnUnknown on_unknown = OnUnknown::error;
  /// Quantizers of activations: per tensor, not live.
  QuantizerConfig activation = activation_quantizer();
  /// Quantizers of weights: signed, with a live, fixed or learned scale.
  QuantizerConfig weight = weight_quantizer();
  /// Quantize only kernels [in,out] with at least 16 inputs and outputs, as in
  /// W4A16: rule P33. Activations stay in float, as do layers that are exported
  /// as convolutions. Specs and cases take precedence.
  bool weights_only = false;
  /// Bit widths of single layers, as for with_bits().
  std::vector<LayerBits> bits = {};
};

/// Returns a plan, with reasons for layers with and without Q/DQ. Precedence
/// per layer: user > later case > earlier case > policy.
/// Throws: NotFoundError, with similar names, for an unknown layer or pattern;
/// UnsupportedError for an unknown class and for layers and classes without a
/// wrapper, unless disabled; ValueError for an input index out of range,
/// partial mode without a spec or case, toolkit.strict with another policy, and
/// a quantized model. OnUnknown::warn logs a warning and ignores unknown names.
Placement place(const Model& model, const QuantizeOptions& options = {});

/// Returns a copy of the model in the form that Policy::tflite quantizes, with
/// a tensor at the input of every operator of TensorFlow Lite:
///  - activations of convolutions and Dense layers other than ReLU and ReLU6
///    become layers, named "<layer>_activation";
///  - SiLU becomes x * sigmoid(x), named "<layer>_sigmoid" and "<layer>";
///  - Add and Multiply of more than two inputs become layers of two, named
///    "<layer>_1", "<layer>_2", ...; the last one keeps its name.
Model tflite_form(const Model& model);

/// Returns apply(place(model, options).plan, model), a new model. For
/// Policy::tflite, of tflite_form(model).
/// Throws: as place(); ValueError for an empty plan.
Model quantize_model(const Model& model, const QuantizeOptions& options = {});

}  // namespace octet::quant
