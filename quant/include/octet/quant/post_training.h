// Post-training quantization.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/plan.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/sensitivity.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

// Batch normalization folding into the weights and bias of the preceding layer,
// in float and quantized models.

/// The fold of a call of a BatchNormalization.
struct BatchNormFold {
  std::string batch_norm;  ///< name of the layer
  std::string into;        ///< target layer; empty if not folded
  /// Reason if not folded, otherwise side effects, if any.
  std::string reason;
  bool operator==(const BatchNormFold&) const = default;
};

/// Formats each fold as a line: "bn1 -> conv1", "bn2 stays: the output of
/// 'conv2' is used 2 times".
std::string to_string(std::span<const BatchNormFold> folds);

/// Returns the folds that fold_batch_norm() performs, for each call of a
/// BatchNormalization, in the model's order.
std::vector<BatchNormFold> batch_norm_folds(const Model& model);

/// Returns a new model in which a BatchNormalization is folded into the Conv2D,
/// DepthwiseConv2D, Conv2DTranspose, SeparableConv2D or Dense without
/// activation whose only consumer it is. The result equals inference: with f =
/// gamma / sqrt(moving_variance + epsilon),
///
///   W' = f * W,   b' = beta + (b - moving_mean) * f.
///
/// Names, the layer's trainable flag, quantizers and their sharing remain.
/// Consumers of the normalization consume the layer. A layer called several
/// times is folded if every call is followed by the same normalization.
///
/// Quantized weights keep their quantized values: with quantized values q and
/// channel scales s, s' = s * |f|, q' = q * sign(f), W' = s' * q'. Scales
/// become fixed and per channel; later training clips weights beyond their
/// range. A channel whose range falls below 2^-100 (gamma 0) gets q = 0 and
/// scale 1. A quantized DepthwiseConv2D with a multiplier becomes a Conv2D with
/// a group per channel, which has a scale per output channel.
///
/// Other normalizations remain; batch_norm_folds() returns the reasons.
/// Source: Jacob et al., arXiv 1712.05877, section 3.2, whose w_fold is W'.
Model fold_batch_norm(const Model& model);

// Structured sparsity.
//
//   sparsify(model);                                  // 2:4
//   train::fit(model, data, {.preserve_zeros = true});
//   Model int8 = quantize_model(model);               // then QAT, likewise

/// N:M sparsity: at most `kept` of `of` consecutive inputs have a weight other
/// than 0, for each output and kernel tap.
/// Fields in order: kept, of
struct SparsityPattern {
  int64_t kept = 2;  ///< weights other than 0, from 1 to 0.8 * of
  int64_t of = 4;    ///< consecutive inputs, <= 64
  bool operator==(const SparsityPattern&) const = default;
};

/// Options of sparsify().
/// Fields in order: pattern, layers
struct SparsifyOptions {
  SparsityPattern pattern = {};  ///< default: 2:4, for sparse Tensor Cores
  /// Names of the layers, all of which must be eligible. Empty: all eligible
  /// layers.
  std::vector<std::string> layers = {};
};

/// Sparsity of the kernel of a layer after sparsify().
struct LayerSparsity {
  std::string layer = {};    ///< name in the float model
  int64_t zeros = 0;         ///< number of zero weights
  int64_t size = 0;          ///< number of weights
  std::string skipped = {};  ///< reason if unchanged, otherwise empty
};

/// Sets the weights of least magnitude to 0 until the kernels of Dense, Conv1D
/// and Conv2D match the pattern along the inputs. Eligible are kernels with a
/// multiple of `pattern.of` inputs per output (of a group); others are
/// reported. A kernel that matches is unchanged. Training fills the zeros
/// unless train::FitOptions::preserve_zeros is set; all post-training methods
/// preserve them. Returns an entry for each such layer, in the model's order.
/// Throws: ValueError for a pattern out of range, an ineligible layer in
/// `layers`, no eligible layer, NaN or infinity; NotFoundError for an unknown
/// layer. The model is then unchanged.
/// Source: Mishra et al., "Accelerating sparse deep neural networks", arXiv
/// 2104.08378, sections 3 and 4.
std::vector<LayerSparsity> sparsify(Model& model,
                                    const SparsifyOptions& options = {});

// Post-training methods: improve a calibrated model without training. Use them
// separately, or let ptq_pipeline() try them in order.
//
//   Model folded = fold_batch_norm(model);
//   equalize(folded);
//   Model int4 = quantize_model(folded, {.weight = {.bits = 4,
//                                                   .narrow_range = true,
//                                                   .per_channel = true,
//                                                   .rule =
//                                                   ScaleRule::fixed}});
//   calibrate(int4, data, {.weights = WeightRange::mse});
//   round_weights(int4, data);  // or adaround(), reconstruct_blocks()
//   correct_biases(int4, data);

