// Packed weights of linear ops: as floats, or as quantized values if input and
// weight are both quantized.
#pragma once

#include <vector>

#include <octet/runtime/ops.h>

#include "linear.h"

namespace octet {

/// Receiver and formula of the gradient of a trainable scale.
autograd::ScaleTarget scale_target(const LearnedScale& learned);

/// A deferred per-channel fake-quantization; expressions support per-tensor
/// quantization only.
struct ChannelQuantizeNode final : autograd::Node {
  /// `scale` may be empty: not trainable.
  ChannelQuantizeNode(const Variable& x, const QuantParams& qparams,
                      StraightThrough mode, const LearnedScale& scale);
  // Frees the source like an input, without recursion in long chains.
  ~ChannelQuantizeNode() override { inputs.push_back(std::move(source)); }
  Tensor compute() override;
  void backward(autograd::Engine& engine) override;
  Tensor scale_gradient(const Tensor& g) const;

  /// Throws: ValueError if the source was written since qparams were computed.
  const Tensor& source_value() const;

  autograd::NodePtr source;  // also without recording, for its cache
  QuantParams qparams;
  StraightThrough mode;
  autograd::ScaleTarget learned;
  autograd::SavedTensor before;  // the source's value, if already computed
};

/// A weight as used in the forward pass. Quantized values are recomputed on
/// demand, as storing them would double the weights' memory until the backward
/// pass.
struct MultipliedWeight {
  autograd::SavedTensor source;
  QuantParams qparams;  // empty: not quantized

  /// Throws: ValueError if the source was written since.
  Tensor values() const;
};

struct PackedWeight {
  std::vector<Tensor> panels;   // from LinearKernels, for the given GemmType
  MultipliedWeight multiplied;  // if recording
  Tensor scale;                 // per slice of the axis, for quantized panels
};

/// Whether `a` and `b` quantize identically, or are both empty.
bool same_qparams(const QuantParams& a, const QuantParams& b);

/// Whether `w` is quantized to at most 8 bits, per tensor or per output channel
/// (on `axis`).
bool is_quantized_weight(const Variable& w, int axis);

/// Packs a weight. Quantized factors require is_quantized_weight(w,
/// kernels.axis). Without recording, panels of a leaf are cached until its
/// value changes. `zero_byte` is that of the activations.
PackedWeight pack_weight(const Variable& w, autograd::GemmType factor,
                         const LinearKernels& kernels, int zero_byte);

/// Returns the weight that pack_weight() packs, in its layout: its values, or
/// quantized values as floats.
Tensor multiplied_weight(const Variable& w, autograd::GemmType factor,
                         const LinearKernels& kernels);

/// Returns the scale of an int8 weight, per tensor or per output channel (on
/// `axis`); empty for other weights.
Tensor int8_weight_scale(const Variable& w, int axis);

/// Whether an input expression is quantized in a way that INT8 kernels support.
bool is_byte_quantized(const autograd::Expression& x);

/// Whether sums of `products` (> 0) products of such activations and weights
/// fit in 32 bits. Intermediate sums may wrap around.
bool sums_fit(int64_t products, const QuantParams& qparams);

/// x_scale * scale[k] for each of `channels`, the scale of sums of products;
/// empty if `scale` is. A scale may apply to several adjacent channels.
Tensor rescale_of(const autograd::Expression& x, const Tensor& scale,
                  int64_t channels);

}  // namespace octet
