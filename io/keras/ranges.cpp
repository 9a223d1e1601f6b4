#include "keras/ranges.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include <octet/layers/graph_walk.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/twin.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/grid.h>

#include "file_errors.h"
#include "keras/names.h"
#include "printable.h"

namespace octet::io {
namespace {

using quant::QdqSite;

/// What wrappers begin with, before a first step of training.
constexpr float kFirstEnd = 6;

std::string text_of(const StoredScales& scales) {
  const std::string site = scales.parameter.empty()
                               ? fmt::format("input range {}", scales.input)
                               : fmt::format("range of '{}'", scales.parameter);
  return fmt::format("{} of layer '{}'", site, printable(scales.layer));
}

float scale_of(float min, float max) {
  if (!std::isfinite(min) || !std::isfinite(max) || min > 0 || max < 0) {
    throw FormatError(fmt::format(
        "range: expected finite ends with 0 between them, got [{}, {}]", min,
        max));
  }
  return scale_of_range(std::max(-min, max), 127);
}

StoredScales read_one(const Hdf5Reader& file, const std::string& layer,
                      const StoredRange& range, bool& is_first) {
  StoredScales scales{layer, range.parameter, range.input, {}};
  in_file([&] { return "in the " + text_of(scales); },
          [&] {
            const Shape shape = file.shape(range.min);
            if (shape.rank() > (range.parameter.empty() ? 0 : 1)) {
              throw FormatError(
                  fmt::format("range: expected shape {}, got {}",
                              range.parameter.empty() ? "[]" : "[channels]",
                              shape.to_string()));
            }
            const Tensor min = file.f32(range.min, shape);
            const Tensor max = file.f32(range.max, shape);
            for (int64_t i = 0; i < min.size(); ++i) {
              const auto at = static_cast<size_t>(i);
              const float low = min.f32()[at];
              const float high = max.f32()[at];
              scales.values.push_back(scale_of(low, high));
              is_first &= low == -kFirstEnd && high == kFirstEnd;
            }
          });
  return scales;
}

/// How many inputs of each layer the file has scales for.
std::map<std::string, int> inputs_with_scales(
    const std::vector<StoredScales>& scales) {
  std::map<std::string, int> counts;
  for (const StoredScales& each : scales) {
    if (!each.parameter.empty()) continue;
    int& count = counts[each.layer];
    if (each.input != count) {
      throw FormatError(
          fmt::format("layer '{}': expected input ranges 0, 1, ..., got no {}",
                      printable(each.layer), count));
    }
    ++count;
  }
  return counts;
}

/// Which inputs of a layer the file's ranges are for. The file says how many
/// there are, but not which.
class QuantizedInputs {
 public:
  explicit QuantizedInputs(const Model& model) : model_(model) {
    for (const auto& node : model.nodes()) {
      counts_.emplace(node->layer->name(), node->inputs.size());
    }
  }

  /// All, or those that the toolkit's residual case chooses.
  std::vector<int> of(const std::string& layer, size_t count) {
    std::vector<int> inputs(counts_.at(layer));
    std::iota(inputs.begin(), inputs.end(), 0);
    if (inputs.size() != count) inputs = by_case(layer);
    if (inputs.size() == count) return inputs;
    throw UnsupportedError(fmt::format(
        "layer '{}': expected a range for each input, got {}, and the file "
        "does not say which; quantize the float model as it was and use "
        "load_keras_weights",
        printable(layer), count));
  }

