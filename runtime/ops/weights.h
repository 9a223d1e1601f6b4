// A weight as a linear op multiplies with it: packed, as values or, where input
// and weight both lie on integer grids, as codes.
#pragma once

#include <vector>

#include <octet/runtime/ops.h>

#include "linear.h"

namespace octet {

/// How the gradient of a scale that learns is made and where it goes.
autograd::ScaleTarget scale_target(const LearnedScale& learned);

/// A per-channel fake-quantization that has not been computed: such grids are
/// not part of expressions.
struct ChannelGridNode final : autograd::Node {
  /// `scale` may be empty: it does not learn.
  ChannelGridNode(const Variable& x, const Grid& grid, StraightThrough mode,
                  const LearnedScale& scale);
  // Freed like an input, one after another in a long chain.
  ~ChannelGridNode() override { inputs.push_back(std::move(source)); }
  Tensor compute() override;
  void backward(autograd::Engine& engine) override;
  Tensor scale_gradient(const Tensor& g) const;

  /// Throws: ValueError if it was written since the grid was chosen.
  const Tensor& source_value() const;

  autograd::NodePtr source;  // kept without recording too, for its cache
  Grid grid;
  StraightThrough mode;
  autograd::ScaleTarget learned;
  autograd::Kept before;  // the source's value, where there was one
};

/// A weight as it was multiplied. Codes are found again when it is read: else a
/// model had its weights twice between the forward and the backward pass.
struct MultipliedWeight {
  autograd::Kept source;
  Grid grid;  // that it was rounded to, or none

  /// Throws: ValueError if the source was written since.
  Tensor values() const;
};

struct PackedWeight {
  std::vector<Tensor> panels;   // of LinearKernels, for the factor asked for
  MultipliedWeight multiplied;  // of codes, if there is recording
  Tensor scale;  // of each slice of the axis, if the panels hold codes
};

/// Whether both round to the same values in the same way; or are both empty.
bool same_grid(const Grid& a, const Grid& b);

/// Whether `w` lies on a grid of at most 8 bits, one scale per output channel
/// (on `axis`) or one in all.
bool on_weight_grid(const Variable& w, int axis);

/// Codes need on_weight_grid(w, kernels.axis). Without recording, the panels
/// of a leaf are kept until its value changes. `zero_byte`: of the codes that
/// those of the weight are multiplied with.
PackedWeight pack_weight(const Variable& w, autograd::Factor factor,
                         const LinearKernels& kernels, int zero_byte);

/// An input expression ends on a grid that codes can be multiplied on.
bool on_activation_grid(const autograd::Expression& x);

/// Whether there are products of codes on that grid and weights, and sums of so
/// many fit in 32 bits. What is added on the way may wrap around.
bool sums_fit(int64_t products, const Grid& grid);

/// x_scale * scale[k] for each of `channels`: what turns sums of code products
/// into values; empty if `scale` is. One scale may serve several neighbours.
Tensor rescale_of(const autograd::Expression& x, const Tensor& scale,
                  int64_t channels);

}  // namespace octet
