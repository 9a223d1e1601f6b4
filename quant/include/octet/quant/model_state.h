// ModelState: a model, float or quantized, as plain values; what files hold of
// it. A quantized one is its float counterpart, a plan and the state of
// quantizers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>

namespace octet::quant {

/// A parameter or statistic of a layer, under its name in the float model.
struct Weight {
  std::string layer;
  std::string name;  ///< "kernel"
  bool trainable = true;
  Tensor value;
};

struct ModelState {
  Config graph;  ///< to_config() of the float model
  Config plan;   ///< to_config() of the plan; null for a float model
  /// What else changes in a model's life: passes in training, what is frozen,
  /// quantizers' scales, switches and observations.
  Config status;
  /// In the order of layers; those that layers have in common, under each.
  std::vector<Weight> weights;
};

/// The tensors are the model's own: clone what is kept for later.
/// Throws: ValueError for layers or quantizers of one name.
ModelState state_of(const Model& model);
/// Its weights alone. The tensors are the model's own, too.
std::vector<Weight> weights_of(const Model& model);

/// A new model from graph and plan, with initial weights.
/// Throws: ValueError, NotFoundError, ShapeError for a state that state_of()
/// does not give; UnsupportedError for classes that are not registered.
Model rebuild(const ModelState& state);

/// A new model as it was, from a state that is given away: its weights become
/// the model's, without a copy where nobody else has them.
/// Throws: as rebuild() and restore().
Model restored(ModelState state);

/// Puts weights and status back into an equal model: all, or nothing.
/// Throws: ValueError, NotFoundError, ShapeError naming what does not fit.
void restore(Model& model, const ModelState& state);

/// Puts weights alone into an equal model or a counterpart: all, or nothing.
/// Throws: as restore().
void assign_weights(Model& model, std::span<const Weight> weights);

/// Copies all weights and statistics from a model to its counterpart, or to an
/// equal model. All of them or, if one does not fit, none. Scales of quantizers
/// and what is frozen stay as they are.
/// Throws: ValueError naming the layers that one side lacks; ShapeError.
void copy_weights(const Model& from, Model& to);

}  // namespace octet::quant