 private:
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
  std::map<std::string, size_t> counts_;
  bool placed_ = false;
  quant::QdqPlan plan_;
};

quant::QdqPoint point_at(const std::string& layer, const QdqSite& site) {
  quant::QuantizerConfig config = quant::activation_quantizer();
  if (site.kind == quant::SiteKind::weight) {
    config = quant::weight_quantizer();
    config.rule = quant::ScaleRule::fixed;
  }
  return {layer, site, config, "file", "the file has a range for it", ""};
}

/// The quantizer at a site of a layer, or null.
std::shared_ptr<quant::Quantizer> quantizer_at(const Layer& layer,
                                               const StoredScales& site) {
  const quant::BaseQuantizeWrapper* wrapper = quant::as_wrapper(layer);
  if (wrapper == nullptr) return nullptr;
  if (!site.parameter.empty()) {
    for (const quant::WeightFakeQuantize& weight : wrapper->weights()) {
      if (weight.parameter == site.parameter) return weight.quantizer;
    }
    return nullptr;
  }
  int input = 0;
  for (const quant::QuantStub& stub : wrapper->stubs()) {
    if (stub.site.kind != quant::SiteKind::input) continue;
    if (input++ == site.input) return stub.quantizer;
  }
  return nullptr;
}

/// How many scales a quantizer takes there.
size_t channels_at(const Layer& layer, const StoredScales& site,
                   const quant::QuantizerConfig& config) {
  if (!config.per_channel) return 1;
  const Parameter& parameter = layer.parameter(site.parameter);
  const Shape& shape = parameter.variable.shape();
  return static_cast<size_t>(shape[parameter.channel_axis]);
}

}  // namespace

std::vector<StoredScales> read_scales(const Hdf5Reader& file,
                                      const std::vector<StoredLayer>& layers) {
  std::vector<StoredScales> scales;
  bool is_first = true;
  for (const StoredLayer& layer : layers) {
    for (const StoredRange& range : layer.ranges) {
      scales.push_back(read_one(file, layer.name, range, is_first));
    }
  }
  if (!scales.empty() && is_first) {
    warn(fmt::format(
        "ranges: expected those of a training, got [-{0}, {0}] everywhere, "
        "which the toolkit begins with; calibrate() finds better ones",
        kFirstEnd));
  }
  return scales;
}

quant::QdqPlan plan_of(const std::vector<StoredScales>& scales,
                       const Model& model) {
  const std::map<std::string, int> counts = inputs_with_scales(scales);
  const std::vector<std::string> names = layer_names(model);
  const quant::TwinNames by_name(names);
  QuantizedInputs inputs(model);
  quant::QdqPlan plan;
  for (const StoredScales& each : scales) {
    const std::optional<size_t> found = by_name.find(each.layer);
    if (!found) {
      throw FormatError(fmt::format(
          "{}: expected a layer of the model, got another", text_of(each)));
    }
    const std::string& layer = names[*found];
    if (!each.parameter.empty()) {
      (void)model.layer(layer).parameter(each.parameter);
      plan.points.push_back(point_at(layer, QdqSite::weight(each.parameter)));
      continue;
    }
    const auto count = static_cast<size_t>(counts.at(each.layer));
    const int index = inputs.of(layer, count)[static_cast<size_t>(each.input)];
    plan.points.push_back(point_at(layer, QdqSite::input(index)));
  }
  return plan;
}

ScaleAssignment::ScaleAssignment(const Model& model,
                                 const std::vector<StoredScales>& scales,
                                 bool partial) {
  (void)inputs_with_scales(scales);
  const quant::TwinNames by_name(layer_names(model));
  std::vector<std::string> only_in_file;
  for (const StoredScales& each : scales) {
    const std::optional<size_t> found = by_name.find(each.layer);
    const Layer* layer = found ? model.layers()[*found].get() : nullptr;
    const auto quantizer = layer ? quantizer_at(*layer, each) : nullptr;
    if (quantizer == nullptr) {
      only_in_file.push_back(text_of(each));
      continue;
    }
    const size_t channels = channels_at(*layer, each, quantizer->config());
    if (each.values.size() != channels) {
      throw FormatError(fmt::format("{}: expected {} scales, got {}",
                                    text_of(each), channels,
                                    each.values.size()));
    }
    add(quantizer, each);
  }
  std::vector<std::string> only_in_model;
  for (const auto& quantizer : quant::quantizers(model)) {
    if (!scales_.contains(quantizer))
      only_in_model.push_back(quantizer->name());
  }
  if (partial || (only_in_file.empty() && only_in_model.empty())) return;
  throw FormatError(fmt::format(
      "quantizers: expected the same in model and file, got {} only in the "
      "model and {} only in the file; Policy::toolkit and the same cases place "
      "them as the toolkit did",
      listed(only_in_model), listed(only_in_file)));
}

void ScaleAssignment::add(const std::shared_ptr<quant::Quantizer>& quantizer,
                          const StoredScales& scales) {
  const auto [at, added] = scales_.emplace(quantizer, scales.values);
  if (added || at->second == scales.values) return;
  warn(fmt::format(
      "{}: expected that of the other layers that read this tensor, got {} "
      "beside {}; the larger one is taken",
      text_of(scales), scales.values[0], at->second[0]));
  at->second[0] = std::max(at->second[0], scales.values[0]);
}

void ScaleAssignment::put_in_place() const {
  for (const auto& [quantizer, scales] : scales_) {
    const quant::QuantizerConfig& config = quantizer->config();
    if (config.rule == quant::ScaleRule::live) continue;
    if (config.per_channel) {
      quantizer->set_scales(scales);
    } else {
      quantizer->set_scale(scales[0]);
    }
  }
}

}  // namespace octet::io
