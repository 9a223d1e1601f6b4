// sensitivity: ranks layers by their accuracy loss through quantization.
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
  /// Score of a model on samples, higher is better. Default: top-1 accuracy for
  /// class labels and an output [n,classes].
  std::function<double(const Model&, const Dataset&)> score = {};
  int64_t samples = 256;  ///< size of the random subset; 0: all
  uint64_t seed = 0;      ///< of the subset
  int64_t batch_size = 64;
  /// Original float model, for models with weights stored rounded, as in ONNX
  /// files. Provides the weights of layers without Q/DQ and the reference
  /// outputs. Layers are matched by name. Must outlive the call.
  const Model* reference = nullptr;
};

/// Loss of a model against the float model.
struct QuantizationLoss {
  /// Output SQNR in dB, 10 log10(sum of squares / sum of squared errors);
  /// infinite without error.
  double sqnr = 0;
  std::optional<double> score = {};
};

/// The channel of a tensor with the largest quantization loss. The tensor's
/// SQNR can hide it: large channels have the power, small ones the information.
struct ChannelSensitivity {
  int64_t channel = 0;
  double sqnr = 0;          ///< of this channel
  double range = 0;         ///< largest magnitude of this channel
  double tensor_range = 0;  ///< largest magnitude of all channels
};

/// A layer with Q/DQ. The quantizer of a shared input is switched for all its
/// consumers.
struct LayerSensitivity {
  std::string layer;
  QuantizationLoss alone;    ///< this layer quantized, all others float
  QuantizationLoss without;  ///< this layer float, all others quantized
  std::optional<double> weights = {};  ///< output SQNR, its weights quantized
  std::optional<double> activations = {};  ///< likewise its inputs (or output)
  /// Second-order increase of the cross-entropy by rounding the weights: half
  /// the sum of mean squared gradients times squared rounding errors, over at
  /// most 64 samples. Set if accuracy is the score, the model ends in softmax
  /// or a linear layer, and the weights are trainable.
  /// Source: as Kim et al., BRECQ, arXiv 2102.05426, section 3.2, with weight
  /// gradients.
  std::optional<double> loss_rise = {};
  /// Its input with the lowest SQNR; a name in `tensors`.
  std::string tensor = {};
  /// Input channel (for per-tensor scales: output channel) whose weights lose
  /// most.
  std::optional<ChannelSensitivity> weight_channel = {};
  /// Whether equalize() applies to its input channels: produced by a linear
  /// layer, with at most normalization and ReLU between, and no other consumer.
  bool equalizable = false;
};

/// A quantized activation in the float model.
struct TensorSensitivity {
  std::string quantizer;
  double sqnr = 0;     ///< of the tensor, as in QuantizationLoss
  double clipped = 0;  ///< share of clipped values, [0, 1]
  /// On the last axis, ignoring all-zero channels.
  std::optional<ChannelSensitivity> worst_channel = {};
};

struct Sensitivity {
  int64_t samples = 0;
  std::string score_name = {};  ///< "accuracy" or "score", or empty
  std::optional<double> float_score = {};
  QuantizationLoss all = {};                    ///< of the quantized model
  std::vector<LayerSensitivity> layers = {};    ///< in the model's order
  std::vector<TensorSensitivity> tensors = {};  ///< in the model's order

  /// Returns the layers by increasing SQNR when quantized alone.
  std::vector<LayerSensitivity> by_sqnr() const;
  /// Returns a spec that leaves the `count` most sensitive layers in float:
  /// `quantize_model(model, {.spec = found.exclude(2)})`.
  /// Throws: ValueError for a count below 0.
  QuantizationSpec exclude(int64_t count) const;

  /// Returns causes and fixes, one per line. Names the worst channel of tensors
  /// and weights with unequal channel ranges, and equalize() if it applies.
  std::string blame() const;
  /// Returns blame(), then the layers and tensors, worst first.
  std::string to_string() const;
};

/// Evaluates copies of the model with subsets of its quantizers enabled: four
/// runs over options.samples for each layer (ResNet-50's 70 layers: 280 runs).
/// The model is not changed.
/// Throws: ValueError for a model without quantizers or uncalibrated, no
/// samples, options out of range, a score or output that is NaN, and a
/// reference with other weights; NotFoundError for a reference that lacks a
/// layer of a quantized weight; ShapeError for samples or a reference of other
/// shapes.
Sensitivity sensitivity(const Model& quantized, const Dataset& data,
                        const SensitivityOptions& options = {});

}  // namespace octet::quant
