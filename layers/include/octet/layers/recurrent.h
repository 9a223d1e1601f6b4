// Recurrent layers over sequences [n,t,c]. Parameters, options and results are
// those of Keras. Inputs are x, the initial states if there are any, and
// optionally a mask [n,t], which mask_of() provides: a step with mask 0
// preserves the states, and its output is that of the preceding step.
#pragma once

#include <string>

#include <octet/layers/graph.h>

namespace octet {

/// Options of LSTM.
/// Fields in order: units, activation, recurrent_activation, use_bias,
/// kernel_initializer, recurrent_initializer, bias_initializer,
/// unit_forget_bias, kernel_regularizer, recurrent_regularizer,
/// bias_regularizer, dropout, return_sequences, go_backwards, keep_order,
/// zero_output_for_mask, initial_state, return_cell, name
struct LSTMOptions {
  int64_t units = 0;                ///< size of the state, >= 1; required
  std::string activation = "tanh";  ///< of candidates and states; see LSTM
  std::string recurrent_activation = "sigmoid";  ///< of the gates; see LSTM
  bool use_bias = true;                          ///< adds a learned bias
  Initializer kernel_initializer = glorot_uniform();  ///< initial kernel values
  /// Initial values of the recurrent kernel.
  Initializer recurrent_initializer = orthogonal();
  Initializer bias_initializer = zeros();  ///< initial bias values
  bool unit_forget_bias = true;  ///< initial bias of the forget gate is 1
  Regularizer kernel_regularizer = {};     ///< penalty on the kernel; {}: none
  Regularizer recurrent_regularizer = {};  ///< of the recurrent kernel
  Regularizer bias_regularizer = {};       ///< penalty on the bias; {}: none
  /// Dropout rate of the inputs in training, in [0,1); a feature is dropped at
  /// all steps of a sample.
  float dropout = 0;
  bool return_sequences = false;  ///< outputs all steps; false: the last
  /// Processes the last step first. Sequences are returned in this order.
  bool go_backwards = false;
  /// With go_backwards: returns sequences in the order of the input.
  bool keep_order = false;
  bool zero_output_for_mask = false;  ///< outputs of masked steps are 0
  /// Inputs are {x, h, c}, with the states [n,units] before the first step.
  bool initial_state = false;
  /// Appends the cell state to the features: 2*units instead of units.
  bool return_cell = false;
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Long short-term memory. Parameters: kernel [c,4*units] (Glorot uniform),
/// recurrent_kernel [units,4*units] (orthogonal), bias [4*units]; gates in the
/// order i, f, g, o. Functions: linear, relu, sigmoid, tanh, hard_sigmoid and
/// hard_sigmoid_v2 (clip(0.2 x + 0.5, 0, 1), of Keras 1 and 2).
/// Shapes: [n,t,c] -> [n,units], or [n,t,units] with return_sequences.
/// Throws: ValueError for units < 1, dropout outside [0,1), another function or
/// number of inputs; ShapeError for other shapes.
/// Source: Hochreiter and Schmidhuber, Neural Computation 9, 1997.
class LSTM : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit LSTM(const LSTMOptions& options);
};

/// Options of GRU.
/// Fields in order: units, activation, recurrent_activation, use_bias,
/// kernel_initializer, recurrent_initializer, bias_initializer,
/// kernel_regularizer, recurrent_regularizer, bias_regularizer, dropout,
/// return_sequences, go_backwards, keep_order, zero_output_for_mask,
/// initial_state, reset_after, name
struct GRUOptions {
  int64_t units = 0;                ///< size of the state, >= 1; required
  std::string activation = "tanh";  ///< of candidates; see LSTM
  std::string recurrent_activation = "sigmoid";  ///< of the gates; see LSTM
  bool use_bias = true;                          ///< adds a learned bias
  Initializer kernel_initializer = glorot_uniform();  ///< initial kernel values
  /// Initial values of the recurrent kernel.
  Initializer recurrent_initializer = orthogonal();
  Initializer bias_initializer = zeros();  ///< initial bias values
  Regularizer kernel_regularizer = {};     ///< penalty on the kernel; {}: none
  Regularizer recurrent_regularizer = {};  ///< of the recurrent kernel
  Regularizer bias_regularizer = {};       ///< penalty on the bias; {}: none
  float dropout = 0;              ///< of the inputs in training; see LSTM
  bool return_sequences = false;  ///< outputs all steps; false: the last
  /// Processes the last step first. Sequences are returned in this order.
  bool go_backwards = false;
  /// With go_backwards: returns sequences in the order of the input.
  bool keep_order = false;
  bool zero_output_for_mask = false;  ///< outputs of masked steps are 0
  /// Inputs are {x, h}, with the state [n,units] before the first step.
  bool initial_state = false;
  /// Applies the reset gate after the product with the recurrent kernel, with a
  /// separate bias, as PyTorch does; false: to the state before it.
  bool reset_after = true;
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Gated recurrent unit. Parameters: kernel [c,3*units] (Glorot uniform),
/// recurrent_kernel [units,3*units] (orthogonal), bias [2,3*units] (inputs,
/// states) with reset_after, else [3*units]; gates in the order z, r, g.
/// Functions: as LSTM.
/// Shapes: [n,t,c] -> [n,units], or [n,t,units] with return_sequences.
/// Throws: as LSTM.
/// Source: Cho et al., arXiv 1406.1078.
class GRU : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit GRU(const GRUOptions& options);
};

/// Options of SimpleRNN.
/// Fields in order: units, activation, use_bias, kernel_initializer,
/// recurrent_initializer, bias_initializer, kernel_regularizer,
/// recurrent_regularizer, bias_regularizer, dropout, return_sequences,
/// go_backwards, keep_order, zero_output_for_mask, initial_state, name
struct SimpleRNNOptions {
  int64_t units = 0;                ///< size of the state, >= 1; required
  std::string activation = "tanh";  ///< of the state; see LSTM
  bool use_bias = true;             ///< adds a learned bias
  Initializer kernel_initializer = glorot_uniform();  ///< initial kernel values
  /// Initial values of the recurrent kernel.
  Initializer recurrent_initializer = orthogonal();
  Initializer bias_initializer = zeros();  ///< initial bias values
  Regularizer kernel_regularizer = {};     ///< penalty on the kernel; {}: none
  Regularizer recurrent_regularizer = {};  ///< of the recurrent kernel
  Regularizer bias_regularizer = {};       ///< penalty on the bias; {}: none
  float dropout = 0;              ///< of the inputs in training; see LSTM
  bool return_sequences = false;  ///< outputs all steps; false: the last
  /// Processes the last step first. Sequences are returned in this order.
  bool go_backwards = false;
  /// With go_backwards: returns sequences in the order of the input.
  bool keep_order = false;
  bool zero_output_for_mask = false;  ///< outputs of masked steps are 0
  /// Inputs are {x, h}, with the state [n,units] before the first step.
  bool initial_state = false;
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Simple recurrent network: h' = activation(x kernel + h recurrent_kernel +
/// bias). Parameters: kernel [c,units] (Glorot uniform), recurrent_kernel
/// [units,units] (orthogonal), bias [units]. Functions: as LSTM.
/// Shapes: [n,t,c] -> [n,units], or [n,t,units] with return_sequences.
/// Throws: as LSTM.
/// Source: Elman, Cognitive Science 14, 1990.
class SimpleRNN : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit SimpleRNN(const SimpleRNNOptions& options);
};

// Keras' Bidirectional, composed of layers.

/// Options of bidirectional().
/// Fields in order: merge_mode, name
struct BidirectionalOptions {
  /// How the results are merged: concat (features), sum, mul or ave.
  std::string merge_mode = "concat";
  /// Prefix of the layer names; empty: from the class names.
  std::string name = "";
};

/// Applies a recurrent layer forwards, and an equal layer with separate
/// parameters backwards, and merges the results; sequences are in the order of
/// the input. Layers: `layer` as `<name>/forward`, `<name>/backward`, and
/// `<name>`, a Concatenate, Add, Multiply or Average. Without a name, the model
/// names them. With a mask, the outputs of masked steps are 0.
/// Shapes: [n,t,c] -> [n,units] or [n,t,units], with concat 2*units.
/// Throws: ValueError for a layer that is not recurrent, was called before or
/// has go_backwards, or another merge_mode; as the layer.
/// Source: Schuster and Paliwal, IEEE Transactions on Signal Processing 45,
/// 1997.
SymbolicTensor bidirectional(const SymbolicTensor& x, const LayerHandle& layer,
                             const BidirectionalOptions& options = {});

}  // namespace octet
