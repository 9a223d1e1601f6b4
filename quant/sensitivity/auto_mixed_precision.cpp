#include <algorithm>
#include <cmath>
#include <functional>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/calibrate.h>
#include <octet/quant/detail/calibration_steps.h>
#include <octet/quant/post_training.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

#include "calibration/accuracy.h"
#include "calibration/signal_noise.h"
#include "calibration/steps.h"

namespace octet::quant {
namespace {

constexpr int kWide = 8;

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

// Noise of the outputs relative to their power.
double noise(const MixedPrecisionLayer& layer) {
  return std::pow(10, -layer.sqnr / 10);
}

double mean_bits(const std::vector<MixedPrecisionLayer>& layers) {
  double bits = 0, count = 0;
  for (const MixedPrecisionLayer& layer : layers) {
    bits += static_cast<double>(layer.bits * layer.weights);
    count += static_cast<double>(layer.weights);
  }
  return count > 0 ? bits / count : kWide;
}

int64_t bytes_of(const std::vector<MixedPrecisionLayer>& layers) {
  int64_t bytes = 0;
  for (const MixedPrecisionLayer& layer : layers) {
    bytes += (layer.bits * layer.weights + 7) / 8;
  }
  return bytes;
}

double latency_of(const std::vector<MixedPrecisionLayer>& layers,
                  const std::vector<LayerLatency>& latencies) {
  double sum = 0;
  for (const MixedPrecisionLayer& layer : layers) {
    const auto found =
        std::ranges::find(latencies, layer.layer, &LayerLatency::layer);
    sum += layer.bits == kWide ? found->wide : found->narrow;
  }
  return sum;
}

// A cost and its limit.
struct Budget {
  std::string_view name;
  double most = 0;
  std::function<double(const std::vector<MixedPrecisionLayer>&)> cost;

