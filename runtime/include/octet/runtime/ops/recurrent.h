// Recurrent ops: a cell applied to each step of a sequence. A dense() for all
// steps computes the part of the gates that depends on the inputs.
//
//   Variable gates = bias_add(dense(x, kernel), bias);  // [n,t,4*units]
//   Variable y = lstm(gates, recurrent_kernel);         // [n,t,units]
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

/// Elementwise function of a recurrent cell.
enum class CellFunction {
  linear,           ///< x
  relu,             ///< max(x, 0)
  sigmoid,          ///< 1 / (1 + exp(-x))
  tanh,             ///< the hyperbolic tangent
  hard_sigmoid,     ///< clip(x / 6 + 0.5, 0, 1), as in Keras 3
  hard_sigmoid_v2,  ///< clip(0.2 x + 0.5, 0, 1), as in Keras 1, 2 and ONNX
};

/// Options of lstm(), gru() and simple_rnn().
/// Fields in order: activation, recurrent_activation, backwards, reset_after,
/// return_cell
struct RecurrentOptions {
  CellFunction activation = CellFunction::tanh;  ///< of candidates and states
  CellFunction recurrent_activation = CellFunction::sigmoid;  ///< of the gates
  /// Processes the last step first. The output has the order of the input.
  bool backwards = false;
  /// gru() only: multiplies the reset gate by the product of the state with the
  /// recurrent kernel (true) or by the state (false).
  bool reset_after = true;
  /// lstm() only: appends c' to the features, [n,t,2*units].
  bool return_cell = false;
};

/// Optional inputs of lstm(), gru() and simple_rnn(); empty if not used.
/// Fields in order: mask, state, cell
struct RecurrentInputs {
  /// [n,t]: a step with mask 0 preserves the states, and its output is the
  /// state. Has no gradient.
  Variable mask = {};
  Variable state = {};  ///< h before the first step, [n,units]; empty: zeros
  Variable cell = {};   ///< lstm() only: c before the first step, as `state`
};

/// Long short-term memory. With z = x + h kernel, split into i, f, g, o, and s
/// the recurrent activation:
///   c' = s(f) * c + s(i) * activation(g),  h' = s(o) * activation(c')
/// Shapes: x [n,t,4*units], kernel [units,4*units] -> h' [n,t,units].
/// Throws: ShapeError; ValueError for a single initial state.
/// Source: Hochreiter and Schmidhuber, Neural Computation 9, 1997; order of the
/// gates: Keras.
Variable lstm(const Variable& x, const Variable& kernel,
              const RecurrentOptions& options = {},
              const RecurrentInputs& more = {});

/// Gated recurrent unit. With u = h kernel + bias, x and u split into z, r, g,
/// and s the recurrent activation:
///   z = s(xz + uz),  r = s(xr + ur),  g = activation(xg + r * ug)
///   h' = z * h + (1 - z) * g
/// Without reset_after, r * ug is (r * h) times the kernel's columns of g, and
/// the bias must be empty.
/// Shapes: x [n,t,3*units], kernel [units,3*units], bias [3*units] or empty
/// -> h' [n,t,units].
/// Throws: ShapeError; ValueError for a bias without reset_after.
/// Source: Cho et al., arXiv 1406.1078; reset_after: arXiv 1406.1078v1, as in
/// Keras and PyTorch.
Variable gru(const Variable& x, const Variable& kernel, const Variable& bias,
             const RecurrentOptions& options = {},
             const RecurrentInputs& more = {});

/// Simple recurrent network: h' = activation(x + h kernel). Ignores
/// recurrent_activation.
/// Shapes: x [n,t,units], kernel [units,units] -> h' [n,t,units].
/// Throws: ShapeError.
Variable simple_rnn(const Variable& x, const Variable& kernel,
                    const RecurrentOptions& options = {},
                    const RecurrentInputs& more = {});

}  // namespace octet
