// Arithmetic of batch normalization folding.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <octet/layers/layer.h>
#include <octet/quant/quantizer.h>

namespace octet::quant {

/// The map y = factor * x + shift, per channel.
struct ChannelAffine {
  std::vector<double> factor;
  std::vector<double> shift;
};

/// Returns the inference function of a BatchNormalization.
ChannelAffine affine_of(const Layer& batch_norm);
/// Returns the composition: `first`, then `second`.
ChannelAffine in_sequence(const ChannelAffine& first,
                          const ChannelAffine& second);

/// A layer with an affine map folded into it.
struct FoldedLayer {
  std::string class_name;
  Config config;
  std::vector<Tensor> parameters;  ///< in the layer's order
  std::string kernel;              ///< LayerFacts::folded
  /// Quantizer of the kernel, fixed and per channel; null for a float layer.
  std::shared_ptr<Quantizer> quantizer;
  std::string note;     ///< side effects
  std::string problem;  ///< reason if not foldable; all else is then empty
};

/// Folds `affine` into a layer with LayerFacts::folded. `quantizer`
/// is the weight's, or null.
FoldedLayer fold_into(const Layer& layer, const Quantizer* quantizer,
                      const ChannelAffine& affine);

}  // namespace octet::quant
