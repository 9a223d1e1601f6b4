// The wrapper route: a policy decides on every layer, cases and the user's
// spec overrule it, and the resulting plan is applied.
#pragma once

#include <string>
#include <vector>

#include <octet/quant/insertion_case.h>
#include <octet/quant/layer_bits.h>
#include <octet/quant/plan.h>
#include <octet/quant/spec.h>

namespace octet::quant {

enum class QuantizationMode {
  full,     ///< every layer, as the policy says unless a spec or case does
  partial,  ///< only layers that the spec or a case names
};

/// Who decides where neither the spec nor a case does.
enum class Policy {
  /// What TensorRT fuses, rule by rule: see TensorrtPolicy.
  tensorrt,
  /// The class defaults of NVIDIA's tensorflow-quantization.
  toolkit,
};

/// What to do about names in a spec that the model does not have.
enum class OnUnknown { error, warn };

/// Options of Policy::tensorrt, by the rules of quant/README.md.
/// Source: TensorRT developer guide, "Q/DQ placement recommendations", and
/// ModelOpt's onnx quantization.
struct TensorrtPolicy {
  bool residual = true;        ///< P04, P06 to P08, P22: Add
  bool average_pools = true;   ///< P11
  bool squeeze_excite = true;  ///< P15: Multiply by a gate
  bool first_layer = true;     ///< A06: without a linear predecessor
  bool last_layer = true;      ///< A06: without a linear successor
  /// P24: convolutions of fewer than 16 channels in or out, but for those that
  /// ModelOpt quantizes.
  bool skip_narrow_convs = false;
  bool skip_tiny_gemms = false;  ///< P25: Dense, fewer than 16 features
  bool skip_depthwise = false;   ///< P26: one filter a channel
};

/// Options of Policy::toolkit.
/// Source: tensorflow-quantization 0.2.0, quantize_config.py.
struct ToolkitPolicy {
  /// Placement as the toolkit's also where Octet's is another on purpose:
  /// entries of classes say no more than the class, names come before classes
  /// whoever gives them, and a case's names before the user's. What is an error
  /// here stays one.
  bool strict = false;
};

/// Fields in order: mode, spec, cases, policy, tensorrt, toolkit, on_unknown,
/// activation, weight, bits
struct QuantizeOptions {
  QuantizationMode mode = QuantizationMode::full;
  QuantizationSpec spec = {};
  std::vector<InsertionCase> cases = {};
  Policy policy = Policy::tensorrt;
  TensorrtPolicy tensorrt = {};
  ToolkitPolicy toolkit = {};  ///< of that policy alone
  OnUnknown on_unknown = OnUnknown::error;
  QuantizerConfig activation = activation_quantizer();
  QuantizerConfig weight = weight_quantizer();
  /// Widths of single layers, as with_bits() gives them.
  std::vector<LayerBits> bits = {};
};

/// Where Q/DQ goes and why, and where not and why. Nothing is changed.
/// Precedence on a layer: user > case (the later one) > policy.
/// Throws: NotFoundError, with the nearest names, for a layer or pattern that
/// the model does not have; UnsupportedError for an unknown class, and for
/// layers and classes without a wrapper, unless they are switched off;
/// ValueError for an index that a layer does not have, for partial mode
/// without a spec or case, for toolkit.strict with another policy, and for a
/// model that is quantized.
/// With OnUnknown::warn what is unknown is warned of and skipped.
Placement place(const Model& model, const QuantizeOptions& options = {});

/// apply(place(model, options).plan, model): a new model; nothing given is
/// changed. Throws: as place(); ValueError if nothing would be quantized.
Model quantize_model(const Model& model, const QuantizeOptions& options = {});

}  // namespace octet::quant
