// ModelState: the content of a model file as plain values. A quantized model is
// stored as its float counterpart, a plan and quantizer states.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>

namespace octet::quant {

/// A parameter or statistic of a layer, by its name in the float model.
struct NamedWeight {
  std::string layer;      ///< name in the float model
  std::string name;       ///< "kernel"
  bool trainable = true;  ///< false: a statistic
  Tensor value;           ///< may share memory with the model
};

/// The content of a model file.
struct ModelState {
  Config graph;  ///< to_config() of the float model
  Config plan;   ///< to_config() of the plan; null for a float model
  /// Other mutable state: number of training passes, frozen flags, quantizer
  /// scales, switches and observations.
  Config status;
  /// In layer order; shared weights are listed for each layer.
  std::vector<NamedWeight> weights;
};

/// Returns the model's state. Tensors are shared with the model: clone them to
/// keep a snapshot.
/// Throws: ValueError for duplicate names of layers or quantizers.
ModelState state_of(const Model& model);
/// Returns the weights alone, shared with the model.
std::vector<NamedWeight> weights_of(const Model& model);

/// Builds a model from graph and plan, with initial weights.
/// Throws: ValueError, NotFoundError, ShapeError for an inconsistent state;
/// UnsupportedError for unregistered classes.
Model initial_model(const ModelState& state);

/// Builds a model and restores its state. Takes over the state's tensors,
/// without copying those it alone owns.
/// Throws: as initial_model() and restore().
Model model_from_state(ModelState state);

/// Restores weights and status of an equal model. All or nothing.
/// Throws: ValueError, NotFoundError, ShapeError naming the mismatch.
void restore(Model& model, const ModelState& state);

/// Assigns weights to an equal model or a counterpart. All or nothing.
/// Throws: as restore().
void assign_weights(Model& model, std::span<const NamedWeight> weights);

/// Copies all weights and statistics to a counterpart or an equal model. All or
/// nothing. Quantizer scales and frozen flags are not copied.
/// Throws: ValueError naming layers missing from either model; ShapeError.
void copy_weights(const Model& from, Model& to);

}  // namespace octet::quant
