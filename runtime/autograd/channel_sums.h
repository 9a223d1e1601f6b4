// What the gradient of a per-channel affine op (bias, batch normalization)
// needs: its gradient with the sums of g and g*z over each channel.
#pragma once

#include <vector>

#include "node.h"

namespace octet::autograd {

struct ChannelSums {
  Tensor g;                   // empty: the gradient is zero
  std::vector<double> sum;    // [c]: of g
  std::vector<double> sum_z;  // [c]: of g * z
};

/// Of the gradient of an op on z. The sums come from the epilogue that produced
/// the gradient, or else from a pass of their own.
ChannelSums channel_sums(Gradient gradient, const Tensor& z);

}  // namespace octet::autograd
