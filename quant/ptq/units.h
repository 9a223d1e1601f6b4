// Units: the parts of a model whose outputs reconstruct() makes good, one after
// another.
#pragma once

#include <cstddef>
#include <vector>

#include <octet/layers/model.h>

namespace octet::quant {

enum class UnitKind {
  layer,  ///< each node, with the activation that alone reads it
  /// What stands between two tensors that everything passes through, one alone:
  /// a residual block, with the activation behind it; in a chain each layer.
  block,
};

/// By their places in Model::nodes(), in order.
struct Unit {
  std::vector<size_t> nodes;
  std::vector<size_t> inputs;   ///< of other nodes, what these read
  std::vector<size_t> outputs;  ///< of these, what others read
};

/// All nodes but the model's inputs are in one each; an activation that belongs
/// to the unit before is one of its own, too.
std::vector<Unit> units_of(const Model& model, UnitKind kind);

/// Whether several layers of a block have quantized weights.
bool has_blocks(const Model& model);

/// What makes the inputs of the unit, and what makes its outputs, of those of
/// `model`; the layers are those of `model`.
Model before(const Model& model, const Unit& unit);
Model through(const Model& model, const Unit& unit);
/// The unit alone.
Model alone(Model& model, const Unit& unit);

}  // namespace octet::quant