  bool meets(const std::vector<MixedPrecisionLayer>& layers) const {
    return cost(layers) <= most;
  }
};

Budget budget_of(const MixedPrecisionOptions& options) {
  if (options.bytes) {
    return {"bytes", static_cast<double>(*options.bytes),
            [](const auto& layers) {
              return static_cast<double>(bytes_of(layers));
            }};
  }
  if (options.latency) {
    return {"latency", *options.latency, [&options](const auto& layers) {
              return latency_of(layers, options.latencies);
            }};
  }
  // Also used to order layers by saved bits for score_loss.
  return {"mean_bits", options.mean_bits.value_or(std::max(6, options.narrow)),
          mean_bits};
}

void check(const MixedPrecisionOptions& options) {
  if (options.narrow < 2 || options.narrow >= kWide) {
    throw ValueError(
        "out_of_range", "auto_mixed_precision",
        fmt::format("narrow must be in [2,7], got {}", options.narrow));
  }
  if (options.narrow_activations < 2 || options.narrow_activations > kWide) {
    throw ValueError("out_of_range", "auto_mixed_precision",
                     fmt::format("narrow_activations must be in [2,8], got {}",
                                 options.narrow_activations));
  }
  if (options.narrow_activations < kWide &&
      options.quantize.activation.bits != kWide) {
    throw ValueError(
        "invalid_value", "auto_mixed_precision",
        fmt::format(
            "quantize.activation must have 8 bits to be narrowed, got {}",
            options.quantize.activation.bits));
  }
  if (options.quantize.weight.bits != kWide) {
    throw ValueError(
        "invalid_value", "auto_mixed_precision",
        fmt::format("quantize.weight must have 8 bits to be narrowed, got {}",
                    options.quantize.weight.bits));
  }
  const int budgets = options.mean_bits.has_value() +
                      options.bytes.has_value() + options.latency.has_value() +
                      options.score_loss.has_value();
  if (budgets > 1) {
    throw ValueError("conflicting_options", "auto_mixed_precision",
                     fmt::format("only one budget (mean_bits, bytes, "
                                 "latency or score_loss) is allowed, got {}",
                                 budgets));
  }
  const double mean = options.mean_bits.value_or(kWide);
  if (!(mean >= options.narrow && mean <= kWide)) {
    throw ValueError("out_of_range", "auto_mixed_precision",
                     fmt::format("mean_bits must be in [{},8], got {}. Hint: "
                                 "`narrow` is the lower bound",
                                 options.narrow, mean));
  }
  if (options.score_loss && !(*options.score_loss >= 0)) {
    throw ValueError("out_of_range", "auto_mixed_precision",
                     fmt::format("score_loss must be >= 0, got {}. Hint: it is "
                                 "the largest drop below the "
                                 "score with 8 bits",
                                 *options.score_loss));
  }
  if (options.latency && options.latencies.empty()) {
    throw ValueError(
        "missing_value", "auto_mixed_precision",
        "a latency budget needs `latencies`. "
        "Hint: measure each layer on the device, with 8 bits and with fewer");
  }
}

// Checks that layers and latencies correspond one to one.
void check_latencies(const std::vector<LayerLatency>& latencies,
                     const std::vector<MixedPrecisionLayer>& layers) {
  std::vector<std::string> names;
  names.reserve(layers.size());
  for (const MixedPrecisionLayer& layer : layers) names.push_back(layer.layer);
  for (const LayerLatency& each : latencies) {
    if (std::ranges::count(names, each.layer) == 0) {
      throw NotFoundError(
          "unknown_name", "auto_mixed_precision",
          fmt::format(
              "`latencies` names '{}', which is not a layer with quantized "
              "weights{}",
              each.layer, suggest_names(each.layer, names)));
    }
    for (const double time : {each.wide, each.narrow}) {
      if (time >= 0 && std::isfinite(time)) continue;
      throw ValueError(
          "out_of_range", "auto_mixed_precision",
          fmt::format("latency of '{}' must be finite and >= 0, got {}",
                      each.layer, time));
    }
  }
  for (const std::string& name : names) {
    if (std::ranges::count(latencies, name, &LayerLatency::layer) == 1) {
      continue;
    }
    throw NotFoundError(
        "count_mismatch", "auto_mixed_precision",
        fmt::format("`latencies` must have one entry per layer with quantized "
                    "weights, got {} for '{}'",
                    std::ranges::count(latencies, name, &LayerLatency::layer),
                    name));
  }
}

// Returns the quietest layer that alone suffices for the budget, else the layer
// with the least noise per saving.
MixedPrecisionLayer* next_to_narrow(
    const std::vector<MixedPrecisionLayer*>& cheapest,
    const std::vector<MixedPrecisionLayer>& layers, const Budget& budget,
    int narrow) {
  MixedPrecisionLayer *next = nullptr, *enough = nullptr;
  for (MixedPrecisionLayer* layer : cheapest) {
    if (layer->bits != kWide) continue;
    if (next == nullptr) next = layer;
    layer->bits = narrow;
    const bool meets = budget.meets(layers);
    layer->bits = kWide;
    if (meets && (enough == nullptr || noise(*layer) < noise(*enough))) {
      enough = layer;
    }
  }
  return enough != nullptr ? enough : next;
}

// Returns the layers with savings, by noise per saving.
std::vector<MixedPrecisionLayer*> by_noise(
    std::vector<MixedPrecisionLayer>& layers, const Budget& budget,
    int narrow) {
  const double all = budget.cost(layers);
  std::vector<std::pair<double, MixedPrecisionLayer*>> order;
  for (MixedPrecisionLayer& layer : layers) {
    layer.bits = narrow;
    const double saved = all - budget.cost(layers);
    layer.bits = kWide;
    if (saved > 0) order.emplace_back(noise(layer) / saved, &layer);
  }
  std::ranges::stable_sort(order, {},
                           &std::pair<double, MixedPrecisionLayer*>::first);
  std::vector<MixedPrecisionLayer*> result;
  result.reserve(order.size());
  for (const auto& [ratio, layer] : order) result.push_back(layer);
  return result;
}

void expect_in_reach(std::vector<MixedPrecisionLayer>& layers,
                     const Budget& budget,
                     const std::vector<MixedPrecisionLayer*>& cheapest,
                     int narrow) {
  for (MixedPrecisionLayer* layer : cheapest) layer->bits = narrow;
  const double least = budget.cost(layers);
  for (MixedPrecisionLayer* layer : cheapest) layer->bits = kWide;
  if (least <= budget.most) return;
  throw ValueError(
      "invalid_value", "auto_mixed_precision",
      fmt::format("budget of {} {} cannot be met: the minimum is {}, "
                  "with {} bits in every layer that gains by it",
                  budget.name, budget.most, least, narrow));
}

void keep_to(const Budget& budget, std::vector<MixedPrecisionLayer>& layers,
             int narrow) {
  const std::vector<MixedPrecisionLayer*> cheapest =
      by_noise(layers, budget, narrow);
  expect_in_reach(layers, budget, cheapest, narrow);
  while (!budget.meets(layers)) {
    next_to_narrow(cheapest, layers, budget, narrow)->bits = narrow;
  }
  // Restores layers made redundant by a large layer at the end.
  for (MixedPrecisionLayer* layer : cheapest | std::views::reverse) {
    if (layer->bits == kWide) continue;
    layer->bits = kWide;
    if (!budget.meets(layers)) layer->bits = narrow;
  }
}

Model calibrated(const Model& model, const Dataset& data,
                 const QuantizeOptions& quantize,
                 const MixedPrecisionOptions& options) {
  QuantizeOptions fixed = quantize;
  if (fixed.weight.rule == ScaleRule::live)
    fixed.weight.rule = ScaleRule::fixed;
  Model result = quantize_model(model, fixed);
  calibrate(result, data,
            {.method = options.narrow_activations < kWide ? Calibration::mse
                                                          : Calibration::max,
             .weights = WeightRange::mse,
             .samples = options.sensitivity.samples,
             .seed = options.sensitivity.seed});
  return result;
}

// A tensor has the width of its widest consumer.
void settle_activations(const Model& placed, int narrow,
                        std::vector<MixedPrecisionLayer>& layers) {
  std::set<const Quantizer*> wide;
  const auto found = [&](const BaseQuantizeWrapper& wrapper) {
    return std::ranges::find(layers, wrapper.inner().name(),
                             &MixedPrecisionLayer::layer);
  };
  const auto for_each = [&](const auto& call) {
    for (const auto& layer : placed.layers()) {
      if (const BaseQuantizeWrapper* wrapper = as_wrapper(*layer)) {
        call(*wrapper, found(*wrapper));
      }
    }
  };
  for_each([&](const BaseQuantizeWrapper& wrapper, auto layer) {
    if (layer != layers.end() && layer->bits < kWide) return;
    for (const PlacedQuantizer& placed_at : wrapper.activations()) {
      wide.insert(placed_at.quantizer.get());
    }
  });
  for_each([&](const BaseQuantizeWrapper& wrapper, auto layer) {
    if (layer == layers.end()) return;
    const bool all =
        !wrapper.activations().empty() && layer->bits < kWide &&
        std::ranges::none_of(wrapper.activations(), [&](const auto& each) {
          return wide.contains(each.quantizer.get());
        });
    layer->activation_bits = all ? narrow : kWide;
  });
}

// Finds the longest prefix of the order that keeps the score, by bisection.
void keep_score(const Model& model, const Dataset& data, const Model& placed,
                const MixedPrecisionOptions& options, MixedPrecision& result) {
  const Budget bits{"mean_bits", 0, mean_bits};
  const std::vector<MixedPrecisionLayer*> order =
      by_noise(result.layers, bits, options.narrow);
  const Dataset scored = calibration_samples(data, options.sensitivity.samples,
                                             options.sensitivity.seed);
  const auto score_of = [&](size_t narrowed) {
    for (size_t i = 0; i < order.size(); ++i) {
      order[i]->bits = i < narrowed ? options.narrow : kWide;
    }
    settle_activations(placed, options.narrow_activations, result.layers);
    QuantizeOptions quantize = options.quantize;
    quantize.bits = result.bits();
    return score_samples(
        "auto_mixed_precision", calibrated(model, data, quantize, options),
        scored, options.sensitivity.score, options.sensitivity.batch_size);
  };
  result.wide_score = result.score = score_of(0);
  const double least = *result.wide_score - *options.score_loss;
  size_t keeps = 0, loses = order.size() + 1;
  while (loses - keeps > 1) {
    // Tries all layers first, which may suffice.
    const size_t next =
        loses > order.size() ? order.size() : keeps + (loses - keeps) / 2;
    const double score = score_of(next);
    if (score >= least) {
      keeps = next;
      result.score = score;
    } else {
      loses = next;
    }
  }
  for (size_t i = 0; i < order.size(); ++i) {
    order[i]->bits = i < keeps ? options.narrow : kWide;
  }
}

}  // namespace

MixedPrecision auto_mixed_precision(const Model& model, const Dataset& data,
                                    const MixedPrecisionOptions& options) {
  check(options);
  QuantizeOptions all = options.quantize;
  all.bits = {{.layer = "*", .weight = options.narrow}};
  const bool weights_only = options.narrow_activations == kWide;
  if (!weights_only) all.bits[0].activation = options.narrow_activations;
  const Model narrow = calibrated(model, data, all, options);
  const Sensitivity found = sensitivity(narrow, data, options.sensitivity);
  MixedPrecision result;
  for (const auto& layer : narrow.layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr || wrapper->weights().empty()) continue;
    const std::string& name = wrapper->inner().name();
    const auto loss =
        std::ranges::find(found.layers, name, &LayerSensitivity::layer);
    result.layers.push_back(
        {.layer = name,
         .weights = weights_of(*wrapper),
         .sqnr = weights_only ? loss->weights.value_or(0) : loss->alone.sqnr});
  }
  if (!options.latencies.empty()) {
    check_latencies(options.latencies, result.layers);
  }
  if (options.score_loss) {
    keep_score(model, data, narrow, options, result);
  } else {
    keep_to(budget_of(options), result.layers, options.narrow);
  }
  settle_activations(narrow, options.narrow_activations, result.layers);
  result.mean_bits = mean_bits(result.layers);
  result.bytes = bytes_of(result.layers);
  if (!options.latencies.empty()) {
    result.latency = latency_of(result.layers, options.latencies);
  }
  return result;
}

