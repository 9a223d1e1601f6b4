// Analysis of a quantized model: sensitivity of layers, differences of
// outputs, unusable quantizers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/spec.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

// sensitivity: ranks layers by their accuracy loss through quantization.

/// Options of sensitivity().
/// Fields in order: score, samples, seed, batch_size, reference
struct SensitivityOptions {
  /// Score of a model on samples, higher is better. Default: top-1 accuracy for
  /// class labels and an output [n,classes].
  std::function<double(const Model&, const Dataset&)> score = {};
  int64_t samples = 256;    ///< size of the random subset; 0: all
  uint64_t seed = 0;        ///< of the subset
  int64_t batch_size = 64;  ///< samples per forward pass, >= 1
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
  /// Accuracy or custom score of the model; empty without either.
  std::optional<double> score = {};
};

/// The channel of a tensor with the largest quantization loss. The tensor's
/// SQNR can hide it: large channels have the power, small ones the information.
struct ChannelSensitivity {
  int64_t channel = 0;      ///< index of the channel
  double sqnr = 0;          ///< of this channel, in dB
  double range = 0;         ///< largest magnitude of this channel
  double tensor_range = 0;  ///< largest magnitude of all channels
};

/// A layer with Q/DQ. The quantizer of a shared input is switched for all its
/// consumers.
struct LayerSensitivity {
  std::string layer;         ///< name in the float model
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
  std::string quantizer;  ///< name of the quantizer
  double sqnr = 0;        ///< of the tensor, as in QuantizationLoss
  double clipped = 0;     ///< share of clipped values, [0, 1]
  /// On the last axis, ignoring all-zero channels.
  std::optional<ChannelSensitivity> worst_channel = {};
};

/// Result of sensitivity().
struct Sensitivity {
  int64_t samples = 0;                     ///< number of evaluated samples
  std::string score_name = {};             ///< "accuracy" or "score", or empty
  std::optional<double> float_score = {};  ///< score of the float model
  QuantizationLoss all = {};               ///< of the quantized model
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

// compare_outputs: acceptance test of a quantized model against its float
// model.
//
//   const OutputComparison found = compare_outputs(model, int8, test);
//   if (!found.sufficient()) {
//     throw ValueError("accuracy_dropped", "int8", found.problems());
//   }

/// Thresholds and options of compare_outputs().
/// Fields in order: min_sqnr, min_agreement, batch_size
struct OutputComparisonOptions {
  /// Minimum SQNR of each output in dB, both pooled and median over the
  /// samples.
  double min_sqnr = 15;
  /// Minimum top-1 agreement, [0, 1].
  double min_agreement = 0.9;
  int64_t batch_size = 64;  ///< samples per forward pass, >= 1
};

/// Loss of an output of a quantized model against the float model.
struct OutputLoss {
  std::string output = {};  ///< name
  /// SQNR in dB over all samples, 10 log10(sum of squares / sum of squared
  /// errors); infinite without error, NaN for NaN in an output.
  double sqnr = 0;
  /// Median of the per-sample SQNR. Ignores samples below 1/100 of the 90th
  /// percentile's power.
  double median_sqnr = 0;
  /// Share of samples (or pixels) with the float model's class. Set for class
  /// outputs: class labels, a softmax, or a sigmoid of width 1.
  std::optional<double> agreement = {};
  int64_t compared = 0;       ///< samples or pixels compared
  int64_t disagreements = 0;  ///< of `compared`
};

/// Result of compare_outputs().
struct OutputComparison {
  int64_t samples = 0;                      ///< number of compared samples
  std::vector<OutputLoss> outputs = {};     ///< in the model's order
  OutputComparisonOptions thresholds = {};  ///< the thresholds

  /// Lowest value over all outputs. NaN counts as the lowest; no agreement if
  /// no output has one.
  double sqnr() const;
  double median_sqnr() const;
  std::optional<double> agreement() const;

