// Per-channel sums of the gradient of an affine op (bias, batch normalization).
#pragma once

#include <vector>

#include "node.h"

namespace octet::autograd {

struct ChannelSums {
  Tensor g;                   // empty: the gradient is zero
  std::vector<double> sum;    // [c]: of g
  std::vector<double> sum_z;  // [c]: of g * z
};

/// Sums of the gradient of an op on z, taken from the epilogue that produced
/// the gradient if it has them, else computed in a separate pass.
ChannelSums channel_sums(Gradient gradient, const Tensor& z);

}  // namespace octet::autograd
