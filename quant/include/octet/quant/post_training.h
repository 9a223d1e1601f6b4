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
//   round_weights(int4, data);
//   correct_biases(int4, data);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

/// Which samples the methods look at.
struct PostTrainingOptions {
  int64_t samples = 512;  ///< as many, chosen by chance; 0: all
  uint64_t seed = 0;      ///< of that choice
  int64_t batch_size = 64;
  /// Of round_weights(): so many times the mean second moment of the inputs is
  /// added to that of each, [0, 1]. With few samples it keeps codes from
  /// fitting these alone.
  double damping = 0.01;
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

/// What round_weights() did with a layer.
struct LayerRounding {
  std::string layer = {};
  /// Of its outputs, before activation: squared error over the sum of squares,
  /// on the samples, rounded to nearest and as they are now.
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
