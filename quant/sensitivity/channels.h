// Worst channel of a quantized tensor, and applicability of equalize().
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <octet/quant/sensitivity.h>

#include "calibration/signal_noise.h"
#include "graph/graph_index.h"

namespace octet::quant {

/// Signal and noise power and largest magnitude of each channel.
class ChannelPowers {
 public:
  /// Values are ordered by channel, `stride` of each in turn.
  /// REQUIRES: the same channels in every call.
  void add(std::span<const float> exact, std::span<const float> rounded,
           size_t stride, size_t channels);
  /// Returns nothing if fewer than two channels have nonzero values.
  std::optional<ChannelSensitivity> worst() const;

 private:
  std::vector<SignalNoise> powers_;
  std::vector<double> ranges_;
};

/// Whether a linear layer produces the node's input, with at most normalization
/// and ReLU between, and the node is the only consumer.
bool is_equalizable(const GraphIndex& graph, const GraphNode& node);

/// Whether a channel is lost: low SQNR, and a range far below its tensor's.
bool is_lost(const std::optional<ChannelSensitivity>& channel);

}  // namespace octet::quant
