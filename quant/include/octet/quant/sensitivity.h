// sensitivity: at which layers a quantized model loses what it loses.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/spec.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

/// Fields in order: score, samples, seed, batch_size, reference
struct SensitivityOptions {
  /// How good a model is on samples; more is better. Unless given: top-1
  /// accuracy, where labels are classes and the model ends in [n,classes].
  std::function<double(const Model&, const Dataset&)> score = {};
  int64_t samples = 256;  ///< as many, chosen by chance; 0: all
  uint64_t seed = 0;      ///< of that choice
  int64_t batch_size = 64;
  /// Float model that was quantized, for weights that are stored rounded, as in
  /// an ONNX file: without Q/DQ a layer has the reference's weights, and
  /// outputs are compared with the reference's. Layers are matched by name. Has
  /// to outlive the call.
  const Model* reference = nullptr;
};

/// A model beside the float one.
struct QuantizationLoss {
  /// Of the outputs: 10 log10(sum of squares / sum of squared errors) in dB;
  /// infinite without an error.
  double sqnr = 0;
  std::optional<double> score = {};
};

/// The channel of a tensor that quantization costs most. The tensor's SQNR may
/// hide it: a large channel has all the power, and small ones the information.
struct ChannelSensitivity {
  int64_t channel = 0;
  double sqnr = 0;          ///< of its values alone
  double range = 0;         ///< largest magnitude of its values
  double tensor_range = 0;  ///< that of all channels
};

/// A layer with Q/DQ. What it reads may have other readers, whose quantizer is
/// the same: it is switched for all of them.
struct LayerSensitivity {
  std::string layer;
  QuantizationLoss alone;    ///< all other layers are float
  QuantizationLoss without;  ///< this one is float, all others quantized
  std::optional<double> weights = {};  ///< SQNR as `alone`, of its weights only
  std::optional<double> activations = {};  ///< of what it reads (or writes)
  /// By how much rounding its weights raises the cross-entropy, to second
  /// order: half the sum of mean squared gradients times squared rounding
  /// errors, over 64 of the samples at most. Where accuracy is the score, the
  /// model ends in softmax or a linear layer, and the weights take gradients.
  /// Source: as Kim et al., BRECQ, arXiv 2102.05426, section 3.2, with
  /// gradients of weights.
  std::optional<double> loss_rise = {};
  /// The worst of the tensors that it reads: a name of `tensors`.
  std::string tensor = {};
  /// The input channel (or, of weights with one scale, output channel) whose
  /// weights lose most.
  std::optional<ChannelSensitivity> weight_channel = {};
  /// Whether equalize() applies to the channels of its input: a linear layer
  /// produces them, alone and through normalization and ReLU at most.
  bool equalizable = false;
};

/// A quantized activation in the float model.
struct TensorSensitivity {
  std::string quantizer;
  double sqnr = 0;     ///< of the tensor, as in QuantizationLoss
  double clipped = 0;  ///< share of the values beyond the range, [0, 1]
  /// Of the last axis, channels of zeros left out.
  std::optional<ChannelSensitivity> worst_channel = {};
};

struct Sensitivity {
  int64_t samples = 0;
  std::string score_name = {};  ///< "accuracy" or "score"; empty without one
  std::optional<double> float_score = {};
  QuantizationLoss all = {};                    ///< of the model as it is
  std::vector<LayerSensitivity> layers = {};    ///< in the model's order
  std::vector<TensorSensitivity> tensors = {};  ///< likewise

  /// The layers, those that lose most alone first.
  std::vector<LayerSensitivity> by_sqnr() const;
  /// A spec that leaves `count` layers in float, those that lose most alone:
  /// `quantize_model(model, {.spec = found.exclude(2)})`.
  /// Throws: ValueError for a count below 0.
  QuantizationSpec exclude(int64_t count) const;

  /// What is to blame, and what helps: a line each. Names the worst channel of
  /// a tensor or weight whose channels have unlike ranges, and equalize() where
  /// that is the cure.
  std::string blame() const;
  /// blame(); then the layers and the tensors, worst first.
  std::string to_string() const;
};

/// Runs copies of the model with some of its quantizers on: four times for each
/// layer, on options.samples. ResNet-50's 70 layers take as long as 280
/// inferences of all of these. The model stays as it is.
/// Throws: ValueError for a model without quantizers, one that is not
/// calibrated, no samples, options out of range, a score or an output that is
/// NaN, and for a reference with other weights; NotFoundError for a reference
/// without a layer of a quantized weight; ShapeError for samples or a reference
/// that do not fit.
Sensitivity sensitivity(const Model& quantized, const Dataset& data,
                        const SensitivityOptions& options = {});

}  // namespace octet::quant