/// Samples and effort of the methods.
/// Fields in order: samples, seed, batch_size, damping, iterations, lambda
struct PostTrainingOptions {
  int64_t samples = 512;    ///< size of the random subset; 0: all
  uint64_t seed = 0;        ///< of the subset
  int64_t batch_size = 64;  ///< samples per forward pass, >= 1
  /// round_weights(): multiple of the mean second moment of the inputs that is
  /// added to each, [0, 1]. Prevents overfitting to few samples.
  double damping = 0.01;
  /// adaround(), reconstruct_blocks(): Adam steps of 32 samples per layer or
  /// block, >= 1.
  int64_t iterations = 1000;
  /// adaround(), reconstruct_blocks(): weight of the rounding regularizer
  /// relative to the error of nearest rounding, finite and >= 0.
  double lambda = 100;
};

/// Result of equalize() for a linear layer.
struct Equalization {
  std::string first = {};   ///< name of a linear layer
  std::string second = {};  ///< its only consumer, if linear; otherwise empty
  double smallest = 1;  ///< smallest divisor of an output channel of `first`
  double largest = 1;   ///< largest divisor of an output channel of `first`
  std::string skipped = {};  ///< reason if unchanged, otherwise empty
};

/// Cross-layer equalization of a float model. If a linear layer's only consumer
/// is a linear layer, directly or through ReLU, LeakyReLU, PReLU, pooling,
/// padding, upsampling, cropping, dropout or Flatten, channel i of the first is
/// divided by t_i = sqrt(r1_i / r2_i) and the second's weights are multiplied
/// by it. r1 and r2 are the largest magnitudes of the weights that produce and
/// consume the channel. The model's function is unchanged up to float rounding;
/// all-zero channels are left out. Iterates over the pairs until no t differs
/// from 1 by more than 0.01, at most 20 times. Call fold_batch_norm() first.
/// Returns every linear layer, with the reason if skipped.
/// Throws: ValueError for a quantized model, NaN or infinity in a weight.
/// Source: Nagel et al., "Data-free quantization", arXiv 1906.04721,
/// section 4.1.
std::vector<Equalization> equalize(Model& model);

/// Result of a weight rounding method for a layer.
struct LayerRounding {
  std::string layer = {};  ///< name in the float model
  /// Squared error over the sum of squares, on the samples, by nearest
  /// rounding. Measured on the layer's outputs before activation
  /// (round_weights()) or after it (adaround()), or on the block's outputs
  /// (reconstruct_blocks()).
  double nearest_error = 0;
  double error = 0;          ///< likewise, of the result
  int64_t changed = 0;       ///< weights not rounded to nearest
  std::string skipped = {};  ///< reason if unchanged, otherwise empty
};

/// Second-order rounding (GPTQ), layer by layer in the model's order. Selects
/// the quantized weights of each output with the least squared error in that
/// output, from second moments of the layer's inputs, all preceding layers
/// quantized and rounded. No layer is worse than with nearest rounding. Weights
/// become scale * q, weights of 0 stay 0; scales are unchanged. Supports Dense,
/// Conv1D, Conv2D (with groups) and their depthwise forms. Other layers and
/// shared weights are rounded to nearest.
/// Throws: ValueError for an uncalibrated model, live weight scales (which
/// would follow the rounded weights), and NaN or infinity.
/// Source: Frantar et al., arXiv 2210.17323.
std::vector<LayerRounding> round_weights(
    Model& model, const Dataset& data, const PostTrainingOptions& options = {});

/// AdaRound, layer by layer in the model's order: rounds each weight up or down
/// by gradient descent, so that the layer's outputs after activation match the
/// float model's, given inputs with all preceding layers quantized and rounded.
/// With h the position between the two quantized values, it minimizes
///   error / error of nearest rounding + lambda * mean(1 - |2h - 1|^beta),
/// beta falling from 20 to 2, without the second term in the first fifth of the
/// iterations. No layer is worse than with nearest rounding. Bit-identical for
/// any number of threads. Weights become scale * q; scales are unchanged.
/// Applies to layers with quantized weights, except those called several times
/// or with shared parameters. Memory: a layer's inputs and outputs for all
/// samples. Time: about that of training on 32 * iterations samples.
/// Throws: ValueError for an uncalibrated model, live weight scales, options
/// out of range, and NaN or infinity, naming the layer; the model is then
/// unchanged.
/// Source: Nagel et al., "Up or down?", arXiv 2004.10568, with absolute error,
/// lambda 0.01 and 10,000 iterations.
std::vector<LayerRounding> adaround(Model& model, const Dataset& data,
                                    const PostTrainingOptions& options = {});

