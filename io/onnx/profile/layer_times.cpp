// Assigns the latencies of an engine to the layers of a model.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/io/engine_profile.h>
#include <octet/quant/detail/counterpart.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

/// A layer of the model.
struct ProfiledLayer {
  std::string name;
  int64_t multiply_adds = 0;  ///< of a layer with weights, else 0
};

class ProfiledLayers {
 public:
  explicit ProfiledLayers(const Model& model) {
    const std::vector<NodeSize> sizes = model.sizes();
    for (size_t i = 0; i < model.nodes().size(); ++i) {
      const GraphNode& node = *model.nodes()[i];
      const std::string name = quant::float_layer(*node.layer).name();
      const auto [entry, is_new] = places_.emplace(name, layers_.size());
      if (is_new) layers_.push_back({name});
      if (node.layer->facts().role == LayerRole::linear) {
        layers_[entry->second].multiply_adds += sizes[i].multiply_adds;
      }
    }
  }

  const std::vector<ProfiledLayer>& all() const { return layers_; }

  /// Returns the layer of an ONNX node: "conv" for "quant_conv" and "conv/sub".
  std::optional<size_t> find(std::string_view node) const {
    while (true) {
      for (const std::string_view name : {node, quant::float_name(node)}) {
        const auto found = places_.find(std::string(name));
        if (found != places_.end()) return found->second;
      }
      const size_t slash = node.rfind('/');
      if (slash == std::string_view::npos) return {};
      node = node.substr(0, slash);
    }
  }

 private:
  std::vector<ProfiledLayer> layers_;
  std::map<std::string, size_t> places_;
};

bool is_qdq_name(std::string_view node) {
  return node.ends_with("/quantize") || node.ends_with("/dequantize");
}

/// Returns the layers that an engine layer computes, those with weights alone
/// if there are any.
std::vector<size_t> computed_layers(const EngineLayer& engine,
                                    const ProfiledLayers& layers) {
  std::vector<size_t> computed, weighted;
  for (const std::string& node : engine.nodes) {
    const std::optional<size_t> found = layers.find(node);
    if (!found || is_qdq_name(node)) continue;
    const bool is_known = std::ranges::find(computed, *found) != computed.end();
    if (is_known) continue;
    computed.push_back(*found);
    if (layers.all()[*found].multiply_adds > 0) weighted.push_back(*found);
  }
  if (!weighted.empty()) return weighted;
  if (computed.size() > 1) computed.resize(1);
  return computed;
}

bool is_engine_conversion(const EngineLayer& engine) {
  return engine.nodes.empty() || std::ranges::all_of(engine.nodes, is_qdq_name);
}

}  // namespace

LayerTimes layer_times(const EngineProfile& profile, const Model& model) {
  const ProfiledLayers layers(model);
  std::vector<LayerTime> times(layers.all().size());
  LayerTimes result{.milliseconds = profile.milliseconds};
  bool matched = false;
  for (const EngineLayer& engine : profile.layers) {
    const std::vector<size_t> computed = computed_layers(engine, layers);
    matched = matched || !computed.empty();
    if (computed.empty()) {
      (is_engine_conversion(engine) ? result.conversions : result.unknown) +=
          engine.milliseconds;
      continue;
    }
    double total = 0;
    for (const size_t i : computed) {
      total += static_cast<double>(layers.all()[i].multiply_adds);
    }
    for (const size_t i : computed) {
      const double share =
          total > 0 ? static_cast<double>(layers.all()[i].multiply_adds) / total
                    : 1;
      times[i].milliseconds += share * engine.milliseconds;
      if (times[i].type.empty()) times[i].type = engine.type;
    }
  }
  if (!matched) {
    throw ValueError(
        "profile_mismatch", fmt::format("model '{}'", model.name()),
        fmt::format("has none of the engine's layers, such as '{}'. Hint: "
                    "build the engine from the file that Octet exported for "
                    "this model, with --profilingVerbosity=detailed",
                    profile.layers.empty() ? "" : profile.layers[0].name));
  }
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i].milliseconds == 0) continue;
    times[i].layer = layers.all()[i].name;
    result.layers.push_back(std::move(times[i]));
  }
  return result;
}

std::string LayerTimes::to_string() const {
  TextTable table({Align::left, Align::right, Align::right, Align::left});
  const auto add = [&](const std::string& name, double value,
                       const std::string& type) {
    table.add_row({name, fmt::format("{:.3g} ms", value),
                   fmt::format("{:.1f} %", 100 * value / milliseconds), type});
  };
  table.add_row({"layer", "latency", "share", "type"});
  table.add_rule();
  std::vector<LayerTime> sorted = layers;
  std::ranges::stable_sort(sorted, [](const LayerTime& a, const LayerTime& b) {
    return a.milliseconds > b.milliseconds;
  });
  for (const LayerTime& time : sorted) {
    add(time.layer, time.milliseconds, time.type);
  }
  if (conversions > 0) add("conversions of layout or type", conversions, "");
  if (unknown > 0) add("other layers of the engine", unknown, "");
  return fmt::format("engine: {:.3g} ms\n\n{}", milliseconds,
                     table.to_string());
}

std::vector<quant::LayerLatency> layer_latencies(const Model& int8,
                                                 const EngineProfile& wide,
                                                 const EngineProfile& narrow) {
  if (!quant::is_quantized(int8)) {
    throw ValueError("not_quantized", fmt::format("model '{}'", int8.name()),
                     "the model has no Q/DQ. Hint: pass the quantized model");
  }
  const auto time_in = [&](const LayerTimes& times, const std::string& layer,
                           const char* which) {
    const auto found =
        std::ranges::find(times.layers, layer, &LayerTime::layer);
    if (found != times.layers.end()) return found->milliseconds;
    throw NotFoundError(
        "unknown_name", layer,
        fmt::format("the {} profile has no time of this layer", which));
  };
  const LayerTimes of_wide = layer_times(wide, int8);
  const LayerTimes of_narrow = layer_times(narrow, int8);
  std::vector<quant::LayerLatency> result;
  for (const auto& layer : int8.layers()) {
    const quant::BaseQuantizeWrapper* wrapper = quant::as_wrapper(*layer);
    if (wrapper == nullptr || wrapper->weights().empty()) continue;
    const std::string& name = wrapper->inner().name();
    result.push_back({.layer = name,
                      .wide = time_in(of_wide, name, "wide"),
                      .narrow = time_in(of_narrow, name, "narrow")});
  }
  return result;
}

}  // namespace octet::io
