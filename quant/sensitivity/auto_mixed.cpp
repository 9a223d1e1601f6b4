#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/auto_mixed.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/text_table.h>

#include "calibration/signal_noise.h"

namespace octet::quant {
namespace {

constexpr int kWide = 8;

void check(const MixedOptions& options) {
  if (options.narrow < 2 || options.narrow >= kWide) {
    throw ValueError(fmt::format("auto_mixed: expected narrow in [2,7], got {}",
                                 options.narrow));
  }
  if (!(options.mean_bits >= options.narrow && options.mean_bits <= kWide)) {
    throw ValueError(fmt::format(
        "auto_mixed: expected mean_bits in [{},8], got {}. Hint: {} is what "
        "all weights with that many bits have",
        options.narrow, options.mean_bits, options.narrow));
  }
}

int64_t weights_of(const BaseQuantizeWrapper& wrapper) {
  int64_t count = 0;
  for (const PlacedQuantizer& placed : wrapper.weights()) {
    count += wrapper.inner()
                 .parameter(placed.site.parameter)
                 .variable.shape()
                 .size();
  }
  return count;
}

// Of the outputs, as a share of their power.
double noise(const MixedLayer& layer) { return std::pow(10, -layer.sqnr / 10); }

double mean_bits(const std::vector<MixedLayer>& layers) {
  double bits = 0, count = 0;
  for (const MixedLayer& layer : layers) {
    bits += static_cast<double>(layer.bits * layer.weights);
    count += static_cast<double>(layer.weights);
  }
  return count > 0 ? bits / count : kWide;
}

// The one that adds least noise of those that meet the budget by themselves,
// else the one that adds least for what it saves.
MixedLayer* next_to_narrow(const std::vector<MixedLayer*>& cheapest,
                           const std::vector<MixedLayer>& layers,
                           const MixedOptions& options) {
  MixedLayer *next = nullptr, *enough = nullptr;
  for (MixedLayer* layer : cheapest) {
    if (layer->bits != kWide) continue;
    if (next == nullptr) next = layer;
    layer->bits = options.narrow;
    const bool meets = mean_bits(layers) <= options.mean_bits;
    layer->bits = kWide;
    if (meets && (enough == nullptr || noise(*layer) < noise(*enough))) {
      enough = layer;
    }
  }
  return enough != nullptr ? enough : next;
}

}  // namespace

MixedPrecision auto_mixed(const Model& model, const Dataset& data,
                          const MixedOptions& options) {
  check(options);
  QuantizeOptions all = options.quantize;
  all.bits = {{.layer = "*", .weight = options.narrow}};
  if (all.weight.rule == ScaleRule::live) all.weight.rule = ScaleRule::fixed;
  Model narrow = quantize_model(model, all);
  calibrate(narrow, data,
            {.weights = WeightRange::mse,
             .samples = options.judge.samples,
             .seed = options.judge.seed});
  const Sensitivity found = sensitivity(narrow, data, options.judge);
  MixedPrecision result;
  for (const auto& layer : std::as_const(narrow).layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr || wrapper->weights().empty()) continue;
    const std::string& name = wrapper->inner().name();
    const auto loss =
        std::ranges::find(found.layers, name, &LayerSensitivity::layer);
    result.layers.push_back({.layer = name,
                             .weights = weights_of(*wrapper),
                             .bits = kWide,
                             .sqnr = loss->weights.value_or(0)});
  }
  std::vector<MixedLayer*> cheapest;
  for (MixedLayer& layer : result.layers) cheapest.push_back(&layer);
  std::ranges::stable_sort(cheapest, {}, [](const MixedLayer* layer) {
    return noise(*layer) / static_cast<double>(layer->weights);
  });
  while (mean_bits(result.layers) > options.mean_bits) {
    next_to_narrow(cheapest, result.layers, options)->bits = options.narrow;
  }
  // A large layer at the end may have made others' bits spare.
  for (MixedLayer* layer : cheapest | std::views::reverse) {
    if (layer->bits == kWide) continue;
    layer->bits = kWide;
    if (mean_bits(result.layers) > options.mean_bits) {
      layer->bits = options.narrow;
    }
  }
  result.mean_bits = mean_bits(result.layers);
  return result;
}

std::vector<LayerBits> MixedPrecision::bits() const {
  std::vector<LayerBits> result;
  for (const MixedLayer& layer : layers) {
    if (layer.bits < kWide) {
      result.push_back({.layer = layer.layer, .weight = layer.bits});
    }
  }
  return result;
}

std::string MixedPrecision::to_string() const {
  TextTable table({Align::left, Align::right, Align::right, Align::right});
  table.add_row({"layer", "weights", "bits", "SQNR if narrow"});
  table.add_rule();
  for (const MixedLayer& layer : layers) {
    table.add_row({layer.layer, group_digits(layer.weights),
                   std::to_string(layer.bits), decibels_text(layer.sqnr)});
  }
  return fmt::format("{:.2f} bits a weight\n\n{}", mean_bits,
                     table.to_string());
}

}  // namespace octet::quant