/// AdaRound block by block, all weights of a block at once. A block lies
/// between two tensors through which all data flows, such as a residual block
/// with its activation. In a chain each layer is a block.
/// Source: Li et al., "BRECQ", arXiv 2102.05426, without its Fisher matrix.
std::vector<LayerRounding> reconstruct_blocks(
    Model& model, const Dataset& data, const PostTrainingOptions& options = {});

/// Result of correct_biases() for a layer.
struct LayerBias {
  std::string layer = {};    ///< name in the float model
  double largest_shift = 0;  ///< largest correction of a channel's mean
  std::string skipped = {};  ///< reason if unchanged, otherwise empty
};

/// Bias correction, layer by layer in the model's order: adds to each bias the
/// float model's mean output minus the quantized model's, before activation,
/// all preceding layers quantized and corrected. The mean error on the samples
/// becomes zero. Skips layers without a bias; fold_batch_norm() adds one.
/// Throws: ValueError for an uncalibrated model, NaN or infinity.
/// Source: Nagel et al., arXiv 1906.04721, section 4.2, empirical correction.
std::vector<LayerBias> correct_biases(Model& model, const Dataset& data,
                                      const PostTrainingOptions& options = {});

// ptq_pipeline: the PTQ pipeline. Tries post-training methods in order and
// returns the best model.
//
//   const PtqPipeline best = ptq_pipeline(model, samples, {}, {.quantize =
//   w4a8});

/// Options of ptq_pipeline().
/// Fields in order: quantize, place, score, check, held_out, below_float,
/// methods
struct PtqPipelineOptions {
  /// Q/DQ placement and widths. Live weight scales become fixed.
  QuantizeOptions quantize = {};
  /// Alternative to `quantize`: returns an uncalibrated model with Q/DQ and
  /// fixed weight scales. Example with patterns:
  ///   .place = [](const Model& m) {
  ///     const TransformResult found = transform(m, tensorrt_patterns());
  ///     return insert_qdq(found.model, found.matches, {.weight = fixed});
  ///   }
  std::function<Model(const Model&)> place = {};
  /// Custom score of a model on samples, higher is better, that selects the
  /// model. Default: the SQNR of the outputs selects; `target` refers to top-1
  /// accuracy for class labels and an output [n,classes].
  std::function<double(const Model&, const Dataset&)> score = {};
  /// Metric for `target` instead of top-1 accuracy; does not select.
  std::function<double(const Model&, const Dataset&)> check = {};
  double held_out = 0.25;  ///< share of held-out samples, (0, 1)
  /// `target` is the largest drop below the float model's score on the held-out
  /// samples.
  bool below_float = false;
  /// Options of the methods. `seed` and `batch_size` also apply to the held-out
  /// split, calibration and evaluation.
  PostTrainingOptions methods = {};
};

/// A stage: its method and the result on the held-out samples.
struct PtqStage {
  std::string method;  ///< "nearest rounding", "AdaRound", ...
  /// Accuracy or custom score; empty without labels.
  std::optional<double> score = {};
  /// In dB, as CalibrationTrial::output_sqnr.
  double output_sqnr = 0;
};

/// Result of ptq_pipeline().
struct PtqPipeline {
  Model model;                             ///< of the best stage
  std::optional<double> float_score = {};  ///< float model, as PtqStage::score
  /// Lowest accepted score, if any; with `below_float`, the float model's score
  /// less the accepted drop.
  std::optional<double> target = {};
  std::vector<PtqStage> stages = {};  ///< stages, in order
  std::string selected = {};          ///< method of the best stage
  bool met = false;      ///< the best stage meets the target, if any
  int64_t held_out = 0;  ///< held-out samples

  /// Returns whether the target was met, or the shortfall; then the stages.
  std::string to_string() const;
};

/// Folds batch normalization, quantizes and calibrates with auto_calibrate(),
/// which holds out samples separately; below 8 bits weight scales have least
/// square error. Then tries equalize(), correct_biases(), round_weights(), the
/// last two together, adaround(), and reconstruct_blocks() if a block has
/// several layers. All but equalize() start from the better of the models with
/// and without it. Returns the model with the highest output SQNR on the
/// held-out samples, or with the highest custom score; 100 labels cannot rank
/// two methods. With a `target`, stops at the first model whose accuracy or
/// score meets it; otherwise tries all methods and needs no labels. A missed
/// target is not an error: `met` is false, and the best model is returned.
/// Ignores unusual samples (check_samples()) with a warning. Fewer than four
/// samples are not split: all serve both purposes, with a warning.
/// Throws: as quantize_model() and auto_calibrate(); ValueError for a target or
/// score that is NaN, a target without labels or a score, and live weight
/// scales of `place`.
PtqPipeline ptq_pipeline(const Model& model, const Dataset& data,
                         std::optional<double> target = {},
                         const PtqPipelineOptions& options = {});

