#include "ptq/units.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <octet/quant/wrapper.h>

namespace octet::quant {
namespace {

// Returns the consumers of each node's output, by index; nodes.size() for a
// model output.
std::vector<std::vector<size_t>> readers_of(const Model& model) {
  const auto nodes = model.nodes();
  std::map<const GraphNode*, size_t> places;
  std::vector<std::vector<size_t>> consumers(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    places[nodes[i].get()] = i;
    for (const SymbolicTensor& x : nodes[i]->inputs) {
      consumers[places.at(x.node.get())].push_back(i);
    }
  }
  for (const SymbolicTensor& y : model.outputs()) {
    consumers[places.at(y.node.get())].push_back(nodes.size());
  }
  return consumers;
}

/// Sets the inputs and outputs of a unit by its nodes.
void set_ends(Unit& unit, const std::vector<std::vector<size_t>>& consumers) {
  const auto within = [&](size_t i) {
    return std::ranges::binary_search(unit.nodes, i);
  };
  for (size_t i = 0; i < consumers.size(); ++i) {
    if (within(i) && !std::ranges::all_of(consumers[i], within)) {
      unit.outputs.push_back(i);
    } else if (!within(i) && std::ranges::any_of(consumers[i], within)) {
      unit.inputs.push_back(i);
    }
  }
}

bool is_input(const GraphNode& node) { return node.inputs.empty(); }

Model up_to(const Model& model, const std::vector<size_t>& places) {
  std::vector<SymbolicTensor> outputs;
  for (const size_t i : places) outputs.push_back({model.nodes()[i]});
  const auto inputs = model.inputs();
  return Model({inputs.begin(), inputs.end()}, std::move(outputs));
}

}  // namespace

std::vector<Unit> units_of(const Model& model, UnitKind kind) {
  const auto nodes = model.nodes();
  const auto consumers = readers_of(model);
  std::vector<Unit> result;
  Unit unit;
  size_t open = 0;  // last consumer of any earlier node's output
  for (size_t i = 0; i < nodes.size(); ++i) {
    const size_t last = consumers[i].empty() ? i : consumers[i].back();
    if (!is_input(*nodes[i])) {
      unit.nodes.push_back(i);
      if (kind == UnitKind::layer || open <= i) {
        result.push_back(std::exchange(unit, {}));
      }
    }
    open = std::max(open, last);
  }
  if (!unit.nodes.empty()) result.push_back(unit);
  for (Unit& each : result) {
    for (size_t last = each.nodes.back(); consumers[last].size() == 1;) {
      last = consumers[last][0];
      if (last == nodes.size() ||
          nodes[last]->layer->facts().role != LayerRole::activation ||
          nodes[last]->layer->facts().activation == "softmax") {
        break;
      }
      each.nodes.push_back(last);
    }
    set_ends(each, consumers);
  }
  return result;
}

Unit unit_of(const Model& model, std::vector<size_t> nodes) {
  Unit unit{.nodes = std::move(nodes)};
  set_ends(unit, readers_of(model));
  return unit;
}

bool has_blocks(const Model& model) {
  const auto weighted = [&](size_t i) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*model.nodes()[i]->layer);
    return wrapper != nullptr && !wrapper->weights().empty();
  };
  return std::ranges::any_of(
      units_of(model, UnitKind::block), [&](const Unit& unit) {
        return std::ranges::count_if(unit.nodes, weighted) > 1;
      });
}

Model prefix_model(const Model& model, const Unit& unit) {
  return up_to(model, unit.inputs);
}

Model block_model(const Model& model, const Unit& unit) {
  return up_to(model, unit.outputs);
}

Model extract_unit(Model& model, const Unit& unit) {
  std::map<const GraphNode*, SymbolicTensor> made;
  const auto made_of = [&](const std::vector<size_t>& places) {
    std::vector<SymbolicTensor> result;
    for (const size_t i : places) {
      result.push_back(made.at(model.nodes()[i].get()));
    }
    return result;
  };
  for (const size_t i : unit.inputs) {
    const Shape& shape = model.nodes()[i]->shape;
    made[model.nodes()[i].get()] = input(shape.slice(1, shape.rank()));
  }
  for (const size_t i : unit.nodes) {
    const GraphNode& node = *model.nodes()[i];
    std::vector<SymbolicTensor> inputs;
    for (const SymbolicTensor& x : node.inputs) {
      inputs.push_back(made.at(x.node.get()));
    }
    const auto layer = std::ranges::find(model.layers(), node.layer.get(),
                                         [](const auto& l) { return l.get(); });
    made[&node] = call(*layer, std::move(inputs));
  }
  return Model(made_of(unit.inputs), made_of(unit.outputs));
}

}  // namespace octet::quant
