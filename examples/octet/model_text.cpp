#include "model_text.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/quant/plan.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/text_table.h>

namespace octet::program {
namespace {

struct Site {
  quant::QdqPoint point;
  std::shared_ptr<const quant::Quantizer> quantizer;
};

std::vector<Site> sites_of(const Model& model) {
  const auto quantizers = quant::quantizers(model);
  std::vector<Site> sites;
  for (const quant::QdqPoint& point : quant::plan_of(model).points) {
    const auto found =
        std::ranges::find(quantizers, point.group, &quant::Quantizer::name);
    sites.push_back({point, *found});
  }
  return sites;
}

/// Returns "0.01", "0.01 .. 0.02 (16)", "live" or "none".
std::string scale_text(const quant::Quantizer& quantizer) {
  if (quantizer.config().rule == quant::ScaleRule::live) return "live";
  const std::vector<float> scales = quantizer.scales();
  if (scales.empty()) return "none";
  if (scales.size() == 1) return fmt::format("{:.6g}", scales[0]);
  const auto [low, high] = std::ranges::minmax(scales);
  return fmt::format("{:.6g} .. {:.6g} ({})", low, high, scales.size());
}

std::string sites_text(const std::vector<Site>& sites) {
  TextTable table(std::vector<Align>(4));
  table.add_row({"layer", "Q/DQ at", "scale", "type"});
  table.add_rule();
  for (const Site& site : sites) {
    table.add_row({site.point.layer, to_string(site.point.site),
                   scale_text(*site.quantizer), to_string(site.point.config)});
  }
  return table.to_string();
}

Config scales_of(const quant::Quantizer& quantizer) {
  Config::List scales;
  for (const float scale : quantizer.scales()) scales.emplace_back(scale);
  return scales;
}

Config site_config(const Site& site) {
  Config entry;
  entry.set("layer", site.point.layer);
  entry.set("site", to_string(site.point.site));
  entry.set("codes", to_string(site.point.config));
  entry.set("quantizer", site.point.group);
  entry.set("scales", scales_of(*site.quantizer));
  return entry;
}

}  // namespace

std::string to_text(const Model& model) {
  const std::vector<Site> sites = sites_of(model);
  if (sites.empty()) return model.summary();
  const size_t weights = quant::weight_quantizers(model).size();
  return fmt::format(
      "{}\n{}{} weights and {} activations quantized by {} quantizers\n",
      model.summary(), sites_text(sites), weights, sites.size() - weights,
      quant::quantizers(model).size());
}

Config to_config(const Shape& shape) {
  Config::List dims;
  for (const int64_t dim : shape.dims()) {
    dims.push_back(dim == Shape::kAnySize ? Config("N") : Config(dim));
  }
  return dims;
}

Config to_config(const Model& model) {
  NodeSize total;
  Config::List layers;
  const std::vector<NodeSize> sizes = model.sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const GraphNode& node = *model.nodes()[i];
    total.parameters += sizes[i].parameters;
    total.trainable += sizes[i].trainable;
    total.multiply_adds += sizes[i].multiply_adds;
    Config::List inputs;
    for (const SymbolicTensor& input : node.inputs) {
      inputs.emplace_back(input.node->layer->name());
    }
    layers.push_back(Config()
                         .set("name", node.layer->name())
                         .set("class", node.layer->class_name())
                         .set("activation", node.layer->facts().activation)
                         .set("inputs", std::move(inputs))
                         .set("trainable", node.layer->trainable())
                         .set("output", to_config(node.shape))
                         .set("parameters", sizes[i].parameters)
                         .set("multiply_adds", sizes[i].multiply_adds));
  }
  const auto shapes = [](std::span<const SymbolicTensor> tensors) {
    Config::List list;
    for (const SymbolicTensor& tensor : tensors) {
      list.push_back(to_config(tensor.shape()));
    }
    return list;
  };
  Config::List qdq;
  for (const Site& site : sites_of(model)) qdq.push_back(site_config(site));
  return Config()
      .set("name", model.name())
      .set("input", to_config(model.inputs()[0].shape()))
      .set("inputs", shapes(model.inputs()))
      .set("outputs", shapes(model.outputs()))
      .set("layers", std::move(layers))
      .set("qdq", std::move(qdq))
      .set("parameters", total.parameters)
      .set("trainable", total.trainable)
      .set("multiply_adds", total.multiply_adds);
}

}  // namespace octet::program