std::vector<LayerBits> MixedPrecision::bits() const {
  std::vector<LayerBits> result;
  for (const MixedPrecisionLayer& layer : layers) {
    if (layer.bits == kWide) continue;
    result.push_back({.layer = layer.layer, .weight = layer.bits});
    if (layer.activation_bits < kWide) {
      result.back().activation = layer.activation_bits;
    }
  }
  return result;
}

std::string MixedPrecision::to_string() const {
  TextTable table(
      {Align::left, Align::right, Align::right, Align::right, Align::right});
  table.add_row({"layer", "weights", "bits", "inputs", "SQNR if narrow"});
  table.add_rule();
  for (const MixedPrecisionLayer& layer : layers) {
    table.add_row(
        {layer.layer, group_digits(layer.weights), std::to_string(layer.bits),
         std::to_string(layer.activation_bits), decibels_text(layer.sqnr)});
  }
  std::string text = fmt::format("{:.2f} bits per weight, {} bytes", mean_bits,
                                 group_digits(bytes));
  if (latency) text += fmt::format(", latency {:.4g}", *latency);
  if (score) {
    text += fmt::format(", score {:.4f} (8 bits: {:.4f})", *score, *wide_score);
  }
  return fmt::format("{}\n\n{}", text, table.to_string());
}

}  // namespace octet::quant
