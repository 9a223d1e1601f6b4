// Batch normalization folding into the weights and bias of the preceding layer,
// in float and quantized models.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>

namespace octet::quant {

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

}  // namespace octet::quant
