// TrainingState: all that a fit needs to resume later with the same results, as
// plain values and tensors.
#pragma once

#include <map>
#include <string>

#include <octet/quant/model_state.h>
#include <octet/runtime/config.h>
#include <octet/runtime/tensor.h>

namespace octet::train {

/// Tensors of f32 or i64 by name. Names are paths: "optimizer/conv/kernel:0".
using NamedTensors = std::map<std::string, Tensor>;

/// What a part of a training remembers. Values may hold NaN and infinity.
struct State {
  Config values;  ///< null, or an object
  NamedTensors tensors = {};
};

/// Where a fit stands between two steps of its optimizer. Tensors may share
/// their memory with the model: clone what is kept beyond a call.
struct TrainingState {
  quant::ModelState model;
  /// What a fit that resumes must have in common with the one that was saved:
  /// options, optimizer, data, the names of the parameters that it trains.
  Config fingerprint = {};
  /// Epoch, batch, sums and history; the optimizer's steps and rate; what
  /// callbacks remember.
  Config progress = {};
  NamedTensors tensors = {};  ///< the optimizer's slots, and those of callbacks
};

}  // namespace octet::train
