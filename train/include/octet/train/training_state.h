// TrainingState: the complete state of a fit, as plain values and tensors, from
// which it resumes with the same results.
#pragma once

#include <map>
#include <string>

#include <octet/quant/model_state.h>
#include <octet/runtime/config.h>
#include <octet/runtime/tensor.h>

namespace octet::train {

/// f32 or i64 tensors by path, such as "optimizer/conv/kernel:0".
using NamedTensors = std::map<std::string, Tensor>;

/// State of a callback. Values may be NaN or infinite.
struct CallbackState {
  Config values;              ///< null, or an object
  NamedTensors tensors = {};  ///< by path within the callback
};

/// State of a fit between two optimizer steps. Tensors may share memory with
/// the model: clone them to preserve them.
struct TrainingState {
  quant::ModelState model;  ///< weights, plan and quantizers
  /// Options, optimizer, data and names of trained parameters, which must agree
  /// for a fit to resume.
  Config fingerprint = {};
  /// Epoch, batch, sums and history; the optimizer's step count and learning
  /// rate; values of callback states.
  Config progress = {};
  NamedTensors tensors = {};  ///< optimizer slots and callback tensors
};

}  // namespace octet::train
