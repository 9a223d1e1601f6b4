#include "keras/quantized.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>

#include <octet/quant/quantize_model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "keras/names.h"
#include "printable.h"

namespace octet::io {
namespace {

using quant::QdqSite;

/// Scales of the quantized inputs of each layer, in order.
using InputScales = std::map<std::string, std::vector<float>>;

InputScales input_scales(const std::vector<StoredScales>& scales) {
  InputScales result;
  for (const StoredScales& each : scales) {
    if (!each.parameter.empty()) continue;
    std::vector<float>& inputs = result[each.layer];
    if (static_cast<size_t>(each.input) != inputs.size()) {
      throw FormatError(
          "invalid_value", fmt::format("layer '{}'", printable(each.layer)),
          fmt::format(
              "input ranges must be numbered 0, 1, ..., got {} as number {}",
              each.input, inputs.size()));
    }
    inputs.push_back(each.values[0]);
  }
  return result;
}

/// Selects the inputs of a layer that the file's ranges are for: the file has
/// their number only. All consumers of a tensor have the same range, as they
/// saw the same values in the last training step.
class InputChoice {
 public:
  InputChoice(const Model& model, const InputScales& scales) : model_(model) {
    for (const auto& node : model.nodes()) {
      calls_.emplace(node->layer->name(), node.get());
    }
    const LayerIndex layers(model);
    for (const auto& [name, values] : scales) {
      const Layer* layer = layers.find(name);
      if (layer == nullptr) continue;
      const GraphNode& node = *calls_.at(layer->name());
      if (values.size() != node.inputs.size()) continue;
      for (size_t i = 0; i < values.size(); ++i) {
        known_.emplace(node.inputs[i].node.get(), values[i]);
      }
    }
  }

  /// Returns all inputs; or the inputs that the ranges of other consumers
  /// determine or suggest; otherwise the inputs of the toolkit's residual case.
  std::vector<int> of(const Layer& layer, const std::vector<float>& scales) {
    const GraphNode& node = *calls_.at(layer.name());
    const size_t inputs = node.inputs.size();
    if (scales.size() > inputs) {
      throw FormatError("count_mismatch",
                        fmt::format("layer '{}'", printable(layer.name())),
                        fmt::format("must have at most {} input ranges, got {}",
                                    inputs, scales.size()));
    }
    if (scales.size() == inputs) return options(inputs, inputs).front();
    std::vector<int> chosen = by_case(layer.name());
    std::vector<std::vector<int>> possible;
    std::vector<std::vector<int>> confirmed;
    for (const std::vector<int>& option : options(inputs, scales.size())) {
      const Evidence evidence = evidence_for(node, option, scales);
      if (evidence == Evidence::against) continue;
      possible.push_back(option);
      if (evidence == Evidence::in_favor) confirmed.push_back(option);
    }
    if (possible.size() == 1) return possible.front();
    if (confirmed.size() == 1) return confirmed.front();
    if (std::ranges::find(possible, chosen) != possible.end()) {
      assumed_.push_back(layer.name());
      return chosen;
    }
    throw UnsupportedError(
        "unsupported_model", fmt::format("layer '{}'", printable(layer.name())),
        fmt::format("has {} inputs but {} input ranges, and the file does not "
                    "record which inputs are quantized. Hint: quantize the "
                    "float model likewise and use load_keras_weights",
                    inputs, scales.size()));
  }

  /// Layers for which the toolkit's case decided.
  const std::vector<std::string>& assumed() const { return assumed_; }

 private:
  enum class Evidence { against, none, in_favor };

  /// Returns all choices of `count` of [0, inputs), each in ascending order.
  static std::vector<std::vector<int>> options(size_t inputs, size_t count) {
    constexpr size_t kMostInputs = 10;
    std::vector<std::vector<int>> result;
    if (inputs == count || inputs > kMostInputs) {
      std::vector<int> all(inputs);
      std::iota(all.begin(), all.end(), 0);
      if (inputs == count) result.push_back(all);
      return result;
    }
    for (uint32_t set = 0; set < uint32_t{1} << inputs; ++set) {
      if (static_cast<size_t>(std::popcount(set)) != count) continue;
      std::vector<int>& option = result.emplace_back();
      for (int i = 0; i < static_cast<int>(inputs); ++i) {
        if ((set >> i & 1) != 0) option.push_back(i);
      }
    }
    return result;
  }

  Evidence evidence_for(const GraphNode& node, const std::vector<int>& option,
                        const std::vector<float>& scales) const {
    Evidence evidence = Evidence::none;
    for (size_t k = 0; k < option.size(); ++k) {
      const SymbolicTensor& input = node.inputs[static_cast<size_t>(option[k])];
      const auto found = known_.find(input.node.get());
      if (found == known_.end()) continue;
      if (found->second != scales[k]) return Evidence::against;
      evidence = Evidence::in_favor;
    }
    return evidence;
  }

