#include "autotune/regions.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/fnv1a.h>

namespace octet::quant {
namespace {

/// Appends a configuration without the names of layers.
void add_config(const Config& config, std::string& text) {
  if (config.is_object()) {
    text += '{';
    for (const auto& [key, value] : config.as_object()) {
      if (key == "name") continue;
      text += key + ':';
      add_config(value, text);
      text += ',';
    }
    text += '}';
  } else if (config.is_list()) {
    text += '[';
    for (const Config& value : config.as_list()) {
      add_config(value, text);
      text += ',';
    }
    text += ']';
  } else if (config.is_string()) {
    text += config.as_string();
  } else if (config.is_bool()) {
    text += config.as_bool() ? "true" : "false";
  } else if (config.is_number()) {
    text += fmt::format("{}", config.as_number());
  }
}

std::string point_text(const QdqPoint& point, size_t group) {
  return fmt::format(
      "{} {} {} {} {} {} {} {} group {};", to_string(point.site),
      point.config.bits, point.config.is_signed, point.config.narrow_range,
      point.config.per_channel, point.config.asymmetric,
      static_cast<int>(point.config.format), point.config.block, group);
}

bool is_weighted(const GraphNode& node,
                 const std::set<std::string>& quantized_weights) {
  return node.layer->facts().role == LayerRole::linear ||
         quantized_weights.contains(node.layer->name());
}

/// Returns the parts as lists of nodes, without empty ones.
std::vector<std::vector<size_t>> parts_of(const Model& model,
                                          const QdqPlan& plan,
                                          int64_t largest) {
  std::set<std::string> quantized_weights;
  for (const QdqPoint& point : plan.points) {
    if (point.site.kind == SiteKind::weight) {
      quantized_weights.insert(point.layer);
    }
  }
  const auto weighted = [&](size_t i) {
    return is_weighted(*model.nodes()[i], quantized_weights);
  };
  std::vector<std::vector<size_t>> parts;
  std::vector<size_t> leading;  // without weights, before the first part
  std::set<size_t> taken;
  for (Unit& block : units_of(model, UnitKind::block)) {
    std::erase_if(block.nodes,
                  [&](size_t i) { return !taken.insert(i).second; });
    const bool split = std::ranges::count_if(block.nodes, weighted) > largest;
    bool begins = true;
    for (const size_t i : block.nodes) {
      const bool opens =
          split ? weighted(i)
                : begins && std::ranges::any_of(block.nodes, weighted);
      begins = false;
      if (opens) {
        parts.push_back(std::exchange(leading, {}));
      } else if (parts.empty()) {
        leading.push_back(i);
        continue;
      }
      parts.back().push_back(i);
    }
  }
  if (!leading.empty()) parts.push_back(std::move(leading));
  return parts;
}

}  // namespace

std::string hash_text(std::string_view text) {
  Fnv1a hash;
  hash.add(std::as_bytes(std::span(text)));
  return fmt::format("{:016x}", hash.value());
}

std::string structure_of(const Model& model, const Unit& unit,
                         const QdqPlan& plan) {
  std::map<const GraphNode*, std::string> names;
  std::string text;
  for (size_t i = 0; i < unit.inputs.size(); ++i) {
    const GraphNode& node = *model.nodes()[unit.inputs[i]];
    names[&node] = fmt::format("i{}", i);
    text += fmt::format("i{} {};", i, node.shape.to_string());
  }
  std::map<std::string, size_t> groups;
  for (size_t i = 0; i < unit.nodes.size(); ++i) {
    const GraphNode& node = *model.nodes()[unit.nodes[i]];
    names[&node] = fmt::format("n{}", i);
    text += fmt::format("n{} {} ", i, node.layer->class_name());
    add_config(node.layer->config(), text);
    for (const SymbolicTensor& x : node.inputs) {
      text += ' ' + names[x.node.get()];
    }
    text += ' ' + node.shape.to_string() + ';';
    for (const QdqPoint& point : plan.points) {
      if (point.layer != node.layer->name()) continue;
      const size_t next = groups.size();
      text +=
          point_text(point, groups.emplace(point.group, next).first->second);
    }
  }
  for (const size_t i : unit.outputs) {
    text += " -> " + names[model.nodes()[i].get()];
  }
  return text;
}

std::string classes_text(const Model& model, const Unit& unit) {
  std::vector<std::pair<std::string, int>> runs;
  for (const size_t i : unit.nodes) {
    const std::string name = model.nodes()[i]->layer->class_name();
    if (runs.empty() || runs.back().first != name) runs.emplace_back(name, 0);
    ++runs.back().second;
  }
  std::vector<std::string> words;
  words.reserve(runs.size());
  for (const auto& [name, count] : runs) {
    words.push_back(count == 1 ? name : fmt::format("{} x {}", count, name));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::vector<Region> regions_of(const Model& model, const QdqPlan& plan,
                               int64_t largest) {
  std::map<const Layer*, int> calls;
  for (const auto& node : model.nodes()) ++calls[node->layer.get()];
  std::vector<Region> regions;
  for (std::vector<size_t>& nodes : parts_of(model, plan, largest)) {
    Region& region = regions.emplace_back();
    region.unit = unit_of(model, std::move(nodes));
    std::set<std::string> names;
    for (const size_t i : region.unit.nodes) {
      const Layer& layer = *model.nodes()[i]->layer;
      region.repeated = region.repeated || calls[&layer] > 1;
      if (names.insert(layer.name()).second) {
        region.layers.push_back(layer.name());
      }
    }
    for (const QdqPoint& point : plan.points) {
      if (names.contains(point.layer)) region.plan.points.push_back(point);
    }
    region.structure = structure_of(model, region.unit, region.plan);
  }
  return regions;
}

}  // namespace octet::quant