  /// Whether every output meets the thresholds. A single disagreement never
  /// fails.
  bool sufficient() const;
  /// Describes the failing outputs in a sentence; empty if none fail.
  std::string problems() const;
  /// "SQNR of the outputs 41.2 dB, median of the samples 40.8 dB, ..."
  std::string to_string() const;
};

/// Runs both models on all samples of `data`. Remove unusual samples first
/// (check_samples()).
/// Throws: ValueError for no samples, options out of range, and models with
/// different outputs; as Model::predict().
OutputComparison compare_outputs(const Model& reference, const Model& quantized,
                                 const Dataset& data,
                                 const OutputComparisonOptions& options = {});

// check_quantizers: finds faulty quantizers in a model and names them.

/// Defect of a quantizer.
enum class QuantizerFault {
  not_finite,  ///< NaN or infinity in a scale or value
  zeros,       ///< the tensor, or channels of it, are all zero
  zero_codes,  ///< nonzero values all quantize to 0: the scale is too large
  collapsed,  ///< a learned scale fell to its floor, 1/100 of its initial value
  clipped,    ///< the share of clipped values exceeds the limit
  never_ran,  ///< the tensor was not computed for the samples
};

/// "not finite", "zeros", ...
std::string_view to_string(QuantizerFault fault);

/// A faulty quantizer.
struct QuantizerFinding {
  std::string quantizer;  ///< name of the quantizer
  QuantizerFault fault;   ///< its defect
  double share = 1;       ///< affected share of its values or channels, (0, 1]
  std::string text;       ///< a sentence with the quantizer's name and a fix
};

/// Options of check_quantizers().
/// Fields in order: clipped, samples, seed, batch_size
struct QuantizerCheckOptions {
  double clipped = 0.05;    ///< largest share of clipped values, (0, 1]
  int64_t samples = 256;    ///< size of the random subset; 0: all
  uint64_t seed = 0;        ///< of the subset
  int64_t batch_size = 64;  ///< samples per forward pass, >= 1
};

/// Checks the weights and, on samples, the activations of every enabled
/// quantizer in the quantized model. Returns findings on weights and scales,
/// then on activations, in the model's order; empty if there are none. A model
/// with NaN in weights or scales is not run. The model is not changed.
/// Throws: ValueError for options out of range, a model without quantizers or
/// uncalibrated, or no samples; ShapeError for samples of other shapes.
std::vector<QuantizerFinding> check_quantizers(
    const Model& model, const Dataset& data,
    const QuantizerCheckOptions& options = {});

// Sparsity of pruned kernels, which training and some post-training methods
// destroy without masks.
//
//   const quant::PrunedKernels pruned(model);
//   train::fit(model, data);  // or anything else that changes weights
//   pruned.warn_if_filled("my job", model);

/// Zeros of a kernel: a trainable parameter of rank 2 or more.
struct KernelZeros {
  std::string layer;      ///< name in the float model
  std::string parameter;  ///< name of the parameter: "kernel"
  int64_t zeros = 0;      ///< number of zeros
  int64_t size = 0;       ///< number of weights, > 0

  /// zeros / size, in [0, 1].
  double share() const {
    return static_cast<double>(zeros) / static_cast<double>(size);
  }
};

/// Counts the zeros of each kernel, in layer order; shared kernels once. With
/// `quantized`, counts quantized values of zero for kernels with an enabled,
/// calibrated quantizer.
std::vector<KernelZeros> kernel_zeros(const Model& model,
                                      bool quantized = true);

/// The pruned kernels of a model: at least 20 % of their weights, but not all,
/// are exactly zero.
class PrunedKernels {
 public:
  /// Stores the positions of the zeros in the model's pruned kernels.
  explicit PrunedKernels(const Model& model);

  /// The pruned kernels, in layer order.
  const std::vector<KernelZeros>& kernels() const { return kernels_; }
  /// Describes the kernels of `model` (the model itself, later, or its
  /// counterpart) that lost zeros, after quantization if any, in more than 1 %
  /// of their weights: shares before and after, in total and by layer. Empty if
  /// there are none.
  std::string filled(const Model& model) const;
  /// Sets the stored positions of the same or a counterpart model to exactly 0.
  void clear_in(const Model& model) const;
  /// Logs filled() as a warning with `subject` and a fix.
  void warn_if_filled(std::string_view subject, const Model& model) const;

 private:
  std::vector<KernelZeros> kernels_;
  std::vector<std::vector<bool>> masks_;  // initial zeros of kernels_
};

}  // namespace octet::quant
