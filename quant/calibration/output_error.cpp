#include "calibration/output_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <octet/quant/wrapper.h>

namespace octet::quant {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

SignalNoise power_of(std::span<const float> exact,
                     std::span<const float> rounded) {
  SignalNoise power;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double error = double{rounded[i]} - exact[i];
    power.signal += double{exact[i]} * exact[i];
    power.noise += error * error;
  }
  return power;
}

size_t largest_of(std::span<const float> row) {
  return static_cast<size_t>(std::ranges::max_element(row) - row.begin());
}

bool agrees(DecisionRule rule, std::span<const float> exact,
            std::span<const float> rounded) {
  if (rule == DecisionRule::largest) {
    if (std::ranges::any_of(rounded, [](float v) { return std::isnan(v); })) {
      return false;
    }
    return exact[largest_of(rounded)] >= exact[largest_of(exact)];
  }
  const float border = rule == DecisionRule::half ? 0.5f : 0.0f;
  if (std::isnan(rounded[0])) return false;
  return (exact[0] > border) == (rounded[0] > border) || exact[0] == border;
}

}  // namespace

void OutputError::add(const Tensor& exact, const Tensor& rounded) {
  const auto x = exact.f32();
  const auto y = rounded.f32();
  const auto count = static_cast<size_t>(exact.shape()[0]);
  if (count == 0) return;
  const size_t size = x.size() / count;
  for (size_t n = 0; n < count; ++n) {
    samples_.push_back(
        power_of(x.subspan(n * size, size), y.subspan(n * size, size)));
  }
  if (rule_ == DecisionRule::none) return;
  const auto width = static_cast<size_t>(exact.shape()[-1]);
  for (size_t at = 0; at < x.size(); at += width) {
    ++rows_;
    if (!agrees(rule_, x.subspan(at, width), y.subspan(at, width))) {
      ++disagreements_;
    }
  }
}

SignalNoise OutputError::pooled() const {
  SignalNoise sum;
  for (const SignalNoise& sample : samples_) {
    sum.signal += sample.signal;
    sum.noise += sample.noise;
  }
  return sum;
}

double OutputError::median_decibels() const {
  if (samples_.empty()) return std::numeric_limits<double>::infinity();
  std::vector<double> powers;
  for (const SignalNoise& sample : samples_) powers.push_back(sample.signal);
  const auto at =
      static_cast<std::ptrdiff_t>(0.9 * static_cast<double>(powers.size() - 1));
  std::ranges::nth_element(powers, powers.begin() + at);
  const double least = 0.01 * powers[static_cast<size_t>(at)];
  std::vector<double> all;
  for (const SignalNoise& sample : samples_) {
    if (sample.signal < least) continue;
    const double decibels = sample.decibels();
    all.push_back(std::isnan(decibels) ? kNothing : decibels);
  }
  if (all.empty()) return kNothing;  // NaN in the float model
  const auto middle = static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
  std::ranges::nth_element(all, all.begin() + middle);
  return all[static_cast<size_t>(middle)];
}

double mean_decibels(std::span<const SignalNoise> outputs) {
  double ratio = 0;
  for (const SignalNoise& output : outputs) {
    if (output.noise != 0) ratio += output.noise / output.signal;
  }
  if (ratio == 0) return std::numeric_limits<double>::infinity();
  return -10 * std::log10(ratio / static_cast<double>(outputs.size()));
}

DecisionRule decision_rule(const Model& model, size_t index) {
  const SymbolicTensor& output = model.outputs()[index];
  const Shape shape = output.shape();
  if (shape.rank() < 2) return DecisionRule::none;
  const Layer& layer = float_layer(*output.node->layer);
  const std::string function = layer.facts().activation;
  const int64_t width = shape[-1];
  if (width >= 2 &&
      (function == "softmax" || layer.class_name() == "Softmax")) {
    return DecisionRule::largest;
  }
  return width == 1 && function == "sigmoid" ? DecisionRule::half
                                             : DecisionRule::none;
}

}  // namespace octet::quant
