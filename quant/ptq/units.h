// Units: parts of a model that reconstruct() optimizes in sequence, and of
// which autotune() builds regions.
#pragma once

#include <cstddef>
#include <vector>

#include <octet/layers/model.h>

namespace octet::quant {

enum class UnitKind {
  layer,  ///< each node, with an activation that is its only consumer
  /// The nodes between two tensors through which all data flows, such as a
  /// residual block with its activation; each layer of a chain.
  block,
};

/// Nodes as indices into Model::nodes(), in order.
struct Unit {
  std::vector<size_t> nodes = {};
  std::vector<size_t> inputs = {};   ///< outside nodes consumed by the unit
  std::vector<size_t> outputs = {};  ///< unit nodes consumed outside
};

/// Partitions all nodes but the model's inputs. An activation that belongs to
/// the preceding unit also forms a separate unit.
std::vector<Unit> units_of(const Model& model, UnitKind kind);

/// Returns the unit of these nodes, in order.
Unit unit_of(const Model& model, std::vector<size_t> nodes);

/// Returns whether any block has several layers with quantized weights.
bool has_blocks(const Model& model);

/// Return a model that computes the unit's inputs, or its outputs, from the
/// inputs of `model`. Layers are shared with `model`.
Model prefix_model(const Model& model, const Unit& unit);
Model block_model(const Model& model, const Unit& unit);
/// Returns the unit as a model. Layers are shared with `model`.
Model extract_unit(Model& model, const Unit& unit);

}  // namespace octet::quant
