#include "sensitivity/channels.h"

#include <algorithm>
#include <cmath>

#include <octet/quant/wrapper.h>

namespace octet::quant {

void ChannelPowers::add(std::span<const float> exact,
                        std::span<const float> rounded, size_t stride,
                        size_t channels) {
  powers_.resize(channels);
  ranges_.resize(channels);
  for (size_t at = 0, channel = 0; at < exact.size(); at += stride) {
    SignalNoise& power = powers_[channel];
    double& range = ranges_[channel];
    for (size_t i = at; i < at + stride; ++i) {
      const double error = double{rounded[i]} - exact[i];
      power.signal += double{exact[i]} * exact[i];
      power.noise += error * error;
      range = std::max(range, std::fabs(double{exact[i]}));
    }
    channel = channel + 1 == channels ? 0 : channel + 1;
  }
}

std::optional<ChannelSensitivity> ChannelPowers::worst() const {
  std::optional<ChannelSensitivity> worst;
  int64_t alive = 0;
  double top = 0;
  for (size_t i = 0; i < powers_.size(); ++i) {
    if (ranges_[i] == 0) continue;
    ++alive;
    top = std::max(top, ranges_[i]);
    const double sqnr = powers_[i].decibels();
    if (worst && !(sqnr < worst->sqnr)) continue;
    worst = ChannelSensitivity{static_cast<int64_t>(i), sqnr, ranges_[i], 0};
  }
  if (alive < 2) return {};
  worst->tensor_range = top;
  return worst;
}

bool is_equalizable(const GraphIndex& graph, const GraphNode& node) {
  if (node.inputs.size() != 1 || !graph.is_called_once(*node.layer)) {
    return false;
  }
  const GraphNode* from = &graph.source(node.inputs[0]);
  while (graph.uses(*from) == 1) {
    const std::string function = float_layer(*from->layer).facts().activation;
    const bool normalization = graph.role(*from) == LayerRole::normalization;
    if (!normalization && function != "linear" && function != "relu") {
      return false;
    }
    if (graph.is_linear(*from)) return graph.is_called_once(*from->layer);
    if (!normalization && graph.role(*from) != LayerRole::activation) {
      return false;
    }
    if (from->inputs.size() != 1) return false;
    from = &graph.source(from->inputs[0]);
  }
  return false;
}

bool is_lost(const std::optional<ChannelSensitivity>& channel) {
  // A sixteenth of the range has eight of 127 levels.
  constexpr double kLost = 15, kSmall = 1.0 / 16;
  return channel && channel->sqnr < kLost &&
         channel->range < kSmall * channel->tensor_range;
}

}  // namespace octet::quant