// auto_mixed_precision: mixed-precision search, fewer weight bits for the
// layers that tolerate them best.

/// Latency of a layer on the target device with 8-bit weights (`wide`) and with
/// `narrow` ones, in any unit common to all layers.
struct LayerLatency {
  std::string layer;  ///< name of a layer with quantized weights
  double wide = 0;    ///< finite, >= 0
  double narrow = 0;  ///< finite, >= 0
};

/// Budget and options of auto_mixed_precision().
/// Fields in order: mean_bits, bytes, latency, score_loss, latencies, narrow,
/// narrow_activations, quantize, sensitivity
struct MixedPrecisionOptions {
  // The budget: at most one of these four. Default: mean_bits = max(6, narrow).
  /// Largest mean number of bits per quantized weight; [narrow, 8].
  std::optional<double> mean_bits = {};
  /// Largest total size of all quantized weights in bytes, bit-packed by layer.
  std::optional<int64_t> bytes = {};
  /// Largest sum of `latencies` over the layers with quantized weights.
  std::optional<double> latency = {};
  /// Largest loss of `sensitivity`'s score against 8 bits, >= 0.
  std::optional<double> score_loss = {};

  /// An entry per layer with quantized weights, or none. Required by `latency`;
  /// for other budgets only reported as MixedPrecision::latency.
  std::vector<LayerLatency> latencies = {};
  int narrow = 4;  ///< bits of the narrow layers' weights, [2, 7]
  /// Bits of the narrow layers' inputs, [2, 8], for devices whose kernels need
  /// few bits on both sides. A tensor that a wide layer or a layer without
  /// weights also consumes keeps 8. Budgets count weights, or latencies.
  int narrow_activations = 8;
  /// Q/DQ placement. Its `bits` are ignored, as the search determines them.
  /// Live weight scales become fixed, with least square error.
  QuantizeOptions quantize = {};
  /// Samples and score. `samples` and `seed` also select the samples for
  /// calibration.
  SensitivityOptions sensitivity = {};
};

/// A layer with quantized weights.
struct MixedPrecisionLayer {
  std::string layer;        ///< name in the float model
  int64_t weights = 0;      ///< number of quantized weights
  int bits = 8;             ///< bits of its weights: 8 or `narrow`
  int activation_bits = 8;  ///< bits of its inputs: 8 or `narrow_activations`
  /// SQNR of the model's outputs, as in QuantizationLoss, if this layer alone
  /// is narrowed: its weights to `narrow` bits, its inputs to
  /// `narrow_activations` if below 8.
  double sqnr = 0;
};

/// Result of auto_mixed_precision().
struct MixedPrecision {
  double mean_bits = 8;  ///< over all quantized weights
  int64_t bytes = 0;     ///< as in MixedPrecisionOptions
  std::optional<double> latency =
      {};  ///< as in MixedPrecisionOptions, given latencies
  std::vector<MixedPrecisionLayer> layers = {};  ///< in the model's order
  /// Score with 8 bits in all layers; set by `score_loss`.
  std::optional<double> wide_score = {};
  std::optional<double> score = {};  ///< of the result; set by `score_loss`

  /// Returns the layers below 8 bits, for QuantizeOptions::bits.
  std::vector<LayerBits> bits() const;
  /// Returns a summary and a table of the layers.
  std::string to_string() const;
};

/// Narrows the weights of layers by increasing output noise per bit saved until
/// the budget is met. The layer that completes the budget is the quietest that
/// suffices. Noise is assumed to add up over layers. Runs as long as
/// sensitivity(). `score_loss` searches for the longest prefix of that order
/// that keeps the score, evaluating a handful of calibrated models.
///
///   QuantizeOptions options;
///   options.bits = auto_mixed_precision(model, data, {.mean_bits = 5}).bits();
///   options.weight.rule = ScaleRule::fixed;
///   Model int8 = quantize_model(model, options);
///   calibrate(int8, data, {.weights = WeightRange::mse});
///
/// With `narrow_activations`, calibrate with `.method = Calibration::mse`, as
/// auto_mixed_precision() does.
///
/// Throws: ValueError for several budgets, widths out of range,
/// `quantize.weight` (with `narrow_activations` also `quantize.activation`)
/// other than 8 bits, a budget below that of all layers narrow, and a latency
/// that is negative or not finite; NotFoundError for a layer without a latency
/// or a latency without a layer; as quantize_model(), calibrate() and
/// sensitivity().
MixedPrecision auto_mixed_precision(const Model& model, const Dataset& data,
                                    const MixedPrecisionOptions& options = {});

}  // namespace octet::quant
