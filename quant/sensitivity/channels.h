// The worst channel of a quantized tensor, and whether equalize() helps it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <octet/quant/sensitivity.h>

#include "calibration/signal_noise.h"
#include "graph/graph_index.h"

namespace octet::quant {

/// The power of each channel, its error and its largest magnitude.
class ChannelPowers {
 public:
  /// `stride` values of one channel are followed by those of the next of
  /// `channels`. REQUIRES: the same channels in every call.
  void add(std::span<const float> exact, std::span<const float> rounded,
           size_t stride, size_t channels);
  /// Nothing for less than two channels with values other than zero.
  std::optional<ChannelSensitivity> worst() const;

 private:
  std::vector<SignalNoise> powers_;
  std::vector<double> ranges_;
};

/// Whether a linear layer alone produces the input of this one, through
/// normalization and ReLU at most, and nothing else consumes it.
bool is_equalizable(const GraphIndex& graph, const GraphNode& node);

/// Whether a channel is lost beside the others of its tensor.
bool is_lost(const std::optional<ChannelSensitivity>& channel);

}  // namespace octet::quant
