#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <octet/quant/post_training.h>
#include <octet/runtime/error.h>
#include <octet/runtime/quantization.h>

#include "graph/graph_index.h"
#include "ptq/linear_layers.h"

namespace octet::quant {
namespace {

constexpr int kPasses = 20;
constexpr double kTolerance = 0.01;

// Returns whether the activation function has f(a x) = a f(x) for a > 0.
bool is_homogeneous(const Layer& layer) {
  const std::string name = layer.class_name();
  const std::string function = layer.facts().activation;
  return name == "LeakyReLU" || name == "PReLU" || function == "linear" ||
         function == "relu" || function == "leaky_relu";
}

// Returns whether the layer computes each channel (last axis) from the same
// channel, and multiplies it by a > 0 if its input is multiplied by a, up to
// its activation function. Flatten repeats the channels for each pixel.
bool keeps_channels(const GraphIndex& graph, const GraphNode& node) {
  if (graph.role(node) == LayerRole::activation) return true;
  constexpr const char* kSpatial[] = {
      "MaxPooling",       "AveragePooling",
      "GlobalMaxPooling", "GlobalAveragePooling",
      "ZeroPadding",      "UpSampling",
      "Cropping"};
  const std::string name = node.layer->class_name();
  return name == "Flatten" ||
         std::ranges::any_of(kSpatial, [&](const char* stem) {
           return is_spatial_class(name, stem);
         });
}

// A linear layer and its only consumer.
struct Pair {
  const LinearPart* first;
  const LinearPart* second;
  std::vector<double> divided;  // accumulated divisor of each channel
};

// Returns the kernel elements of each channel, as an output (`outputs`) or as
// an input.
std::vector<std::vector<size_t>> elements_of(const LinearPart& part,
                                             bool outputs, size_t channels) {
  std::vector<std::vector<size_t>> result(channels);
  const int64_t group_channels = static_cast<int64_t>(channels) / part.groups();
  for (int64_t g = 0; g < part.groups(); ++g) {
    for (int64_t k = 0; k < part.inputs(); ++k) {
      for (int64_t m = 0; m < part.outputs(); ++m) {
        // Kernel layout: [...][taps][channels of a group][outputs].
        const int64_t channel = outputs
                                    ? g * part.outputs() + m
                                    : g * group_channels + k % group_channels;
        result[static_cast<size_t>(channel)].push_back(part.element(g, k, m));
      }
    }
  }
  return result;
}

void multiply(const Parameter& parameter,
              const std::vector<std::vector<size_t>>& elements,
              const std::vector<double>& factor) {
  Tensor values = parameter.variable.value().clone();
  const auto to = values.f32();
  for (size_t c = 0; c < elements.size(); ++c) {
    for (const size_t i : elements[c]) {
      to[i] = static_cast<float>(to[i] * factor[c]);
    }
  }
  Variable(parameter.variable).assign(values);
}

double largest(const Tensor& values, const std::vector<size_t>& elements) {
  double top = 0;
  for (const size_t i : elements) {
    top = std::max(top, std::fabs(double{values.f32()[i]}));
  }
  return top;
}

// Returns the largest deviation of t from 1.
double equalize_pair(Pair& pair) {
  const size_t channels = pair.divided.size();
  const auto produced = elements_of(*pair.first, true, channels);
  const auto consumed = elements_of(*pair.second, false, channels);
  const Tensor first = pair.first->kernel().variable.value();
  const Tensor second = pair.second->kernel().variable.value();
  std::vector<double> t(channels, 1);
  std::vector<double> inverse(channels, 1);
  double change = 0;
  for (size_t c = 0; c < channels; ++c) {
    const double r1 = largest(first, produced[c]);
    const double r2 = largest(second, consumed[c]);
    if (r1 < double{kSmallestRange} || r2 < double{kSmallestRange}) continue;
    t[c] = std::sqrt(r1 / r2);
    inverse[c] = 1 / t[c];
    pair.divided[c] *= t[c];
    change = std::max(change, std::max(t[c], inverse[c]) - 1);
  }
  multiply(pair.first->kernel(), produced, inverse);
  if (const Parameter* bias = pair.first->bias()) {
    std::vector<std::vector<size_t>> one(channels);
    for (size_t c = 0; c < channels; ++c) one[c] = {c};
    multiply(*bias, one, inverse);
  }
  multiply(pair.second->kernel(), consumed, t);
  return change;
}

// Returns the linear layer that is the node's only consumer; otherwise null and
// the reason.
const GraphNode* next_linear(const GraphIndex& graph, const GraphNode& first,
                             std::string& why) {
  const GraphNode* node = &first;
  while (true) {
    if (!is_homogeneous(*node->layer)) {
      const std::string function = node->layer->facts().activation;
      why =
          fmt::format("'{}' computes {}, not ReLU", node->layer->name(),
                      function.empty() ? node->layer->class_name() : function);
      return nullptr;
    }
    if (graph.uses(*node) != 1 || graph.is_output(*node)) {
      why = graph.is_output(*node)
                ? fmt::format("'{}' is an output", node->layer->name())
                : fmt::format("'{}' has {} consumers", node->layer->name(),
                              graph.uses(*node));
      return nullptr;
    }
    const GraphNode* consumer = graph.consumers(*node)[0].node;
    if (graph.is_linear(*consumer)) return consumer;
    if (!keeps_channels(graph, *consumer)) {
      why = fmt::format("its consumer '{}' is of class {}",
                        consumer->layer->name(), consumer->layer->class_name());
      return nullptr;
    }
    node = consumer;
  }
}

void expect_finite(const LinearLayer& layer) {
  for (const Parameter& p : layer.layer->parameters()) {
    for (const float v : p.variable.value().f32()) {
      if (!std::isfinite(v)) refuse_not_finite("equalize", layer.name());
    }
  }
}

}  // namespace

std::vector<Equalization> equalize(Model& model) {
  if (is_quantized(model)) {
    throw ValueError("already_quantized", "equalize",
                     fmt::format("model '{}' has quantizers. Hint: "
                                 "equalize before quantize_model",
                                 model.name()));
  }
  const GraphIndex graph(model);
  const std::vector<LinearLayer> layers = linear_layers(model);
  std::map<const Layer*, const LinearLayer*> known;
  for (const LinearLayer& layer : layers) {
    expect_finite(layer);
    known[layer.layer] = &layer;
  }
  const auto why_not = [&](const LinearLayer& layer) {
    if (!layer.skipped.empty()) return layer.skipped;
    if (graph.is_called_once(*layer.layer)) return std::string();
    return fmt::format("'{}' is called several times", layer.name());
  };
  std::vector<Equalization> result;
  std::vector<std::pair<size_t, Pair>> pairs;
  for (const LinearLayer& layer : layers) {
    Equalization& entry =
        result.emplace_back(Equalization{.first = layer.name()});
    entry.skipped = why_not(layer);
    if (!entry.skipped.empty()) continue;
    const GraphNode* consumer =
        next_linear(graph, *graph.calls(*layer.layer)[0], entry.skipped);
    if (consumer == nullptr) continue;
    const LinearLayer& second = *known.at(consumer->layer.get());
    entry.skipped = why_not(second);
    if (!entry.skipped.empty()) continue;
    entry.second = second.name();
    const auto channels =
        static_cast<size_t>(layer.part->groups() * layer.part->outputs());
    pairs.emplace_back(result.size() - 1,
                       Pair{layer.part.get(), second.part.get(),
                            std::vector<double>(channels, 1)});
  }
  for (int pass = 0; pass < kPasses; ++pass) {
    double change = 0;
    for (auto& [place, pair] : pairs) {
      change = std::max(change, equalize_pair(pair));
    }
    if (change <= kTolerance) break;
  }
  for (const auto& [place, pair] : pairs) {
    const auto [low, high] = std::ranges::minmax(pair.divided);
    result[place].smallest = low;
    result[place].largest = high;
  }
  return result;
}

}  // namespace octet::quant