  std::vector<int> by_case(const std::string& layer) {
    if (!placed_) {
      plan_ = quant::place(model_, {.cases = {quant::EfficientNetQDQCase()},
                                    .policy = quant::Policy::toolkit})
                  .plan;
      placed_ = true;
    }
    std::vector<int> inputs;
    for (const quant::QdqPoint& point : plan_.points) {
      const bool input = point.site.kind == quant::SiteKind::input;
      if (point.layer == layer && input) inputs.push_back(point.site.index);
    }
    return inputs;
  }

  const Model& model_;
  std::map<std::string, const GraphNode*> calls_;  // first call of each layer
  std::map<const GraphNode*, float> known_;        // by tensor
  bool placed_ = false;
  quant::QdqPlan plan_;
  std::vector<std::string> assumed_;
};

quant::QdqPoint point_at(const std::string& layer, const QdqSite& site) {
  quant::QuantizerConfig config = quant::activation_quantizer();
  if (site.kind == quant::SiteKind::weight) {
    config = quant::weight_quantizer();
    config.rule = quant::ScaleRule::fixed;
  }
  return {.layer = layer,
          .site = site,
          .config = config,
          .rule = "file",
          .reason = "the file has a range for it"};
}

/// Returns the quantizer at a site of a layer, or null.
std::shared_ptr<quant::Quantizer> quantizer_at(const Layer& layer,
                                               const StoredScales& site) {
  const quant::BaseQuantizeWrapper* wrapper = quant::as_wrapper(layer);
  if (wrapper == nullptr) return nullptr;
  if (!site.parameter.empty()) {
    const quant::PlacedQuantizer* weight =
        wrapper->find(QdqSite::weight(site.parameter));
    return weight != nullptr ? weight->quantizer : nullptr;
  }
  int input = 0;
  for (const quant::PlacedQuantizer& placed : wrapper->activations()) {
    if (placed.site.kind != quant::SiteKind::input) continue;
    if (input++ == site.input) return placed.quantizer;
  }
  return nullptr;
}

}  // namespace

quant::QdqPlan plan_of(const std::vector<StoredScales>& scales,
                       const Model& model) {
  const InputScales by_layer = input_scales(scales);
  const LayerIndex layers(model);
  InputChoice choice(model, by_layer);
  std::map<std::string, std::vector<int>> inputs;
  for (const auto& [name, values] : by_layer) {
    inputs[name] = choice.of(*layers.find(name), values);
  }
  if (!choice.assumed().empty()) {
    warn("ambiguous_ranges", fmt::format("layers {}", listed(choice.assumed())),
         "fewer ranges than inputs, and the file does not record the inputs; "
         "assuming those of the toolkit's residual case");
  }
  quant::QdqPlan plan;
  for (const StoredScales& each : scales) {
    const QdqSite site =
        each.parameter.empty()
            ? QdqSite::input(
                  inputs[each.layer][static_cast<size_t>(each.input)])
            : QdqSite::weight(each.parameter);
    plan.points.push_back(point_at(layers.find(each.layer)->name(), site));
  }
  return plan;
}

QuantizerScales scales_for(Model& model,
                           const std::vector<StoredScales>& scales,
                           bool partial) {
  (void)input_scales(scales);
  const LayerIndex layers(model);
  QuantizerScales result;
  std::vector<std::string> only_in_file;
  for (const StoredScales& each : scales) {
    const auto quantizer = quantizer_at(*layers.find(each.layer), each);
    if (quantizer == nullptr) {
      only_in_file.push_back(text_of(each));
      continue;
    }
    if (!quantizer->config().per_channel && each.values.size() != 1) {
      throw FormatError(
          "count_mismatch", text_of(each),
          fmt::format("must have one scale, got {}", each.values.size()));
    }
    const auto [at, added] = result.emplace(quantizer, each.values);
    if (added || at->second == each.values) continue;
    warn("conflicting_ranges", text_of(each),
         fmt::format("differs from that of other consumers of the tensor, {} "
                     "and {}; using the larger scale",
                     each.values[0], at->second[0]));
    at->second[0] = std::max(at->second[0], each.values[0]);
  }
  std::vector<std::string> only_in_model;
  for (const auto& quantizer : quant::quantizers(model)) {
    if (!result.contains(quantizer)) only_in_model.push_back(quantizer->name());
  }
  if (partial || (only_in_file.empty() && only_in_model.empty())) return result;
  throw FormatError(
      "unknown_name", "quantizers",
      fmt::format("must be the same in model and file, got {} only in the "
                  "model and {} only in the file. Hint: Policy::toolkit with "
                  "the same cases places them like the toolkit",
                  listed(only_in_model), listed(only_in_file)));
}

void set_scales(const QuantizerScales& scales) {
  for (const auto& [quantizer, values] : scales) {
    const quant::QuantizerConfig& config = quantizer->config();
    if (config.rule == quant::ScaleRule::live) continue;
    if (config.per_channel) {
      quantizer->set_scales(values);
    } else {
      quantizer->set_scale(values[0]);
    }
  }
}

}  // namespace octet::io
