// What folding does to the numbers of a layer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <octet/layers/layer.h>
#include <octet/quant/quantizer.h>

namespace octet::quant {

/// y = factor * x + shift, channel by channel.
struct ChannelAffine {
  std::vector<double> factor;
  std::vector<double> shift;
};

/// What a BatchNormalization computes in inference.
ChannelAffine affine_of(const Layer& batch_norm);
/// `second` of what `first` computes.
ChannelAffine in_sequence(const ChannelAffine& first,
                          const ChannelAffine& second);

/// A layer that computes what another and an affine after it did.
struct FoldedLayer {
  std::string class_name;
  Config config;
  std::vector<Tensor> parameters;  ///< in the layer's order
  std::string kernel;              ///< folded_weight() of the class
  /// Of the kernel, if it had one: fixed, with scales per channel.
  std::shared_ptr<Quantizer> quantizer;
  std::string note;     ///< what else changes
  std::string problem;  ///< why it cannot be; then all else is empty
};

/// `layer` is of a class that has a folded_weight(); `quantizer` is its
/// own, or null.
FoldedLayer fold_into(const Layer& layer, const Quantizer* quantizer,
                      const ChannelAffine& affine);

}  // namespace octet::quant
