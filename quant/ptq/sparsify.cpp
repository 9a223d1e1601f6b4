#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/post_training.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "ptq/linear_layers.h"

namespace octet::quant {
namespace {

void check_pattern(const SparsityPattern& pattern) {
  // Kernels with fewer zeros are not pruned kernels, which training preserves.
  if (pattern.kept >= 1 && pattern.kept < pattern.of && pattern.of <= 64 &&
      5 * (pattern.of - pattern.kept) >= pattern.of) {
    return;
  }
  throw ValueError("out_of_range", "sparsify",
                   fmt::format("pattern must be N:M with 1 <= N <= 0.8 * M and "
                               "M <= 64, got {}:{}",
                               pattern.kept, pattern.of));
}

const Parameter* kernel_of(const Layer& layer) {
  const std::string name = layer.class_name();
  if (name != "Dense" && name != "Conv1D" && name != "Conv2D") return nullptr;
  for (const Parameter& p : layer.parameters()) {
    if (p.name == "kernel") return &p;
  }
  return nullptr;
}

bool has_positions_and_channels(const Shape& shape) {
  int64_t positions = 1;
  for (int axis = 1; axis + 1 < shape.rank(); ++axis) positions *= shape[axis];
  return shape.rank() > 2 && positions != 1 && shape[-1] != 1;
}

// Returns whether a vector is a flattened image. ONNX export stores it with
// channels first, so that consecutive inputs of a Dense layer are not
// consecutive in the file.
bool is_flattened(const GraphNode& node, std::set<const GraphNode*>& visited) {
  if (node.inputs.empty() || node.shape.rank() != 2 ||
      !visited.insert(&node).second || node.facts().role == LayerRole::linear) {
    return false;
  }
  const std::string name = float_layer(*node.layer).class_name();
  if ((name == "Flatten" || name == "Reshape") &&
      has_positions_and_channels(node.inputs[0].shape())) {
    return true;
  }
  return std::ranges::any_of(node.inputs, [&](const SymbolicTensor& input) {
    return is_flattened(*input.node, visited);
  });
}

bool consumes_flattened(const Model& model, const Layer& layer) {
  std::set<const GraphNode*> visited;
  return std::ranges::any_of(model.nodes(), [&](const auto& node) {
    return node->layer.get() == &layer && !node->inputs.empty() &&
           is_flattened(*node->inputs[0].node, visited);
  });
}

// Returns the kernel [..., inputs, outputs] with the smallest magnitudes of
// each group of inputs set to 0.
Tensor pruned_kernel(const Tensor& kernel, const SparsityPattern& pattern,
                     const std::string& layer) {
  const int64_t outputs = kernel.shape()[kernel.shape().rank() - 1];
  Tensor result = kernel.clone();
  const auto w = result.f32();
  if (!std::ranges::all_of(w, [](float x) { return std::isfinite(x); })) {
    refuse_not_finite("sparsify", layer);
  }
  // Inputs are the second last axis; all preceding axes are taps.
  const int64_t groups = kernel.size() / (outputs * pattern.of);
  std::vector<size_t> order(static_cast<size_t>(pattern.of));
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t m = 0; m < outputs; ++m) {
      for (int64_t k = 0; k < pattern.of; ++k) {
        order[static_cast<size_t>(k)] =
            static_cast<size_t>((g * pattern.of + k) * outputs + m);
      }
      std::ranges::stable_sort(order, std::ranges::greater(),
                               [&](size_t i) { return std::fabs(w[i]); });
      for (auto k = static_cast<size_t>(pattern.kept); k < order.size(); ++k) {
        w[order[k]] = 0;
      }
    }
  }
  return result;
}

}  // namespace

std::vector<LayerSparsity> sparsify(Model& model,
                                    const SparsifyOptions& options) {
  check_pattern(options.pattern);
  std::map<uint64_t, int> owners;
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) ++owners[p.variable.id()];
  }
  std::vector<LayerSparsity> report;
  std::vector<std::pair<Variable, Tensor>> results;
  for (const auto& layer : model.layers()) {
    const Layer& inner = float_layer(*layer);
    const Parameter* kernel = kernel_of(inner);
    if (kernel == nullptr) continue;
    const Tensor& values = std::as_const(kernel->variable).value();
    const int64_t inputs = values.shape()[values.shape().rank() - 2];
    LayerSparsity entry{.layer = inner.name(), .size = values.size()};
    const bool named =
        std::ranges::find(options.layers, entry.layer) != options.layers.end();
    if (!options.layers.empty() && !named) {
      entry.skipped = "not selected";
    } else if (owners[kernel->variable.id()] > 1) {
      entry.skipped = "its kernel is shared with other layers";
    } else if (inputs % options.pattern.of != 0) {
      entry.skipped = fmt::format("{} inputs per output are no multiple of {}",
                                  inputs, options.pattern.of);
    } else if (consumes_flattened(model, *layer)) {
      entry.skipped =
          "its inputs are flattened images, which ONNX export reorders";
    }
    if (named && !entry.skipped.empty()) {
      throw ValueError("unsupported_model",
                       fmt::format("sparsify '{}'", entry.layer),
                       entry.skipped);
    }
    Tensor result = values;
    if (entry.skipped.empty()) {
      result = pruned_kernel(values, options.pattern, entry.layer);
      results.emplace_back(kernel->variable, result);
    }
    entry.zeros = std::ranges::count(std::as_const(result).f32(), 0.0f);
    report.push_back(std::move(entry));
  }
  for (const std::string& name : options.layers) {
    if (std::ranges::find(report, name, &LayerSparsity::layer) ==
        report.end()) {
      throw NotFoundError(
          "unknown_name", fmt::format("sparsify '{}'", name),
          fmt::format("no Dense, Conv1D or Conv2D of this name in model '{}'",
                      model.name()));
    }
  }
  if (results.empty()) {
    throw ValueError(
        "unsupported_model", "sparsify",
        fmt::format("model '{}' has no Dense, Conv1D or Conv2D with a multiple "
                    "of {} inputs per output",
                    model.name(), options.pattern.of));
  }
  for (const auto& [variable, value] : results) variable.assign(value);
  return report;
}

}  // namespace octet::quant
