// Folding: batch normalization becomes part of the weights and the bias of the
// layer before it, in float models and in quantized ones.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>

namespace octet::quant {

/// What becomes of one call of a BatchNormalization.
struct BatchNormFold {
  std::string batch_norm;  ///< name of the layer
  std::string into;        ///< the layer it becomes part of; empty if it stays
  /// Why it stays; of one that does not, what else changes, if anything.
  std::string reason;
  bool operator==(const BatchNormFold&) const = default;
};

/// One a line: "bn1 -> conv1", "bn2 stays: the output of 'conv2' is used 2
/// times".
std::string to_string(std::span<const BatchNormFold> folds);

/// What fold_batch_norm() does with each call of a BatchNormalization, in the
/// model's order. Nothing is changed.
std::vector<BatchNormFold> batch_norm_folds(const Model& model);

/// A new model in which every BatchNormalization that alone reads the output
/// of a Conv2D, DepthwiseConv2D, Conv2DTranspose, SeparableConv2D or Dense
/// without an activation is part of that layer, as it computes in inference:
/// with f = gamma / sqrt(moving_variance + epsilon),
///
///   W' = f * W,   b' = beta + (b - moving_mean) * f.
///
/// Names, flags (trainable, or not, as the layer was), quantizers and their
/// sharing are kept, and who read the normalization reads the layer. A layer
/// that is called several times takes in what stands after all its calls.
///
/// Weights on a grid keep their codes: with q the codes and s the scales of
/// the channels, s' = s * |f|, q' = q * sign(f), W' = s' * q'. The scales are
/// fixed from then on, one a channel: in further training weights beyond their
/// range are cut off. A channel whose range falls below 2^-100 (gamma 0) gets
/// codes 0 and scale 1. A quantized DepthwiseConv2D with a multiplier becomes a
/// Conv2D with a group for each channel, which has a scale for each output.
///
/// What cannot be folded stays as it is; batch_norm_folds() says why.
/// Source: Jacob et al., arXiv 1712.05877, section 3.2, whose w_fold is W'.
Model fold_batch_norm(const Model& model);

}  // namespace octet::quant
