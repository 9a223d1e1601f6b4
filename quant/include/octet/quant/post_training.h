// Post-training methods: what makes a calibrated model more accurate without
// training. Each is usable alone; ptq_ladder() tries them in order.
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
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

/// What the methods look at, and how long.
/// Fields in order: samples, seed, batch_size, damping, iterations, lambda
struct PostTrainingOptions {
  int64_t samples = 512;  ///< as many, chosen by chance; 0: all
  uint64_t seed = 0;      ///< of that choice
  int64_t batch_size = 64;
  /// Of round_weights(): so many times the mean second moment of the inputs is
  /// added to that of each, [0, 1]. With few samples it keeps codes from
  /// fitting these alone.
  double damping = 0.01;
  /// Of adaround() and reconstruct_blocks(): steps of Adam for each layer or
  /// block, >= 1, of 32 samples each.
  int64_t iterations = 1000;
  /// Of these, too: the weight of what drives weights to their codes, finite
  /// and >= 0, where 1 is that of the error which nearest rounding makes.
  double lambda = 100;
};

/// What equalize() did between two layers.
struct Equalization {
  std::string first = {};   ///< a linear layer
  std::string second = {};  ///< the one that reads it; empty if none does alone
  /// By what the outputs of `first` were divided: the least and the largest.
  double smallest = 1;
  double largest = 1;
  std::string skipped = {};  ///< why nothing was changed; empty if it was
};

/// Cross-layer equalisation of a float model: where one linear layer alone
/// reads another, straight or through ReLU, channel i of the first is divided
/// by t_i = sqrt(r1_i / r2_i), r1 and r2 being the largest magnitudes of the
/// weights that make it and that read it, and the second's weights are
/// multiplied by it. The function stays what it was, up to rounding to float;
/// channels whose weights are all zero stay, too. Pairs are gone through until
/// no t differs from 1 by more than a hundredth, or 20 times. Batch
/// normalization between two layers is no ReLU: fold_batch_norm() first.
/// Returns every linear layer with the reason where it was skipped.
/// Throws: ValueError for a quantized model, NaN or infinity in a weight.
/// Source: Nagel et al., "Data-free quantization", arXiv 1906.04721, section
/// 4.1.
std::vector<Equalization> equalize(Model& model);

/// What a method that chooses the codes of weights did with a layer.
struct LayerRounding {
  std::string layer = {};
  /// Squared error over the sum of squares, on the samples, rounded to nearest
  /// and as it is now: round_weights() looks at the layer's outputs before
  /// activation, adaround() behind it, reconstruct_blocks() at its block's.
  double nearest_error = 0;
  double error = 0;
  int64_t changed = 0;       ///< weights with other codes than the nearest
  std::string skipped = {};  ///< why nothing was changed; empty if it was
};

/// Second-order rounding (GPTQ), layer by layer in the model's order: the codes
/// of each output's weights are those that give the least squared error in that
/// output, found by the second moments of what the layer reads, with all layers
/// before it quantized and rounded. No layer is worse than nearest rounding.
/// The weights become scale * code, so that sessions and files have these very
/// codes. Scales stay as they are.
/// Dense, Conv1D, Conv2D (with groups) and their depthwise kin; others stay at
/// nearest rounding. So do weights that several layers have in common.
/// Throws: ValueError if the model is not calibrated, for live scales of
/// weights, which would follow the rounded ones, and for NaN or infinity.
/// Source: Frantar et al., arXiv 2210.17323.
std::vector<LayerRounding> round_weights(
    Model& model, const Dataset& data, const PostTrainingOptions& options = {});

/// AdaRound, layer by layer in the model's order: each weight becomes one of
/// the two codes around it, chosen by gradient descent such that the layer, of
/// what it reads with all layers before it quantized and rounded, makes what it
/// makes in the float model, both behind its activation. The descent goes over
/// shares h between the two codes and over
///   error / error of nearest rounding + lambda * mean(1 - |2h - 1|^beta),
/// with beta from 20 to 2, without the second term in the first fifth of the
/// iterations. No layer is worse than nearest rounding. The same bits for any
/// number of threads. The weights become scale * code; scales stay.
/// For every layer with quantized weights, but those that are called in several
/// places, or have a parameter in common with others.
/// Keeps what one layer reads and makes, of all samples, in memory, and takes
/// about as long as training the model on 32 * iterations samples.
/// Throws: ValueError if the model is not calibrated, for live scales of
/// weights, options out of range, and for NaN or infinity, naming the layer;
/// the model is then as it was.
/// Source: Nagel et al., "Up or down?", arXiv 2004.10568. There the error is
/// absolute, lambda 0.01, and iterations are 10,000.
std::vector<LayerRounding> adaround(Model& model, const Dataset& data,
                                    const PostTrainingOptions& options = {});

/// The same block by block, the roundings of all of a block's weights at once:
/// a block is what stands between two tensors that everything passes through,
/// one alone, as a residual block, with the activation behind it. Where the
/// model is a chain, each layer is one.
/// Source: Li et al., "BRECQ", arXiv 2102.05426, without its Fisher matrix.
std::vector<LayerRounding> reconstruct_blocks(
    Model& model, const Dataset& data, const PostTrainingOptions& options = {});

/// What correct_biases() did with a layer.
struct LayerBias {
  std::string layer = {};
  double largest_shift = 0;  ///< of a channel's mean, that was corrected
  std::string skipped = {};  ///< why nothing was changed; empty if it was
};

/// Bias correction, layer by layer in the model's order: adds to each bias the
/// mean of that output in the float model less that in the quantized one, both
/// before activation and over the same samples, with all layers before it
/// quantized and corrected. On these samples the mean error is then zero.
/// Layers without a bias are skipped: fold_batch_norm() gives them one.
/// Throws: ValueError if the model is not calibrated; for NaN or infinity.
/// Source: Nagel et al., arXiv 1906.04721, section 4.2, empirical correction.
std::vector<LayerBias> correct_biases(Model& model, const Dataset& data,
                                      const PostTrainingOptions& options = {});

}  // namespace octet::quant
